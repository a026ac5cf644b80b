//! The versions of LUKS.

use keyway_volume::Luks;
use std::fmt;

/// A version of LUKS. See [`Header`](crate::Header) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Version {
    /// Eight keyslots, PBKDF2, 512-byte sectors.
    Luks1,
    /// 32 keyslots, Argon2, tokens, larger sectors, a second copy of the header.
    Luks2,
}

impl Version {
    pub(crate) fn of(luks: &Luks) -> Self {
        if luks.version() == 1 { Self::Luks1 } else { Self::Luks2 }
    }

    /// 1 or 2. See [`Header`](crate::Header) for an example of versions.
    pub fn number(self) -> u8 {
        match self {
            Self::Luks1 => 1,
            Self::Luks2 => 2,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LUKS{}", self.number())
    }
}
