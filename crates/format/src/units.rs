//! Offsets and lengths with their unit in the type: never a bare number.

use core::fmt;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

/// A number of 512-byte sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sectors(pub u64);

impl Sectors {
    /// The same length in bytes; `None` when it overflows 64 bits.
    pub fn to_bytes(self) -> Option<Bytes> {
        self.0.checked_mul(512).map(Bytes)
    }
}

impl Bytes {
    /// Whole sectors, rounded down.
    pub const fn sectors(self) -> Sectors {
        Sectors(self.0 / 512)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [bytes]", self.0)
    }
}
