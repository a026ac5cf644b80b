//! Why bytes are not a valid header: the cause and the place.

use crate::shown::Shown;
use alloc::string::String;
use core::fmt;

/// The place of an error in a header: a field, a slot, a JSON path ("keyslots.3.kdf.salt").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(pub String);

/// Why a header or an edit of it was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not of this format at all.
    NotLuks,
    /// LUKS of a version that this build does not know.
    UnsupportedVersion(u16),
    /// Too few bytes for what the header says it holds.
    Truncated {
        /// Bytes that the header requires.
        needs: u64,
        /// Bytes that are available.
        has: u64,
    },
    /// A field holds an invalid value; `place` names slot, offset or JSON path.
    Invalid {
        /// The field.
        place: Place,
        /// What is wrong with it.
        why: String,
    },
    /// The checksum does not match (LUKS2).
    Checksum,
    /// The header requires a feature that this build does not know (LUKS2 requirements), by name.
    Requirement(String),
    /// The JSON area or the keyslots area has no room for an edit.
    Full {
        /// "JSON area" or "keyslots area".
        area: &'static str,
        /// Bytes that the edit needs.
        needs: u64,
        /// Bytes that are available (for the keyslots area: its whole size).
        has: u64,
    },
}

impl Error {
    /// What is wrong at a place: a field, or its path in the JSON.
    pub fn invalid(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Invalid { place: Place(place.into()), why: why.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLuks => f.write_str("not a LUKS header"),
            Self::UnsupportedVersion(version) => write!(f, "unsupported LUKS version {version}"),
            Self::Truncated { needs, has } => write!(f, "truncated: needs {needs} bytes, has {has}"),
            // Text in a header may have been written by anybody.
            Self::Invalid { place, why } => write!(f, "{}: {}", Shown(&place.0), Shown(why)),
            Self::Checksum => f.write_str("header checksum does not match"),
            Self::Requirement(name) => write!(f, "requirement \"{}\" is unknown", Shown(name)),
            Self::Full { area, needs, has } => write!(f, "{area} is full: needs {needs} bytes, has {has}"),
        }
    }
}

impl core::error::Error for Error {}
