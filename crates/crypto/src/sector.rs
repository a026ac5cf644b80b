//! A key, a cipher specification and a sector size: encrypts and decrypts runs of sectors.

#[cfg(feature = "alloc")]
use crate::engine::{Engine, Run};
#[cfg(feature = "alloc")]
use crate::secret::stop_if_wiped;
pub use crate::sector_size::SectorSize;
#[cfg(feature = "alloc")]
use crate::{CipherSpec, Cpu, Error, Secret, Weakness, choice};
#[cfg(feature = "alloc")]
use alloc::boxed::Box;

/// An expanded key that encrypts and decrypts runs of sectors in place. Can be shared between
/// threads.
#[cfg(feature = "alloc")]
pub struct SectorCipher {
    sector_size: SectorSize,
    large_ivs: bool,
    engine: Box<dyn Engine>,
}

#[cfg(feature = "alloc")]
impl SectorCipher {
    /// Expands `key`; the implementation is chosen here, once, from `cpu`.
    pub fn new(spec: &CipherSpec, key: &Secret, sector_size: SectorSize, cpu: Cpu) -> Result<Self, Error> {
        spec.check_sector_size(sector_size)?;
        // cryptsetup's headers give a key length here too; dm-crypt is given no key.
        let key = if spec.weakness() == Some(Weakness::NoEncryption) { &[] } else { key.expose() };
        spec.check_key_bits(8 * key.len())?;
        Ok(Self { sector_size, large_ivs: false, engine: choice::engine(spec, key, cpu) })
    }

    /// Makes IVs count sectors instead of 512-byte units, like dm-crypt's `iv_large_sectors`.
    pub fn with_large_iv_sectors(self) -> Self {
        Self { large_ivs: true, ..self }
    }

    /// The sector size this cipher was created for.
    pub fn sector_size(&self) -> SectorSize {
        self.sector_size
    }

    /// The code in use on this CPU: "vaes-avx512", "avx2", "portable".
    pub fn code(&self) -> &'static str {
        self.engine.code()
    }

    /// Encrypts a run of whole sectors in place. `first` is the first sector's number in 512-byte
    /// units, the volume's IV offset included; it grows by [`SectorSize::units`] per sector.
    ///
    /// # Panics
    /// If `data` is not a multiple of the sector size.
    pub fn encrypt(&self, first: u64, data: &mut [u8]) {
        self.engine.encrypt(&self.run(first, data), data);
        stop_if_wiped();
    }

    /// The inverse of [`SectorCipher::encrypt`].
    ///
    /// # Panics
    /// If `data` is not a multiple of the sector size.
    pub fn decrypt(&self, first: u64, data: &mut [u8]) {
        self.engine.decrypt(&self.run(first, data), data);
        stop_if_wiped();
    }

    fn run(&self, first: u64, data: &[u8]) -> Run {
        let sector = self.sector_size.bytes();
        assert_eq!(data.len() % sector, 0, "a run of whole sectors of {sector} bytes");
        Run { first, sector, large_ivs: self.large_ivs }
    }
}
