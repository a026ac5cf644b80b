//! Four words in an array: the portable reference, which compilers
//! turn into whatever registers there are.

use super::code::Code;
use super::words::Words;
use super::{chacha, nh};

/// The readable reference, for every CPU.
pub(super) static PORTABLE: Code = Code {
    name: "portable",
    hash: |key, sector, data, hashes| nh::hash::<Four>((), key, sector, data, hashes),
    stream: |key, nonces, sector, data| chacha::xor_stream::<Four>((), key, nonces, sector, data),
};

#[derive(Clone, Copy)]
pub(super) struct Four([u32; 4]);

impl Four {
    #[inline(always)]
    fn zip(self, other: Self, with: impl Fn(u32, u32) -> u32) -> Self {
        let (Self([a0, a1, a2, a3]), Self([b0, b1, b2, b3])) = (self, other);
        Self([with(a0, b0), with(a1, b1), with(a2, b2), with(a3, b3)])
    }
}

impl Words for Four {
    type Proof = ();
    type Sums = [u64; 2];
    const LANES: usize = 4;

    #[inline(always)]
    fn splat((): (), word: u32) -> Self {
        Self([word; 4])
    }

    #[inline(always)]
    fn load((): (), words: &[u32]) -> Self {
        Self(*words.first_chunk().expect("four words"))
    }

    #[inline(always)]
    fn store(self, words: &mut [u32]) {
        words[..4].copy_from_slice(&self.0);
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, u32::wrapping_add)
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self.zip(other, |a, b| a ^ b)
    }

    #[inline(always)]
    fn rotate_16(self) -> Self {
        Self(self.0.map(|word| word.rotate_left(16)))
    }

    #[inline(always)]
    fn rotate_12(self) -> Self {
        Self(self.0.map(|word| word.rotate_left(12)))
    }

    #[inline(always)]
    fn rotate_8(self) -> Self {
        Self(self.0.map(|word| word.rotate_left(8)))
    }

    #[inline(always)]
    fn rotate_7(self) -> Self {
        Self(self.0.map(|word| word.rotate_left(7)))
    }

    #[inline(always)]
    fn xor_blocks(stream: [Self; 16], data: &mut [u8]) {
        for (lane, block) in data.as_chunks_mut::<64>().0.iter_mut().enumerate() {
            for (bytes, words) in block.as_chunks_mut().0.iter_mut().zip(&stream) {
                *bytes = (u32::from_le_bytes(*bytes) ^ words.0[lane]).to_le_bytes();
            }
        }
    }

    #[inline(always)]
    fn load_units((): (), units: &[u8]) -> (Self, Self) {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(units.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let [m0, m1, m2, m3, n0, n1, n2, n3] = words;
        (Self([m0, m1, n0, n1]), Self([m2, m3, n2, n3]))
    }

    #[inline(always)]
    fn no_sums((): ()) -> [u64; 2] {
        [0; 2]
    }

    #[inline(always)]
    fn multiply_add(self, other: Self, [low, high]: [u64; 2]) -> [u64; 2] {
        let product = |lane: usize| u64::from(self.0[lane]).wrapping_mul(u64::from(other.0[lane]));
        [
            low.wrapping_add(product(0)).wrapping_add(product(1)),
            high.wrapping_add(product(2)).wrapping_add(product(3)),
        ]
    }

    #[inline(always)]
    fn totals(sums: [[u64; 2]; 4]) -> [u64; 4] {
        sums.map(|[low, high]| low.wrapping_add(high))
    }
}
