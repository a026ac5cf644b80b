//! Why bytes are not a header: the cause and the place.

use alloc::string::String;
use core::fmt;

/// Where in a header something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(pub String);

/// Why a header was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not of this format at all.
    NotLuks,
    /// Too few bytes for what the header says it holds.
    Truncated { needs: u64, has: u64 },
    /// A field holds a value that makes no sense; `place` names slot, offset or JSON path.
    Invalid { place: Place, why: String },
    /// The checksum does not match (LUKS2).
    Checksum,
    /// The header needs a feature this build does not know (LUKS2 requirements), by name.
    Requirement(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLuks => f.write_str("not a LUKS header"),
            Self::Truncated { needs, has } => write!(f, "truncated: needs {needs} bytes, has {has}"),
            Self::Invalid { place, why } => write!(f, "{}: {why}", place.0),
            Self::Checksum => f.write_str("checksum does not match"),
            Self::Requirement(name) => write!(f, "requirement \"{name}\" is unknown"),
        }
    }
}

impl core::error::Error for Error {}
