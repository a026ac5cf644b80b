//! Sixteen blocks per register set, with two sets side by side: AVX-512 F.
//!
//! By instruction count, a round of sixteen blocks takes 12 cycles of the two 512-bit units: four
//! additions of keys, seven or eight gates, six rotations, two shifts, four sums of three.

use super::ternary::{self, Ternary};
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
    "avx512", "avx512f", Schedule, 2 * Zmm::BLOCKS, &xts::x86::AVX512,
    encrypt(schedule, blocks): rounds::blocks::<Pair<Zmm>, true>(Proof::inside(), schedule, blocks),
    decrypt(schedule, blocks): rounds::blocks::<Pair<Zmm>, false>(Proof::inside(), schedule, blocks),
}

/// 16 words.
#[derive(Clone, Copy)]
struct Zmm(__m512i);

bitwise!(Zmm, _mm512_and_si512, _mm512_or_si512, _mm512_xor_si512);

proof!("avx512f");

impl Words for Zmm {
    type Proof = Proof;
    const BLOCKS: usize = 16;

    #[inline(always)]
    fn load(_: Proof, blocks: &[Block]) -> [Self; 4] {
        let blocks = &blocks[..Self::BLOCKS];
        // SAFETY: `Proof` shows the features; four registers of blocks are inside the slice.
        let rows = [0, 1, 2, 3]
            .map(|index| unsafe { _mm512_loadu_si512(blocks.as_ptr().cast::<__m512i>().add(index)) });
        transpose(rows.map(Self))
    }

    #[inline(always)]
    fn store(words: [Self; 4], blocks: &mut [Block]) {
        let blocks = &mut blocks[..Self::BLOCKS];
        for (index, Self(register)) in transpose(words).into_iter().enumerate() {
            // SAFETY: a value shows the features; four registers of blocks are inside the slice.
            unsafe { _mm512_storeu_si512(blocks.as_mut_ptr().cast::<__m512i>().add(index), register) }
        }
    }

    #[inline(always)]
    fn splat(_: Proof, word: u32) -> Self {
        // SAFETY: `Proof` shows the features.
        unsafe { Self(_mm512_set1_epi32(word as i32)) }
    }

    #[inline(always)]
    fn rotate<const BY: i32, const REST: i32>(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_rol_epi32::<BY>(self.0)) }
    }

    #[inline(always)]
    fn substitute<const BOX: usize>(words: [Self; 4]) -> [Self; 4] {
        ternary::substitute::<Self, BOX>(words)
    }

    #[inline(always)]
    fn restore<const BOX: usize>(words: [Self; 4]) -> [Self; 4] {
        ternary::restore::<Self, BOX>(words)
    }

    #[inline(always)]
    fn shift<const BY: i32>(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_sll_epi32(self.0, _mm_cvtsi32_si128(BY))) }
    }
}

impl Ternary for Zmm {
    #[inline(always)]
    fn gate<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_ternarylogic_epi32::<TABLE>(a.0, b.0, c.0)) }
    }
}

/// Transposes each 4×4 square of words: blocks to words of the same position, and back.
#[inline(always)]
fn transpose(rows: [Zmm; 4]) -> [Zmm; 4] {
    // SAFETY: a value shows the features.
    unsafe { simd::x86::transpose_512(rows.map(|row| row.0)).map(Zmm) }
}

impl Not for Zmm {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_xor_si512(self.0, _mm512_set1_epi32(-1))) }
    }
}
