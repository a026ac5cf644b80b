//! Errors in a cipher specification, a key or a cost.

#[cfg(feature = "alloc")]
use alloc::string::String;
use core::fmt;

/// Why a cipher, hash or KDF cannot be used as asked. The message names the broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // The fields are named in each variant's text.
pub enum Error {
    /// The name is not one of dm-crypt's ciphers, modes, IVs or hashes.
    #[cfg(feature = "alloc")]
    Unknown { what: &'static str, name: String },
    /// The combination cannot exist (for example XTS over a 64-bit block).
    #[cfg(feature = "alloc")]
    Impossible(String),
    /// The combination exists, but this build does not implement it.
    #[cfg(feature = "alloc")]
    Unsupported(String),
    /// The volume key has the wrong length for the cipher: `got` bits, where `wants` lists the
    /// lengths it takes.
    #[cfg(feature = "alloc")]
    KeySize { spec: String, got: usize, wants: String },
    /// The key of an [`crate::AesXts`] is not of one of the three valid lengths; the value is its
    /// length in bits.
    AesXtsKey(usize),
    /// The key of an [`crate::AesCcm`] is not of one of the three valid lengths; the value is its
    /// length in bits.
    AesKey(usize),
    /// The sector size is not 512, 1024, 2048 or 4096.
    SectorSize(u32),
    /// A KDF cost outside what the algorithm defines.
    Cost(&'static str),
    /// Argon2 is asked for more lanes than it defines, or none.
    Lanes(u32),
    /// Argon2 is asked for less memory than its lanes need.
    LaneMemory { lanes: u32, kib: u32 },
    /// Memory for Argon2 could not be allocated.
    NoMemory { kib: u32 },
    /// The derivation was stopped from outside by [`crate::Stop`].
    Stopped,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "alloc")]
            Self::Unknown { what, name } => write!(f, "unknown {what} \"{name}\""),
            #[cfg(feature = "alloc")]
            Self::Impossible(why) | Self::Unsupported(why) => f.write_str(why),
            #[cfg(feature = "alloc")]
            Self::KeySize { spec, got, wants } => write!(f, "{spec} takes a key of {wants}, not {got} bits"),
            Self::SectorSize(n) => write!(f, "sector size {n} is not 512, 1024, 2048 or 4096"),
            Self::AesXtsKey(bits) => write!(f, "AES-XTS takes a key of 256, 384 or 512 bits, not {bits}"),
            Self::AesKey(bits) => write!(f, "AES takes a key of 128, 192 or 256 bits, not {bits}"),
            Self::Cost(why) => f.write_str(why),
            Self::Lanes(lanes) => write!(f, "Argon2 takes 1 to 16777215 lanes, not {lanes}"),
            Self::LaneMemory { lanes, kib } => {
                let least = 8 * u64::from(*lanes);
                write!(f, "Argon2 with {lanes} lanes needs at least {least} KiB, not {kib}")
            }
            Self::NoMemory { kib } => write!(f, "no memory for Argon2 ({kib} KiB)"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl core::error::Error for Error {}
