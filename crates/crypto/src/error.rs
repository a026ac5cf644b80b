//! What can be wrong with a cipher specification, a key or a cost.

use alloc::string::String;
use core::fmt;

/// Why a cipher, hash or KDF cannot be used as asked. The text names the rule that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // The fields are named in each variant's text.
pub enum Error {
    /// The name is not one of dm-crypt's ciphers, modes, IVs or hashes.
    Unknown { what: &'static str, name: String },
    /// The combination cannot exist (for example XTS over a 64-bit block).
    Impossible(String),
    /// The combination exists, but this build does not implement it.
    Unsupported(String),
    /// The volume key has the wrong length for the cipher: `got` bits, where `wants` lists what it takes.
    KeySize { spec: String, got: usize, wants: String },
    /// The sector size is not 512, 1024, 2048 or 4096.
    SectorSize(u32),
    /// A KDF cost outside what the algorithm defines.
    Cost(String),
    /// Memory for Argon2 could not be had.
    NoMemory { kib: u32 },
    /// The derivation was stopped from outside by [`crate::Stop`].
    Stopped,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { what, name } => write!(f, "unknown {what} \"{name}\""),
            Self::Impossible(why) | Self::Unsupported(why) | Self::Cost(why) => f.write_str(why),
            Self::KeySize { spec, got, wants } => write!(f, "{spec} takes a key of {wants}, not {got} bits"),
            Self::SectorSize(n) => write!(f, "sector size {n} is not 512, 1024, 2048 or 4096"),
            Self::NoMemory { kib } => write!(f, "no memory for Argon2 ({kib} KiB)"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl core::error::Error for Error {}
