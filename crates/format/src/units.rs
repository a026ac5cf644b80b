//! Offsets and lengths with their unit in the type, never as a bare number.

use core::fmt;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

/// A number of 512-byte sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sectors(pub u64);

impl Sectors {
    /// Bytes of one sector.
    pub const SIZE: u64 = 512;

    /// The same length in bytes; `None` when it overflows 64 bits.
    pub fn to_bytes(self) -> Option<Bytes> {
        self.0.checked_mul(Self::SIZE).map(Bytes)
    }

    /// The next multiple of `unit`, or the value itself if it is one; `None` on overflow or when
    /// `unit` is zero.
    pub(crate) fn round_up(self, unit: Sectors) -> Option<Sectors> {
        self.0.checked_next_multiple_of(unit.0).map(Sectors)
    }
}

impl Bytes {
    /// Whole sectors, rounded down.
    pub const fn sectors(self) -> Sectors {
        Sectors(self.0 / Sectors::SIZE)
    }

    /// The next multiple of `unit`, or the value itself if it is one; `None` on overflow or when
    /// `unit` is zero.
    pub(crate) fn round_up(self, unit: Bytes) -> Option<Bytes> {
        self.0.checked_next_multiple_of(unit.0).map(Bytes)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [bytes]", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_do_not_wrap() {
        assert_eq!(Sectors(8).to_bytes(), Some(Bytes(4096)));
        assert_eq!(Sectors(u64::MAX / 512).to_bytes(), Some(Bytes(u64::MAX - 511)));
        assert_eq!(Sectors(u64::MAX / 512 + 1).to_bytes(), None);
        assert_eq!(Bytes(1023).sectors(), Sectors(1));
        assert_eq!(Sectors(505).round_up(Sectors(8)), Some(Sectors(512)));
        assert_eq!(Sectors(u64::MAX).round_up(Sectors(8)), None);
        assert_eq!(Bytes(1).round_up(Bytes(0)), None);
    }
}
