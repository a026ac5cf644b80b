//! How a volume's key is had: which options say where it comes from, and what it may cost.

use crate::door::{Args, shared};
use crate::process::handed::handed;
use crate::say::failure::Result;
use crate::say::manner::Manner;
use crate::unlock::admission::WeakCiphers;
use crate::unlock::passphrase::PassphraseOptions;
use crate::unlock::tokens::TokenOptions;
use keyway_volume::UnlockOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a person is asked when `--tries` does not say.
const TRIES: u64 = 3;

/// What the command line says of the key.
#[derive(Debug, Clone)]
pub(crate) struct KeyOptions {
    /// Where passphrases come from.
    pub(crate) passphrase: PassphraseOptions,
    /// `--key-slot`.
    pub(crate) keyslot: Option<u32>,
    /// `--volume-key-file`.
    pub(crate) volume_key_file: Option<PathBuf>,
    /// `--key-size`, of a volume key whose header has no keyslot.
    pub(crate) key_bits: Option<u32>,
    /// How often a person is asked.
    pub(crate) tries: u64,
    /// Which tokens are asked first.
    pub(crate) tokens: TokenOptions,
    /// Argon2 keys are derived one program at a time.
    pub(crate) one_at_a_time: bool,
    /// How much is said.
    pub(crate) manner: Manner,
    limits: Limits,
}

handed!(KeyOptions {
    passphrase,
    keyslot,
    volume_key_file,
    key_bits,
    tries,
    tokens,
    one_at_a_time,
    manner,
    limits,
});

impl Default for KeyOptions {
    /// Nothing was said of it.
    fn default() -> Self {
        Self {
            passphrase: PassphraseOptions::default(),
            keyslot: None,
            volume_key_file: None,
            key_bits: None,
            tries: TRIES,
            tokens: TokenOptions::default(),
            one_at_a_time: false,
            manner: Manner::default(),
            limits: Limits::default(),
        }
    }
}

/// What key derivation may cost, as far as it was said. The rest is found when a key is derived: only
/// then is it known how much memory there is.
#[derive(Debug, Clone, Default)]
struct Limits {
    /// `--memory-budget`, in bytes.
    memory: Option<u64>,
    /// `--time-limit`.
    time: Option<Duration>,
    /// Keyslots under weak ciphers are tried too.
    weak_ciphers_too: bool,
}

handed!(Limits { memory, time, weak_ciphers_too });

impl Limits {
    fn from_args(args: &Args) -> Self {
        Self {
            memory: args.number(&shared::MEMORY_BUDGET),
            time: args.number(&shared::TIME_LIMIT).map(Duration::from_secs),
            weak_ciphers_too: WeakCiphers::from_args(args).taken,
        }
    }

    fn options(&self) -> UnlockOptions {
        let mut options =
            UnlockOptions { weak_ciphers_too: self.weak_ciphers_too, ..UnlockOptions::default() };
        if let Some(bytes) = self.memory {
            options.memory_budget_kib = bytes / 1024;
        }
        if let Some(time) = self.time {
            options.time_limit = time;
        }
        options
    }
}

impl KeyOptions {
    /// Of every command that needs a key.
    pub(crate) fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            passphrase: PassphraseOptions::from_args(args)?,
            keyslot: args.number32(&shared::KEY_SLOT),
            volume_key_file: volume_key_file(args).map(Path::to_owned),
            key_bits: args.number32(&shared::KEY_SIZE),
            tries: args.number(&shared::TRIES).unwrap_or(TRIES),
            tokens: TokenOptions::from_args(args),
            one_at_a_time: args.given(&shared::SERIALIZE),
            manner: args.manner(),
            limits: Limits::from_args(args),
        })
    }

    /// What key derivation may cost, with no keyslot chosen.
    pub(crate) fn limits(&self) -> UnlockOptions {
        self.limits.options()
    }

    /// Keyslots under weak ciphers are tried too, or are not.
    pub(crate) fn take_weak_ciphers(&mut self, weak: WeakCiphers) {
        self.limits.weak_ciphers_too = weak.taken;
    }

    /// What key derivation may cost, of the keyslot that `--key-slot` names, if it names one.
    pub(crate) fn of_keyslot(&self) -> UnlockOptions {
        UnlockOptions { keyslot: self.keyslot, ..self.limits() }
    }
}

/// `--volume-key-file`, by its new or old name.
pub(crate) fn volume_key_file(args: &Args) -> Option<&Path> {
    args.path(&shared::VOLUME_KEY_FILE).or_else(|| args.path(&shared::MASTER_KEY_FILE))
}
