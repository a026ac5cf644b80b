//! A key, a cipher specification and a sector size: encrypts and decrypts runs of sectors.

use crate::{CipherSpec, Cpu, Error, Secret};

/// Encryption sector size: 512, 1024, 2048 or 4096 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectorSize(u32);

impl SectorSize {
    /// 512 bytes: LUKS1, keyslot areas, and LUKS2's smallest.
    pub const S512: Self = Self(512);
    /// 4096 bytes: LUKS2's largest.
    pub const S4096: Self = Self(4096);

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

/// An expanded key that en- and decrypts runs of sectors in place.
pub struct SectorCipher {
    sector_size: SectorSize,
}

impl SectorCipher {
    /// Expands `key`; the code that runs later is chosen here, once, from `cpu`.
    pub fn new(spec: &CipherSpec, key: &Secret, sector_size: SectorSize, cpu: Cpu) -> Result<Self, Error> {
        let _ = (spec, key, cpu);
        Ok(Self { sector_size })
    }

    /// The sector size it was made for.
    pub fn sector_size(&self) -> SectorSize {
        self.sector_size
    }

    /// Encrypts a run of whole sectors in place. `iv` is the first sector's IV number in 512-byte units (dm-crypt
    /// without `iv_large_sectors`); it grows by [`SectorSize::units`] a sector.
    ///
    /// # Panics
    /// When `data` is not a multiple of the sector size.
    pub fn encrypt(&self, iv: u64, data: &mut [u8]) {
        let _ = (iv, data);
        todo!()
    }

    /// The inverse of [`SectorCipher::encrypt`].
    ///
    /// # Panics
    /// When `data` is not a multiple of the sector size.
    pub fn decrypt(&self, iv: u64, data: &mut [u8]) {
        let _ = (iv, data);
        todo!()
    }
}
