//! Eight blocks per register set, with two sets side by side: AVX2.

use crate::block::bulk::Code;
use crate::block::serpent::rounds;
use crate::block::serpent::schedule::Schedule;
use crate::block::serpent::words::{Pair, Words};
use crate::block_cipher::Block;
use crate::chaining::xts;
use core::arch::x86_64::*;
use core::ops::{BitAnd, BitOr, BitXor, Not};

/// To be called only on a CPU that has the features this module is compiled for.
pub(super) static CODE: Code<Schedule> = Code {
    name: "avx2",
    parallel: 2 * Ymm::BLOCKS,
    encrypt: |schedule, blocks| {
        // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
        unsafe { encrypt(schedule, blocks) }
    },
    decrypt: |schedule, blocks| {
        // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
        unsafe { decrypt(schedule, blocks) }
    },
    masks: &xts::PORTABLE,
};

#[target_feature(enable = "avx2")]
fn encrypt(schedule: &Schedule, blocks: &mut [Block]) {
    rounds::blocks::<Pair<Ymm>, true>(Proof::inside(), schedule, blocks);
}

#[target_feature(enable = "avx2")]
fn decrypt(schedule: &Schedule, blocks: &mut [Block]) {
    rounds::blocks::<Pair<Ymm>, false>(Proof::inside(), schedule, blocks);
}

/// 8 words.
#[derive(Clone, Copy)]
struct Ymm(__m256i);

/// The CPU has AVX2.
#[derive(Clone, Copy)]
struct Proof(());

impl Proof {
    /// For functions compiled for these features: they run only on a CPU that has them.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn inside() -> Self {
        Self(())
    }
}

impl Words for Ymm {
    type Proof = Proof;
    const BLOCKS: usize = 8;

    #[inline(always)]
    fn load(_: Proof, blocks: &[Block]) -> [Self; 4] {
        let blocks = &blocks[..Self::BLOCKS];
        // SAFETY: `Proof` shows the features; four registers of blocks are inside the slice.
        let rows = [0, 1, 2, 3]
            .map(|index| unsafe { _mm256_loadu_si256(blocks.as_ptr().cast::<__m256i>().add(index)) });
        transpose(rows.map(Self))
    }

    #[inline(always)]
    fn store(words: [Self; 4], blocks: &mut [Block]) {
        let blocks = &mut blocks[..Self::BLOCKS];
        for (index, Self(register)) in transpose(words).into_iter().enumerate() {
            // SAFETY: a value shows the features; four registers of blocks are inside the slice.
            unsafe { _mm256_storeu_si256(blocks.as_mut_ptr().cast::<__m256i>().add(index), register) }
        }
    }

    #[inline(always)]
    fn splat(_: Proof, word: u32) -> Self {
        // SAFETY: `Proof` shows the features.
        unsafe { Self(_mm256_set1_epi32(word as i32)) }
    }

    #[inline(always)]
    fn rotate<const BY: i32, const REST: i32>(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_or_si256(_mm256_slli_epi32::<BY>(self.0), _mm256_srli_epi32::<REST>(self.0))) }
    }

    #[inline(always)]
    fn shift<const BY: i32>(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_sll_epi32(self.0, _mm_cvtsi32_si128(BY))) }
    }
}

/// Transposes each 4×4 square of words: blocks to words of the same position, and back.
#[inline(always)]
fn transpose([a, b, c, d]: [Ymm; 4]) -> [Ymm; 4] {
    // SAFETY: a value shows the features.
    unsafe {
        let (ab, cd) = (_mm256_unpacklo_epi32(a.0, b.0), _mm256_unpacklo_epi32(c.0, d.0));
        let (ab_high, cd_high) = (_mm256_unpackhi_epi32(a.0, b.0), _mm256_unpackhi_epi32(c.0, d.0));
        [
            Ymm(_mm256_unpacklo_epi64(ab, cd)),
            Ymm(_mm256_unpackhi_epi64(ab, cd)),
            Ymm(_mm256_unpacklo_epi64(ab_high, cd_high)),
            Ymm(_mm256_unpackhi_epi64(ab_high, cd_high)),
        ]
    }
}

impl BitAnd for Ymm {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_and_si256(self.0, other.0)) }
    }
}

impl BitOr for Ymm {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_or_si256(self.0, other.0)) }
    }
}

impl BitXor for Ymm {
    type Output = Self;

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_xor_si256(self.0, other.0)) }
    }
}

impl Not for Ymm {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_xor_si256(self.0, _mm256_set1_epi32(-1))) }
    }
}
