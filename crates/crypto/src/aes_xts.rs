//! AES-XTS with plain64 IVs, the usual LUKS cipher, as a separate type: it needs no allocator, so a
//! boot loader can use it.

use crate::block::aes::Aes;
use crate::block_cipher::{BlockCipher, Cipher128};
use crate::chaining::BATCH;
use crate::secret::stop_if_wiped;
use crate::{Cpu, Error, SectorSize};

/// An expanded key that encrypts and decrypts runs of sectors in place, as dm-crypt's
/// aes-xts-plain64 does.
pub struct AesXts {
    data: Aes,
    tweak: Aes,
}

impl AesXts {
    /// Expands a key of 32, 48 or 64 bytes, with the half for the data first. The implementation is
    /// chosen here, once.
    ///
    /// # Errors
    /// [`Error::AesXtsKey`] for any other key length.
    pub fn new(key: &[u8], cpu: Cpu) -> Result<Self, Error> {
        if !matches!(key.len(), 32 | 48 | 64) {
            return Err(Error::AesXtsKey(8 * key.len()));
        }
        let (data, tweak) = key.split_at(key.len() / 2);
        Ok(Self { data: Aes::new(data, cpu), tweak: Aes::new(tweak, cpu) })
    }

    /// Encrypts whole sectors of `size`, the first of which is number `first` in 512-byte units.
    ///
    /// # Panics
    /// If `data` is not a multiple of the sector size.
    pub fn encrypt(&self, first: u64, size: SectorSize, data: &mut [u8]) {
        self.with_tweaks(first, size, data, |tweaks, data| self.data.xts_encrypt(tweaks, size.bytes(), data));
        stop_if_wiped();
    }

    /// The inverse of [`AesXts::encrypt`].
    ///
    /// # Panics
    /// If `data` is not a multiple of the sector size.
    pub fn decrypt(&self, first: u64, size: SectorSize, data: &mut [u8]) {
        self.with_tweaks(first, size, data, |tweaks, data| self.data.xts_decrypt(tweaks, size.bytes(), data));
        stop_if_wiped();
    }

    /// Encrypts one data unit of any length, in whole blocks: unit `number` of IEEE 1619. Core Storage's metadata have
    /// units of 8192 bytes.
    ///
    /// # Panics
    /// If `unit` is empty or not a multiple of 16 bytes.
    pub fn encrypt_unit(&self, number: u64, unit: &mut [u8]) {
        self.in_parts(number, unit, |tweak, part| self.data.xts_encrypt(&[tweak], part.len(), part));
        stop_if_wiped();
    }

    /// The inverse of [`AesXts::encrypt_unit`].
    ///
    /// # Panics
    /// If `unit` is empty or not a multiple of 16 bytes.
    pub fn decrypt_unit(&self, number: u64, unit: &mut [u8]) {
        self.in_parts(number, unit, |tweak, part| self.data.xts_decrypt(&[tweak], part.len(), part));
        stop_if_wiped();
    }

    /// Runs `work` over parts of a unit, each with the mask of its first block.
    fn in_parts(&self, number: u64, unit: &mut [u8], work: impl Fn([u8; 16], &mut [u8])) {
        assert!(!unit.is_empty() && unit.len().is_multiple_of(16), "a data unit of whole blocks");
        let mut tweak = [[0; 16]];
        tweak[0][..8].copy_from_slice(&number.to_le_bytes());
        self.tweak.encrypt_blocks(&mut tweak);
        let mut mask = u128::from_le_bytes(tweak[0]);
        for part in unit.chunks_mut(SectorSize::S512.bytes()) {
            work(mask.to_le_bytes(), part);
            for _ in 0..part.len() / 16 {
                mask = (mask << 1) ^ ((mask >> 127) * 0x87);
            }
        }
    }

    /// Runs `work` over batches of sectors with their encrypted tweaks.
    fn with_tweaks(
        &self,
        first: u64,
        size: SectorSize,
        data: &mut [u8],
        work: impl Fn(&[[u8; 16]], &mut [u8]),
    ) {
        assert_eq!(data.len() % size.bytes(), 0, "a run of whole sectors of {} bytes", size.bytes());
        let mut number = first;
        for batch in data.chunks_mut(BATCH * size.bytes()) {
            let mut tweaks = [[0; 16]; BATCH];
            let tweaks = &mut tweaks[..batch.len() / size.bytes()];
            for tweak in &mut *tweaks {
                tweak[..8].copy_from_slice(&number.to_le_bytes());
                number = number.wrapping_add(size.units());
            }
            self.tweak.encrypt_blocks(tweaks);
            work(tweaks, batch);
        }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use crate::{CipherSpec, Secret, SectorCipher};

    #[test]
    fn equals_the_engine() {
        let spec = CipherSpec::parse("aes-xts-plain64").unwrap();
        let bytes: Vec<u8> = (0..64 * 4096 + 3 * 4096).map(|index| (index * 7 + index / 251) as u8).collect();
        for (len, size) in [(32, SectorSize::S512), (48, SectorSize::S4096), (64, SectorSize::S4096)] {
            for cpu in Cpu::levels() {
                let engine = SectorCipher::new(&spec, &Secret::copy_from(&bytes[..len]), size, cpu).unwrap();
                let (mut expected, mut data) = (bytes.clone(), bytes.clone());
                engine.encrypt(40, &mut expected);
                let fixed = AesXts::new(&bytes[..len], cpu).unwrap();
                fixed.encrypt(40, size, &mut data);
                assert!(data == expected, "{cpu}");
                fixed.decrypt(40, size, &mut data);
                assert!(data == bytes, "{cpu}");
            }
        }
        // A unit of a sector's length is that sector; a longer one begins as a sector with its number.
        for cpu in Cpu::levels() {
            let fixed = AesXts::new(&bytes[..32], cpu).unwrap();
            let (mut sector, mut unit) = (bytes[..4096].to_vec(), bytes[..8192].to_vec());
            fixed.encrypt(5, SectorSize::S4096, &mut sector);
            fixed.encrypt_unit(5, &mut unit);
            assert!(unit[..4096] == sector, "{cpu}");
            fixed.decrypt_unit(5, &mut unit);
            assert!(unit == bytes[..8192], "{cpu}");
        }
        assert_eq!(AesXts::new(&bytes[..33], Cpu::portable()).err(), Some(Error::AesXtsKey(264)));
    }
}
