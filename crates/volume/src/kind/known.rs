//! What is known of a volume before its key is: what may open it, and what each of these costs.

use keyway_crypto::Hash;
use std::fmt;

/// What is known of a volume without its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// What may open it, in the order in which it is tried.
    pub ways: Vec<Way>,
    /// What its data may be encrypted with, in dm-crypt's words.
    pub ciphers: Vec<String>,
}

/// What may open a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// Which one it is: "protector 0", "VeraCrypt sha512".
    pub name: String,
    /// What the header calls it, which anybody can have written.
    pub label: Option<String>,
    /// What its user gives.
    pub takes: Takes,
    /// What is computed from that.
    pub cost: WayCost,
    /// How many threads share that.
    pub parts: usize,
    /// How many headers it is tried on.
    pub headers: usize,
}

/// What the user of a volume gives to open it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Takes {
    Passphrase,
    RecoveryPassword,
    KeyFile,
    /// What this program cannot ask for: a TPM, a smart card.
    Hardware(&'static str),
    /// Nobody here knows what.
    Unknown,
    /// The key is on the device, in the clear.
    Nothing,
}

impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passphrase => "passphrase",
            Self::RecoveryPassword => "recovery password",
            Self::KeyFile => "key file",
            Self::Hardware(name) => name,
            Self::Unknown => "unknown protection",
            Self::Nothing => "nothing",
        })
    }
}

/// What is computed from what the user gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WayCost {
    /// PBKDF2.
    Pbkdf2 {
        /// The hash of its HMAC.
        hash: Hash,
        /// Its iterations.
        iterations: u32,
        /// The bytes that are derived.
        derived: usize,
        /// How many of them tell whether a guess is right.
        telling: usize,
    },
    /// Argon2id with one lane.
    Argon2id {
        /// Passes over the memory.
        passes: u32,
        /// Memory in KiB.
        memory_kib: u32,
    },
    /// BitLocker's stretching.
    Stretching {
        /// Its rounds.
        rounds: u64,
    },
    /// A hash, and no key derivation.
    Hash {
        /// As options name it; "plain": not even that.
        name: String,
        /// How many digests make the key.
        digests: usize,
    },
    /// Nothing: it is a key.
    Nothing,
}

impl Way {
    /// One that is tried on one header, by one thread.
    pub(super) fn new(name: impl Into<String>, takes: Takes, cost: WayCost) -> Self {
        Self { name: name.into(), label: None, takes, cost, parts: 1, headers: 1 }
    }
}
