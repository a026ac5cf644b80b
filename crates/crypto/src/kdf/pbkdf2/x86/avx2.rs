//! Lanes on AVX2: registers of 256 bits; rotations are two shifts, choose and majority take two or
//! three steps.

use super::{define_lanes, define_pieces};
use crate::Cpu;
use crate::cpu::Feature;
use crate::kdf::pbkdf2::chains::Chain;
use crate::kdf::pbkdf2::lanes::{self, Lanes, MOST_LANES};
use crate::simd::sys::proof;
use core::arch::x86_64::*;

define_lanes! {
    blake2s_8: blake2s::<Words8>, [u32; 8], Avx2, "avx2";
    ripemd160_8: ripemd160::<Words8>, [u32; 5], Avx2, "avx2";
    sha1_8: sha1::<Words8>, [u32; 5], Avx2, "avx2";
    sha256_8: sha256::<Words8, DIGEST>, [u32; 8], Avx2, "avx2";
    sha512_4: sha512::<Long4, DIGEST>, [u64; 8], Avx2, "avx2";
}

define_pieces! {
    sha256_pieces_8: Words8, Avx2, "avx2";
}

proof!("avx2");

/// A vector: its words, and the instructions for broadcasting, adding and shifting.
macro_rules! lanes {
    ($name:ident, $word:ty, $lanes:literal, $splat:ident, $signed:ty, $add:ident, $right:ident, $left:ident) => {
        #[derive(Clone, Copy)]
        pub(super) struct $name(__m256i);

        impl Lanes for $name {
            type Proof = Proof;
            type Word = $word;
            const LANES: usize = $lanes;

            #[inline(always)]
            fn load(_: Proof, words: &[$word; MOST_LANES]) -> Self {
                // SAFETY: `Proof` shows AVX2; the array is at least as long as a register.
                unsafe { Self(_mm256_loadu_si256(words.as_ptr().cast())) }
            }

            #[inline(always)]
            fn store(self, words: &mut [$word; MOST_LANES]) {
                // SAFETY: a value shows AVX2; the array is at least as long as a register.
                unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), self.0) }
            }

            #[inline(always)]
            fn splat(_: Proof, word: $word) -> Self {
                // SAFETY: `Proof` shows AVX2.
                unsafe { Self($splat(word as $signed)) }
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: a value shows AVX2.
                unsafe { Self($add(self.0, other.0)) }
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                // SAFETY: a value shows AVX2.
                unsafe { Self(_mm256_xor_si256(self.0, other.0)) }
            }

            #[inline(always)]
            fn choose(self, yes: Self, no: Self) -> Self {
                // SAFETY: a value shows AVX2.
                unsafe {
                    Self(_mm256_xor_si256(no.0, _mm256_and_si256(self.0, _mm256_xor_si256(yes.0, no.0))))
                }
            }

            #[inline(always)]
            fn majority(self, second: Self, third: Self) -> Self {
                let (a, b, c) = (self.0, second.0, third.0);
                // SAFETY: a value shows AVX2.
                unsafe {
                    let differ = _mm256_and_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(b, c));
                    Self(_mm256_xor_si256(differ, b))
                }
            }

            #[inline(always)]
            fn rotate_right<const BITS: i32>(self) -> Self {
                let others = <$word>::BITS as i32 - BITS;
                // SAFETY: a value shows AVX2.
                unsafe {
                    let low = $right(self.0, _mm_cvtsi32_si128(BITS));
                    Self(_mm256_or_si256(low, $left(self.0, _mm_cvtsi32_si128(others))))
                }
            }

            #[inline(always)]
            fn shift_right<const BITS: i32>(self) -> Self {
                // SAFETY: a value shows AVX2.
                unsafe { Self($right(self.0, _mm_cvtsi32_si128(BITS))) }
            }
        }
    };
}

lanes!(Words8, u32, 8, _mm256_set1_epi32, i32, _mm256_add_epi32, _mm256_srl_epi32, _mm256_sll_epi32);
lanes!(Long4, u64, 4, _mm256_set1_epi64x, i64, _mm256_add_epi64, _mm256_srl_epi64, _mm256_sll_epi64);
