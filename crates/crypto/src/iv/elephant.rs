//! elephant, BitLocker's diffuser (Niels Ferguson, "AES-CBC + Elephant diffuser", Microsoft 2006;
//! Linux, drivers/md/dm-crypt.c, `crypt_iv_elephant`): sectors are diffused before they are
//! encrypted.
//!
//! The sector key is 32 bytes, AES of the sector's byte offset (64 bits, little endian, zeros) and
//! AES of the same with 128 in the last byte, under a separate key. The sector key, repeated, is
//! added to a sector, which then goes through diffusers A and B, which work on 32-bit little-endian
//! words d of a ring; in reverse, as in decryption:
//!
//! ```text
//! A, five cycles:  d[i] += d[i-2] ^ (d[i-5] <<< 9, 0, 13, 0 by turns)
//! B, three cycles: d[i] += d[i+2] ^ (d[i+5] <<< 0, 10, 0, 25 by turns)
//! ```
//!
//! Within a sector each word depends on the word two before it, so [`LANES`] sectors are processed
//! side by side.

use crate::block_cipher::BlockCipher;
use crate::engine::{BATCH, Engine, Run};
use alloc::boxed::Box;
use zeroize::Zeroizing;

/// A mode over diffused sectors.
pub(crate) struct Elephant {
    mode: Box<dyn Engine>,
    sector_keys: Box<dyn BlockCipher>,
}

impl Elephant {
    /// `sector_keys`: AES, under the key for the sector keys.
    pub(crate) fn new(mode: Box<dyn Engine>, sector_keys: Box<dyn BlockCipher>) -> Self {
        Self { mode, sector_keys }
    }

    /// Calls `work` with the keys and the words of [`LANES`] sectors at a time.
    fn each(&self, run: &Run, data: &mut [u8], work: impl Fn(&[Lanes; 8], &mut [Lanes])) {
        let mut words = Zeroizing::new([[0; LANES]; LARGEST_SECTOR / 4]);
        let words = &mut words[..run.sector / 4];
        run.batches(data, |run, data| {
            let mut keys = Zeroizing::new([[0; 16]; 2 * BATCH]);
            let keys = self.sector_keys(run, data.len() / run.sector, &mut *keys);
            for (keys, group) in keys.chunks(LANES).zip(data.chunks_mut(LANES * run.sector)) {
                let mut lanes = Zeroizing::new([[0; LANES]; 8]);
                keys.iter().enumerate().for_each(|(lane, key)| gather(key, lane, &mut *lanes));
                let sectors = group.chunks_exact(run.sector);
                sectors.enumerate().for_each(|(lane, sector)| gather(sector, lane, words));
                work(&lanes, words);
                let sectors = group.chunks_exact_mut(run.sector);
                sectors.enumerate().for_each(|(lane, sector)| scatter(words, lane, sector));
            }
        });
    }

    /// The keys of the first sectors of a run.
    fn sector_keys<'a>(&self, run: &Run, sectors: usize, blocks: &'a mut [[u8; 16]]) -> &'a [[u8; 32]] {
        let blocks = &mut blocks[..2 * sectors];
        for (index, halves) in blocks.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let offset = run.byte_offset(index).to_le_bytes();
            halves.iter_mut().for_each(|half| half[..8].copy_from_slice(&offset));
            halves[1][15] = 0x80;
        }
        self.sector_keys.encrypt_blocks(blocks);
        blocks.as_flattened().as_chunks().0
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

fn add(keys: &[Lanes; 8], words: &mut [Lanes]) {
    for (word, key) in words.iter_mut().zip(keys.iter().cycle()) {
        word.iter_mut().zip(key).for_each(|(word, key)| *word ^= key);
    }
}

/// Puts the words of a sector into a lane.
fn gather(sector: &[u8], lane: usize, words: &mut [Lanes]) {
    for (word, bytes) in words.iter_mut().zip(sector.as_chunks().0) {
        word[lane] = u32::from_le_bytes(*bytes);
    }
}

/// The inverse of [`gather`].
fn scatter(words: &[Lanes], lane: usize, sector: &mut [u8]) {
    for (word, bytes) in words.iter().zip(sector.as_chunks_mut().0) {
        *bytes = word[lane].to_le_bytes();
    }
}

/// One of the two diffusers.
struct Diffuser {
    cycles: usize,
    /// The positions of the two neighbours in the ring, as forward steps.
    near: usize,
    far: usize,
    rotations: [u32; 4],
}

const A: Diffuser =
    Diffuser { cycles: 5, near: 2usize.wrapping_neg(), far: 5usize.wrapping_neg(), rotations: [9, 0, 13, 0] };
const B: Diffuser = Diffuser { cycles: 3, near: 2, far: 5, rotations: [0, 10, 0, 25] };

impl Diffuser {
    #[inline(always)]
    fn apply(&self, words: &mut [Lanes]) {
        for four in (0..self.cycles * words.len() / 4).rev() {
            for turn in (0..4).rev() {
                self.step(words, 4 * four + turn, turn, u32::wrapping_sub);
            }
        }
    }

    #[inline(always)]
    fn undo(&self, words: &mut [Lanes]) {
        for four in 0..self.cycles * words.len() / 4 {
            for turn in 0..4 {
                self.step(words, 4 * four + turn, turn, u32::wrapping_add);
            }
        }
    }

    /// Changes one word of the ring, which has as many as a sector: a power of two.
    #[inline(always)]
    fn step(&self, words: &mut [Lanes], index: usize, turn: usize, change: impl Fn(u32, u32) -> u32) {
        let at = |step: usize| index.wrapping_add(step) & (words.len() - 1);
        let (here, near, far) = (at(0), words[at(self.near)], words[at(self.far)]);
        for (lane, word) in words[here].iter_mut().enumerate() {
            *word = change(*word, near[lane] ^ far[lane].rotate_left(self.rotations[turn]));
        }
    }
}

/// A word of some sectors side by side, which compilers turn into vectors.
type Lanes = [u32; LANES];

const LANES: usize = 8;

const LARGEST_SECTOR: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hash;
    use crate::block::vectors::hex;

    /// dissect.fve (Fox-IT), tests/test_crypto_elephant.py: SHA-256 of 512 diffused bytes "a".
    #[test]
    fn diffused_letters() {
        for (diffuser, digest) in [
            (A, "f58aa15c1219f893c4ed355d363d8f831bcc0c4a82c6bbffcca321aada9e86ec"),
            (B, "1d5a51ae0d0b6309f1f8661376af9ebd880b1274601f6841f5aaeb5273580133"),
        ] {
            let mut words = [[0x6161_6161; LANES]; 128];
            diffuser.apply(&mut words);
            for lane in 0..LANES {
                let mut sector = [0; 512];
                scatter(&words, lane, &mut sector);
                assert_eq!(Hash::Sha256.digest(&[&sector]), hex(digest));
            }
            diffuser.undo(&mut words);
            assert_eq!(words, [[0x6161_6161; LANES]; 128]);
        }
    }
}
