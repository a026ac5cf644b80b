//! Eight blocks per register set, with two sets side by side: AVX2.

use crate::block::serpent::rounds;
use crate::block::serpent::schedule::Schedule;
use crate::block::serpent::words::{Pair, Words};
use crate::block::sys::define_code;
use crate::block_cipher::Block;
use crate::chaining::xts;
use crate::simd;
use crate::simd::sys::{bitwise, proof};
use core::arch::x86_64::*;
use core::ops::Not;

define_code! {
    "avx2", "avx2", Schedule, 2 * Ymm::BLOCKS, &xts::PORTABLE,
    encrypt(schedule, blocks): rounds::blocks::<Pair<Ymm>, true>(Proof::inside(), schedule, blocks),
    decrypt(schedule, blocks): rounds::blocks::<Pair<Ymm>, false>(Proof::inside(), schedule, blocks),
}

/// 8 words.
#[derive(Clone, Copy)]
struct Ymm(__m256i);

bitwise!(Ymm, _mm256_and_si256, _mm256_or_si256, _mm256_xor_si256);

proof!("avx2");

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
fn transpose(rows: [Ymm; 4]) -> [Ymm; 4] {
    // SAFETY: a value shows the features.
    unsafe { simd::x86::transpose_256(rows.map(|row| row.0)).map(Ymm) }
}

impl Not for Ymm {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_xor_si256(self.0, _mm256_set1_epi32(-1))) }
    }
}
