//! Non-repeating data for comparing ciphers and for filling disks. It is not used for keys that
//! protect anything.

use std::hash::{BuildHasher, RandomState};

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// A generator with a different seed in each run.
    pub(crate) fn new() -> Self {
        Self(RandomState::new().hash_one(0))
    }

    /// A generator that yields the same numbers for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.number().to_le_bytes()[..chunk.len()]);
        }
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.fill(&mut bytes);
        bytes
    }

    /// A number from 1 to `most`.
    pub(crate) fn up_to(&mut self, most: usize) -> usize {
        1 + (self.number() % most.max(1) as u64) as usize
    }
}
