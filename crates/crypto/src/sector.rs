//! A key, a cipher specification and a sector size: encrypts and decrypts runs of sectors.

use crate::block::aes::Aes;
use crate::block::{Block, BlockCipher};
use crate::iv::IvGenerator;
use crate::spec::{Iv, Mode};
use crate::{CipherSpec, Cpu, Error, Secret};
use zeroize::Zeroizing;

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

/// An expanded key that en- and decrypts runs of sectors in place. It may be shared between threads.
pub struct SectorCipher {
    sector_size: SectorSize,
    engine: Engine,
}

/// The keys of a mode.
enum Engine {
    Xts { data: Aes, tweak: Aes, iv: IvGenerator },
    Cbc { data: Aes, iv: IvGenerator },
    Ecb { data: Aes },
}

impl SectorCipher {
    /// Expands `key`; the code that runs later is chosen here, once, from `cpu`.
    pub fn new(spec: &CipherSpec, key: &Secret, sector_size: SectorSize, cpu: Cpu) -> Result<Self, Error> {
        spec.check_implemented()?;
        spec.check_key_bits(8 * key.len())?;
        let key = key.expose();
        let engine = match spec.mode() {
            Mode::Xts => {
                let (data, tweak) = key.split_at(key.len() / 2);
                Engine::Xts { data: Aes::new(data, cpu), tweak: Aes::new(tweak, cpu), iv: iv(spec, key, cpu) }
            }
            Mode::Cbc => Engine::Cbc { data: Aes::new(key, cpu), iv: iv(spec, key, cpu) },
            Mode::Ecb => Engine::Ecb { data: Aes::new(key, cpu) },
            other => unreachable!("{other:?} passed check_implemented"),
        };
        Ok(Self { sector_size, engine })
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
        let sector = self.sector_size.bytes();
        match &self.engine {
            Engine::Xts { data: cipher, tweak, iv: generator } => {
                self.batches(generator, iv, data, |ivs, batch| {
                    tweak.encrypt_blocks(ivs);
                    cipher.xts_encrypt(ivs, sector, batch);
                })
            }
            Engine::Cbc { data: cipher, iv: generator } => {
                self.batches(generator, iv, data, |ivs, batch| cipher.cbc_encrypt(ivs, sector, batch));
            }
            Engine::Ecb { data: cipher } => cipher.encrypt_blocks(self.whole_blocks(data)),
        }
    }

    /// The inverse of [`SectorCipher::encrypt`].
    ///
    /// # Panics
    /// When `data` is not a multiple of the sector size.
    pub fn decrypt(&self, iv: u64, data: &mut [u8]) {
        let sector = self.sector_size.bytes();
        match &self.engine {
            Engine::Xts { data: cipher, tweak, iv: generator } => {
                self.batches(generator, iv, data, |ivs, batch| {
                    tweak.encrypt_blocks(ivs);
                    cipher.xts_decrypt(ivs, sector, batch);
                })
            }
            Engine::Cbc { data: cipher, iv: generator } => {
                self.batches(generator, iv, data, |ivs, batch| cipher.cbc_decrypt(ivs, sector, batch));
            }
            Engine::Ecb { data: cipher } => cipher.decrypt_blocks(self.whole_blocks(data)),
        }
    }

    /// Cuts the run into batches of [`BATCH`] sectors and makes the IVs of each.
    fn batches(
        &self,
        generator: &IvGenerator,
        iv: u64,
        data: &mut [u8],
        run: impl Fn(&mut [Block], &mut [u8]),
    ) {
        let sector = self.sector_size.bytes();
        assert_eq!(data.len() % sector, 0, "a run of whole sectors of {sector} bytes");
        let step = self.sector_size.units();
        let mut ivs = [[0; 16]; BATCH];
        let mut first = iv;
        for batch in data.chunks_mut(BATCH * sector) {
            let ivs = &mut ivs[..batch.len() / sector];
            generator.fill(first, step, ivs);
            run(ivs, batch);
            first = first.wrapping_add(step * BATCH as u64);
        }
    }

    fn whole_blocks<'a>(&self, data: &'a mut [u8]) -> &'a mut [Block] {
        let sector = self.sector_size.bytes();
        assert_eq!(data.len() % sector, 0, "a run of whole sectors of {sector} bytes");
        data.as_chunks_mut().0
    }
}

/// The generator of a specification's IVs; ESSIV's key is the digest of the whole volume key.
fn iv(spec: &CipherSpec, key: &[u8], cpu: Cpu) -> IvGenerator {
    match spec.iv() {
        Iv::Absent | Iv::Null => IvGenerator::Null,
        Iv::Plain => IvGenerator::Plain,
        Iv::Plain64 => IvGenerator::Plain64,
        Iv::Plain64be => IvGenerator::Plain64be,
        Iv::Benbi => IvGenerator::Benbi,
        Iv::Essiv(essiv) => {
            let hash = essiv.hash().expect("a hash that passed check_implemented");
            IvGenerator::Essiv(Aes::new(&Zeroizing::new(hash.digest(&[key])), cpu))
        }
        other => unreachable!("{other:?} passed check_implemented"),
    }
}

/// Sectors whose IVs are made and encrypted together: enough to keep a vector unit busy, few enough for the stack.
const BATCH: usize = 64;
