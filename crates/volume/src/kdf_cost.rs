//! What a new keyslot's KDF should cost: cryptsetup's rules, measured on this machine.

use crate::{Error, Result};
use keyway_crypto::Hash;
use keyway_crypto::kdf::{Argon2Cost, Argon2Variant};
use std::time::Duration;

/// Unlock time cryptsetup aims at when nothing else is asked.
pub const DEFAULT_TIME: Duration = Duration::from_millis(2000);
/// Memory Argon2 may take by default, in KiB (capped to half of the physical memory).
pub const DEFAULT_MEMORY_KIB: u32 = 1 << 20;
/// Lanes Argon2 may take by default (capped to the CPUs that are online).
pub const DEFAULT_LANES: u32 = 4;
/// Fewest PBKDF2 iterations.
pub const PBKDF2_MIN_ITERATIONS: u32 = 1000;
/// Fewest Argon2 passes.
pub const ARGON2_MIN_TIME: u32 = 4;
/// Least and most Argon2 memory in KiB.
pub const ARGON2_MEMORY_KIB: std::ops::RangeInclusive<u32> = 32..=4 * 1024 * 1024;

/// How a KDF's cost is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Measure, and take about this long here (`--iter-time`).
    Time(Duration),
    /// PBKDF2 iterations or Argon2 passes as given (`--pbkdf-force-iterations`); Argon2 memory is taken as given too.
    Forced(u32),
}

/// The KDF of a new keyslot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KdfChoice {
    /// PBKDF2.
    Pbkdf2 {
        /// Hash name; LUKS1 takes its header's hash whatever stands here.
        hash: String,
        /// Iterations.
        cost: Cost,
    },
    /// Argon2 (LUKS2 only).
    Argon2 {
        /// i or id.
        variant: Argon2Variant,
        /// Most memory, in KiB.
        memory_kib: u32,
        /// Most lanes.
        lanes: u32,
        /// Passes.
        cost: Cost,
    },
}

impl Default for KdfChoice {
    fn default() -> Self {
        Self::Argon2 {
            variant: Argon2Variant::Argon2id,
            memory_kib: DEFAULT_MEMORY_KIB,
            lanes: DEFAULT_LANES,
            cost: Cost::Time(DEFAULT_TIME),
        }
    }
}

/// A KDF with its cost settled.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SettledKdf {
    Pbkdf2 { hash: Hash, iterations: u32 },
    Argon2 { variant: Argon2Variant, cost: Argon2Cost },
}

impl KdfChoice {
    /// Refuses costs that the formats do not allow; nothing is measured.
    pub fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Settles the cost for a derived key of `key_len` bytes, measuring where a time was asked for.
    pub fn settle(&self, key_len: usize) -> Result<SettledKdf> {
        let _ = key_len;
        Err(Error::Refused("not built yet".into()))
    }
}

/// PBKDF2 iterations a second on this machine, one thread (what `benchmark` shows).
pub fn pbkdf2_rate(hash: Hash, key_len: usize) -> Result<u64> {
    let _ = (hash, key_len);
    Err(Error::Refused("not built yet".into()))
}

/// The Argon2 cost that takes about `time` here within the given limits, and how long it took.
pub fn argon2_cost(
    variant: Argon2Variant,
    memory_kib: u32,
    lanes: u32,
    key_len: usize,
    time: Duration,
) -> Result<(Argon2Cost, Duration)> {
    let _ = (variant, memory_kib, lanes, key_len, time);
    Err(Error::Refused("not built yet".into()))
}
