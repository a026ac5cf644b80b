//! Four words per register: AVX2.

use crate::kdf::argon2::lanes::{Fours, Lanes, permute_fours};
use crate::kdf::argon2::sys::define_fill;
use crate::simd::sys::proof;
use crate::simd::x86::in_both_halves;
use core::arch::x86_64::*;

proof!("avx2");
define_fill!("avx2", Ymm, 32);

/// Four words.
#[derive(Clone, Copy)]
struct Ymm(__m256i);

impl Lanes for Ymm {
    type Proof = Proof;
    const WORDS: usize = 4;

    #[inline(always)]
    fn load(_: Proof, words: &[u64]) -> Self {
        // SAFETY: `Proof` shows the features; a register of words is inside the slice.
        unsafe { Self(_mm256_loadu_si256(words[..4].as_ptr().cast())) }
    }

    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        // SAFETY: a value shows the features; a register of words is inside the slice.
        unsafe { _mm256_storeu_si256(words[..4].as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn first(self) -> u64 {
        // SAFETY: a value shows the features.
        unsafe { _mm_cvtsi128_si64(_mm256_castsi256_si128(self.0)) as u64 }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_add_epi64(self.0, other.0)) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_xor_si256(self.0, other.0)) }
    }

    #[inline(always)]
    fn multiply(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_mul_epu32(self.0, other.0)) }
    }

    #[inline(always)]
    fn right_32(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_shuffle_epi32::<0xb1>(self.0)) }
    }

    #[inline(always)]
    fn right_24(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe {
            Self(_mm256_shuffle_epi8(
                self.0,
                in_both_halves(&[3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10]),
            ))
        }
    }

    #[inline(always)]
    fn right_16(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe {
            Self(_mm256_shuffle_epi8(
                self.0,
                in_both_halves(&[2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9]),
            ))
        }
    }

    #[inline(always)]
    fn right_63(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_xor_si256(_mm256_srli_epi64::<63>(self.0), _mm256_add_epi64(self.0, self.0))) }
    }

    #[inline(always)]
    fn slide(self, next: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_alignr_epi8::<8>(next.0, self.0)) }
    }

    #[inline(always)]
    fn permute_rows([a, b, c, d, e, f, g, h]: [Self; 8]) -> [Self; 8] {
        let ([a, b, c, d], [e, f, g, h]) = (permute_fours([a, b, c, d]), permute_fours([e, f, g, h]));
        [a, b, c, d, e, f, g, h]
    }
}

impl Fours for Ymm {
    #[inline(always)]
    fn turn_1(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_permute4x64_epi64::<0x39>(self.0)) }
    }

    #[inline(always)]
    fn turn_2(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_permute4x64_epi64::<0x4e>(self.0)) }
    }

    #[inline(always)]
    fn turn_3(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_permute4x64_epi64::<0x93>(self.0)) }
    }
}
