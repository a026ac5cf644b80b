//! How long a sector is.

use crate::Error;

/// Encryption sector size: 512, 1024, 2048 or 4096 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectorSize(u32);

impl SectorSize {
    /// 512 bytes: LUKS1, keyslot areas, and LUKS2's smallest.
    pub const S512: Self = Self(512);
    /// 4096 bytes: LUKS2's largest.
    pub const S4096: Self = Self(4096);

    /// All sizes, ascending.
    pub const ALL: [Self; 4] = [Self(512), Self(1024), Self(2048), Self(4096)];

    /// Accepts 512, 1024, 2048 and 4096.
    pub fn new(bytes: u32) -> Result<Self, Error> {
        match bytes {
            512 | 1024 | 2048 | 4096 => Ok(Self(bytes)),
            other => Err(Error::SectorSize(other)),
        }
    }

    /// The size in bytes.
    pub const fn bytes(self) -> usize {
        self.0 as usize
    }

    /// How many 512-byte units a sector holds: the step of the IV from one sector to the next.
    pub const fn units(self) -> u64 {
        (self.0 / 512) as u64
    }
}
