//! tcw, TrueCrypt's CBC before version 4.1 (Linux, drivers/md/dm-crypt.c,
//! `crypt_iv_tcw_*`): an IV that is a secret seed plus the sector's number, and a whitening
//! of the ciphertext by eight bytes that repeat through the sector.
//!
//! The whitening of a sector: 16 secret bytes, plus the number (64 bits, little endian)
//! on either half; the CRC-32 of each word of these, without inversions; then the first
//! word plus the last, and the second plus the third.
//!
//! The seed is handled in [`super::IvGenerator::Seeded`]; this file is the whitening. The whitened
//! data can be distinguished from random data: the scheme is for old volumes only.

use crate::engine::{Engine, Run};
use crate::secret::SecretBox;
use alloc::boxed::Box;

/// A mode whose ciphertext is whitened.
pub(crate) struct Whitened {
    mode: Box<dyn Engine>,
    whitening: Whitening,
}

enum Whitening {
    /// Another for each sector.
    OfSectors(SecretBox<[u8; WHITENING]>),
    /// These bytes: of the header of such a volume.
    OfHeader(SecretBox<[u8; 8]>),
}

impl Whitened {
    pub(crate) fn new(mode: Box<dyn Engine>, whitening: &[u8; WHITENING]) -> Self {
        Self { mode, whitening: Whitening::OfSectors(copied(whitening)) }
    }

    pub(crate) fn header(mode: Box<dyn Engine>, whitening: &[u8; 8]) -> Self {
        Self { mode, whitening: Whitening::OfHeader(copied(whitening)) }
    }

    /// Adds every sector's whitening to it.
    fn whiten(&self, run: &Run, data: &mut [u8]) {
        for (index, sector) in data.chunks_exact_mut(run.sector).enumerate() {
            let mask = self.mask(run.iv(index));
            for word in sector.as_chunks_mut().0 {
                *word = (u64::from_le_bytes(*word) ^ mask).to_le_bytes();
            }
        }
    }

    fn mask(&self, number: u64) -> u64 {
        let secret = match &self.whitening {
            Whitening::OfHeader(mask) => return u64::from_le_bytes(**mask),
            Whitening::OfSectors(secret) => secret,
        };
        let halves = secret.as_chunks().0;
        let [low, high] = [halves[0], halves[1]].map(|half| {
            let numbered = u64::from_le_bytes(half) ^ number;
            [crc32(numbered as u32), crc32((numbered >> 32) as u32)]
        });
        u64::from(low[0] ^ high[1]) | u64::from(low[1] ^ high[0]) << 32
    }
}

fn copied<const N: usize>(bytes: &[u8; N]) -> SecretBox<[u8; N]> {
    SecretBox::new_with(|secret: &mut [u8; N]| secret.copy_from_slice(bytes))
}

impl Engine for Whitened {
    fn encrypt(&self, run: &Run, data: &mut [u8]) {
        self.mode.encrypt(run, data);
        self.whiten(run, data);
    }

    fn decrypt(&self, run: &Run, data: &mut [u8]) {
        self.whiten(run, data);
        self.mode.decrypt(run, data);
    }

    fn code(&self) -> &'static str {
        self.mode.code()
    }
}

/// CRC-32 (IEEE 802.3, reflected) of four bytes, little endian, from a register of zero and without
/// a final inversion. Bit by bit, as the bytes are secret.
fn crc32(word: u32) -> u32 {
    (0..32).fold(word, |crc, _| (crc >> 1) ^ ((crc & 1).wrapping_neg() & 0xedb8_8320))
}

/// Whitening in the volume key, in bytes.
pub(crate) const WHITENING: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// CRC-32 (ITU-T V.42) of two texts of one word, with the inversions put back.
    #[test]
    fn crc_of_a_word() {
        for (text, crc) in [(*b"1234", 0x9be3_e0a3), (*b"test", 0xd87f_7e0c)] {
            assert_eq!(!crc32(!u32::from_le_bytes(text)), crc);
        }
    }
}
