//! Where a volume's key comes from, according to the options, and what deriving it may cost.

use crate::args::{Args, shared};
use crate::output::failure::Result;
use crate::output::manner::Manner;
use crate::process::encoding::{Encoded, encoded};
use crate::unlock::admission::{Demands, WeakCiphers};
use crate::unlock::passphrase::PassphraseOptions;
use crate::unlock::tokens::TokenOptions;
use keyway::Unlock;
use keyway::parts::UnlockOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many times the user is asked if `--tries` is not given.
const TRIES: u64 = 3;

/// The options that concern the key.
#[derive(Debug, Clone)]
pub(crate) struct KeyOptions {
    /// Where passphrases come from.
    pub(crate) passphrase: PassphraseOptions,
    /// `--key-slot`.
    pub(crate) keyslot: Option<u32>,
    /// `--volume-key-file` or `--volume-key-keyring`.
    pub(crate) volume_key: Option<GivenKey>,
    /// The other one of two.
    pub(crate) second_volume_key: Option<GivenKey>,
    /// `--key-size`, for a volume key whose header has no keyslot.
    pub(crate) key_bits: Option<u32>,
    /// The same of the other one.
    pub(crate) second_key_bits: Option<u32>,
    /// How many times the user is asked.
    pub(crate) tries: u64,
    /// Which tokens are tried first.
    pub(crate) tokens: TokenOptions,
    /// Only one program at a time derives an Argon2 key.
    pub(crate) one_at_a_time: bool,
    /// How much is printed.
    pub(crate) manner: Manner,
    limits: Limits,
}

encoded!(KeyOptions {
    passphrase,
    keyslot,
    volume_key,
    second_volume_key,
    key_bits,
    second_key_bits,
    tries,
    tokens,
    one_at_a_time,
    manner,
    limits,
});

/// A volume key that is given instead of a passphrase.
#[derive(Debug, Clone)]
pub(crate) enum GivenKey {
    /// `--volume-key-file`.
    File(PathBuf),
    /// `--volume-key-keyring`: the name of a key in the kernel's keyring.
    Keyring(String),
}

impl GivenKey {
    /// The keys in order: a second one is the other key of a volume in the middle of a re-encryption.
    /// A file takes precedence, as in cryptsetup.
    fn from_args(args: &Args) -> (Option<Self>, Option<Self>) {
        let files = match args.all(&shared::VOLUME_KEY_FILE) {
            none if none.is_empty() => args.all(&shared::MASTER_KEY_FILE),
            files => files,
        };
        let files = files.into_iter().map(|file| Self::File(PathBuf::from(file)));
        let names = args.texts(&shared::VOLUME_KEY_KEYRING);
        let mut keys = files.chain(names.into_iter().map(|name| Self::Keyring(name.to_owned())));
        (keys.next(), keys.next())
    }

    /// The file, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Keyring(_) => None,
        }
    }
}

impl Encoded for GivenKey {
    fn put(&self, to: &mut Vec<u8>) {
        let (file, name) = match self {
            Self::File(path) => (Some(path.clone()), None),
            Self::Keyring(name) => (None, Some(name.clone())),
        };
        file.put(to);
        name.put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (file, name): (Option<PathBuf>, Option<String>) = (Encoded::take(from)?, Encoded::take(from)?);
        file.map(Self::File).or(name.map(Self::Keyring))
    }
}

impl Default for KeyOptions {
    /// None of the options was given.
    fn default() -> Self {
        Self {
            passphrase: PassphraseOptions::default(),
            keyslot: None,
            volume_key: None,
            second_volume_key: None,
            key_bits: None,
            second_key_bits: None,
            tries: TRIES,
            tokens: TokenOptions::default(),
            one_at_a_time: false,
            manner: Manner::default(),
            limits: Limits::default(),
        }
    }
}

/// The limits on key derivation that were given. The others are determined when a key is derived:
/// only then is it known how much memory is available.
#[derive(Debug, Clone, Default)]
struct Limits {
    /// `--memory-budget`, in bytes.
    memory: Option<u64>,
    /// `--time-limit`.
    time: Option<Duration>,
    /// Keyslots under weak ciphers are tried as well.
    weak_ciphers_too: bool,
}

encoded!(Limits { memory, time, weak_ciphers_too });

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
    /// For every command that needs a key.
    pub(crate) fn from_args(args: &Args) -> Result<Self> {
        let (volume_key, second_volume_key) = GivenKey::from_args(args);
        // Each of two files has its size.
        let sizes: Vec<u32> = match &second_volume_key {
            Some(GivenKey::File(_)) => {
                args.texts(&shared::KEY_SIZE).iter().filter_map(|size| size.parse().ok()).collect()
            }
            _ => args.number32(&shared::KEY_SIZE).into_iter().collect(),
        };
        Ok(Self {
            passphrase: PassphraseOptions::from_args(args),
            keyslot: args.number32(&shared::KEY_SLOT),
            volume_key,
            second_volume_key,
            key_bits: sizes.first().copied(),
            second_key_bits: sizes.get(1).copied(),
            tries: args.number(&shared::TRIES).unwrap_or(TRIES),
            tokens: TokenOptions::from_args(args),
            one_at_a_time: args.given(&shared::SERIALIZE),
            manner: args.manner(),
            limits: Limits::from_args(args),
        })
    }

    /// The limits on key derivation, with no keyslot chosen.
    pub(crate) fn limits(&self) -> UnlockOptions {
        self.limits.options()
    }

    /// Sets whether keyslots under weak ciphers are tried as well.
    pub(crate) fn take_weak_ciphers(&mut self, weak: WeakCiphers) {
        self.limits.weak_ciphers_too = weak.taken;
    }

    /// The same limits and keyslot, in the library's words.
    pub(crate) fn terms(&self) -> Unlock {
        let Limits { memory, time, weak_ciphers_too: _ } = self.limits;
        let mut limits = keyway::Limits::new();
        if let Some(bytes) = memory {
            limits = limits.memory(bytes);
        }
        if let Some(time) = time {
            limits = limits.time(time);
        }
        let unlock = Unlock::new().limits(limits);
        match self.keyslot {
            Some(number) => unlock.keyslot(number),
            None => unlock,
        }
    }

    /// The terms of an edit of the header: these limits, and the demands that it must meet.
    pub(crate) fn terms_to_edit(&self, demands: &Demands) -> Unlock {
        self.terms().with_terms(demands.terms.clone())
    }

    /// The terms of an edit that demands no more than that the header matches its seal.
    pub(crate) fn terms_without_demands(&self) -> Unlock {
        if self.limits.weak_ciphers_too { self.terms().weak_ciphers() } else { self.terms() }
    }

    /// The same where the seal need not hold: keys are taken away, or a re-encryption goes on.
    pub(crate) fn terms_without_seal(&self) -> Unlock {
        self.terms_without_demands().ignore_seal()
    }

    /// The limits on key derivation, with the keyslot that `--key-slot` names, if any.
    pub(crate) fn of_keyslot(&self) -> UnlockOptions {
        UnlockOptions { keyslot: self.keyslot, ..self.limits() }
    }
}

/// `--volume-key-file`, under its new or old name.
pub(crate) fn volume_key_file(args: &Args) -> Option<&Path> {
    args.path(&shared::VOLUME_KEY_FILE).or_else(|| args.path(&shared::MASTER_KEY_FILE))
}
