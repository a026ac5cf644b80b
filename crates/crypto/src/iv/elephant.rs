//! elephant, BitLocker's diffuser (Niels Ferguson, "AES-CBC + Elephant diffuser", Microsoft 2006; Linux,
//! drivers/md/dm-crypt.c, `crypt_iv_elephant`): sectors are stirred before they are encrypted.
//!
//! The sector key is 32 bytes, AES of the sector's byte offset (64 bits, little endian, zeros) and AES of the same with 128
//! in the last byte, under a key of its own. A sector is added to it, repeated, and goes through diffusers A and B, which
//! work on 32-bit little-endian words d of a ring; backwards, as decryption does it:
//!
//! ```text
//! A, five cycles:  d[i] += d[i-2] ^ (d[i-5] <<< 9, 0, 13, 0 by turns)
//! B, three cycles: d[i] += d[i+2] ^ (d[i+5] <<< 0, 10, 0, 25 by turns)
//! ```

use crate::Cpu;
use crate::block::BlockCipher;
use crate::block::aes::Aes;
use crate::engine::{BATCH, Engine, Run};
use alloc::boxed::Box;
use zeroize::Zeroizing;

/// A mode over diffused sectors.
pub(crate) struct Elephant {
    mode: Box<dyn Engine>,
    sector_keys: Aes,
}

impl Elephant {
    /// `key`: AES's, for the sector keys.
    pub(crate) fn new(mode: Box<dyn Engine>, key: &[u8], cpu: Cpu) -> Self {
        Self { mode, sector_keys: Aes::new(key, cpu) }
    }

    /// Calls `work` with every sector's key and the sector as words.
    fn each(&self, run: &Run, data: &mut [u8], work: impl Fn(&[u32; 8], &mut [u32])) {
        let mut words = Zeroizing::new([0; LARGEST_SECTOR / 4]);
        let words = &mut words[..run.sector / 4];
        run.batches(data, |run, data| {
            let mut keys = Zeroizing::new([[0; 16]; 2 * BATCH]);
            let keys = &mut keys[..2 * data.len() / run.sector];
            for (index, key) in keys.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                let offset = run.byte_offset(index).to_le_bytes();
                key.iter_mut().for_each(|half| half[..8].copy_from_slice(&offset));
                key[1][15] = 0x80;
            }
            self.sector_keys.encrypt_blocks(keys);
            let keys = keys.as_flattened().as_chunks::<32>().0;
            for (key, sector) in keys.iter().zip(data.chunks_exact_mut(run.sector)) {
                let key = core::array::from_fn(|index| u32::from_le_bytes(key.as_chunks().0[index]));
                let bytes = sector.as_chunks_mut().0;
                bytes.iter().zip(&mut *words).for_each(|(bytes, word)| *word = u32::from_le_bytes(*bytes));
                work(&key, words);
                bytes.iter_mut().zip(&*words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
            }
        });
    }
}

impl Engine for Elephant {
    fn encrypt(&self, run: &Run, data: &mut [u8]) {
        self.each(run, data, |key, words| {
            add(key, words);
            A.apply(words);
            B.apply(words);
        });
        self.mode.encrypt(run, data);
    }

    fn decrypt(&self, run: &Run, data: &mut [u8]) {
        self.mode.decrypt(run, data);
        self.each(run, data, |key, words| {
            B.undo(words);
            A.undo(words);
            add(key, words);
        });
    }

    fn code(&self) -> &'static str {
        self.mode.code()
    }
}

fn add(key: &[u32; 8], words: &mut [u32]) {
    words.iter_mut().zip(key.iter().cycle()).for_each(|(word, key)| *word ^= key);
}

/// One of the two diffusers.
struct Diffuser {
    cycles: usize,
    /// Where in the ring the two neighbours are, as steps forwards.
    near: usize,
    far: usize,
    rotations: [u32; 4],
}

const A: Diffuser =
    Diffuser { cycles: 5, near: 2usize.wrapping_neg(), far: 5usize.wrapping_neg(), rotations: [9, 0, 13, 0] };
const B: Diffuser = Diffuser { cycles: 3, near: 2, far: 5, rotations: [0, 10, 0, 25] };

impl Diffuser {
    fn apply(&self, words: &mut [u32]) {
        for step in (0..self.cycles * words.len()).rev() {
            let index = step & (words.len() - 1);
            words[index] = words[index].wrapping_sub(self.neighbours(words, index));
        }
    }

    fn undo(&self, words: &mut [u32]) {
        for step in 0..self.cycles * words.len() {
            let index = step & (words.len() - 1);
            words[index] = words[index].wrapping_add(self.neighbours(words, index));
        }
    }

    /// The ring has as many words as a sector: a power of two.
    #[inline(always)]
    fn neighbours(&self, words: &[u32], index: usize) -> u32 {
        let at = |step: usize| words[index.wrapping_add(step) & (words.len() - 1)];
        at(self.near) ^ at(self.far).rotate_left(self.rotations[index % 4])
    }
}

const LARGEST_SECTOR: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hash;
    use crate::block::vectors::hex;

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// dissect.fve (Fox-IT), tests/test_crypto_elephant.py: SHA-256 of 512 diffused bytes "a".
    #[test]
    fn diffused_letters() {
        for (diffuser, digest) in [
            (A, "f58aa15c1219f893c4ed355d363d8f831bcc0c4a82c6bbffcca321aada9e86ec"),
            (B, "1d5a51ae0d0b6309f1f8661376af9ebd880b1274601f6841f5aaeb5273580133"),
        ] {
            let mut words = [0x6161_6161; 128];
            diffuser.apply(&mut words);
            assert_eq!(Hash::Sha256.digest(&[&bytes(&words)]), hex(digest));
            diffuser.undo(&mut words);
            assert_eq!(words, [0x6161_6161; 128]);
        }
    }
}
