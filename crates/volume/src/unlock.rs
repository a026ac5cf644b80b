//! Passphrase to volume key: candidate keyslots are derived side by side, the first that opens wins.

use crate::{Error, Luks, Result};
use keyway_crypto::Secret;
use std::time::Duration;

/// How to unlock.
#[derive(Debug, Clone)]
pub struct UnlockOptions {
    /// Only this keyslot (the way to one with priority "ignore").
    pub keyslot: Option<u32>,
    /// Also keyslots that are bound to no segment (their key is not the volume key).
    pub unbound_too: bool,
    /// Memory that all derivations together may take, in KiB. Default: half of what is available now.
    pub memory_budget_kib: u64,
    /// Threads for all derivations together. Default: one a CPU.
    pub threads: usize,
    /// Keyslots whose derivation would take longer than this here are refused with the figure. Default: one hour.
    pub time_limit: Duration,
}

impl Default for UnlockOptions {
    fn default() -> Self {
        Self {
            keyslot: None,
            unbound_too: false,
            memory_budget_kib: 1 << 20,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            time_limit: Duration::from_secs(3600),
        }
    }
}

/// What a passphrase opened.
pub struct Unlocked {
    /// The keyslot it opened.
    pub keyslot: u32,
    /// The digest that verified the key (always 0 for LUKS1).
    pub digest: u32,
    /// The key in the keyslot: the volume key, unless the keyslot is unbound.
    pub volume_key: Secret,
}

/// Finds the keyslot that `passphrase` opens.
pub fn unlock(luks: &Luks, passphrase: &Secret, options: &UnlockOptions) -> Result<Unlocked> {
    let _ = (luks, passphrase, options);
    Err(Error::Refused("not built yet".into()))
}

/// Checks `key` against the digest of the data segments (`--volume-key-file`) and returns the digest's number.
pub fn verify_volume_key(luks: &Luks, key: &Secret) -> Result<u32> {
    let _ = (luks, key);
    Err(Error::Refused("not built yet".into()))
}
