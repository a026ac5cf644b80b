//! Lanes on AVX-512: registers of 512 bits, and with its instructions for
//! rotations and three-way logic also 256 and 128.

use super::{define_lanes, define_pieces};
use crate::Cpu;
use crate::cpu::Feature;
use crate::kdf::pbkdf2::chains::Chain;
use crate::kdf::pbkdf2::lanes::{self, Lanes, MOST_LANES};
use crate::simd::sys::proof;
use core::arch::x86_64::*;

define_lanes! {
    blake2s_16: blake2s::<Words16>, [u32; 8], Avx512, "avx512f,avx512vl";
    blake2s_8: blake2s::<Words8>, [u32; 8], Avx512, "avx512f,avx512vl";
    ripemd160_16: ripemd160::<Words16>, [u32; 5], Avx512, "avx512f,avx512vl";
    ripemd160_8: ripemd160::<Words8>, [u32; 5], Avx512, "avx512f,avx512vl";
    sha1_16: sha1::<Words16>, [u32; 5], Avx512, "avx512f,avx512vl";
    sha1_8: sha1::<Words8>, [u32; 5], Avx512, "avx512f,avx512vl";
    sha1_4: sha1::<Words4>, [u32; 5], Avx512, "avx512f,avx512vl";
    sha256_16: sha256::<Words16, DIGEST>, [u32; 8], Avx512, "avx512f,avx512vl";
    sha256_8: sha256::<Words8, DIGEST>, [u32; 8], Avx512, "avx512f,avx512vl";
    sha512_8: sha512::<Long8, DIGEST>, [u64; 8], Avx512, "avx512f,avx512vl";
    sha512_4: sha512::<Long4, DIGEST>, [u64; 8], Avx512, "avx512f,avx512vl";
}

define_pieces! {
    sha256_pieces_16: Words16, Avx512, "avx512f,avx512vl";
    sha256_pieces_8: Words8, Avx512, "avx512f,avx512vl";
}

proof!("avx512f,avx512vl");

/// A vector: its register and words, and the instructions for loading, storing, broadcasting,
/// adding, exclusive or, three-way logic, rotating and shifting.
macro_rules! lanes {
    ($name:ident, $register:ty, $word:ty, $lanes:literal, $load:ident, $store:ident, $splat:ident, $signed:ty, $add:ident,
     $xor:ident, $logic:ident, $rotate:ident, $shift:ident) => {
        #[derive(Clone, Copy)]
        pub(super) struct $name($register);

        impl Lanes for $name {
            type Proof = Proof;
            type Word = $word;
            const LANES: usize = $lanes;

            #[inline(always)]
            fn load(_: Proof, words: &[$word; MOST_LANES]) -> Self {
                // SAFETY: `Proof` shows the features; the array is at least as long as a register.
                unsafe { Self($load(words.as_ptr().cast())) }
            }

            #[inline(always)]
            fn store(self, words: &mut [$word; MOST_LANES]) {
                // SAFETY: a value shows the features; the array is at least as long as a register.
                unsafe { $store(words.as_mut_ptr().cast(), self.0) }
            }

            #[inline(always)]
            fn splat(_: Proof, word: $word) -> Self {
                // SAFETY: `Proof` shows the features.
                unsafe { Self($splat(word as $signed)) }
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: a value shows the features.
                unsafe { Self($add(self.0, other.0)) }
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                // SAFETY: a value shows the features.
                unsafe { Self($xor(self.0, other.0)) }
            }

            #[inline(always)]
            fn choose(self, yes: Self, no: Self) -> Self {
                // SAFETY: a value shows the features.
                unsafe { Self($logic::<0xca>(self.0, yes.0, no.0)) }
            }

            #[inline(always)]
            fn majority(self, second: Self, third: Self) -> Self {
                // SAFETY: a value shows the features.
                unsafe { Self($logic::<0xe8>(self.0, second.0, third.0)) }
            }

            #[inline(always)]
            fn rotate_right<const BITS: i32>(self) -> Self {
                // SAFETY: a value shows the features.
                unsafe { Self($rotate::<BITS>(self.0)) }
            }

            #[inline(always)]
            fn shift_right<const BITS: i32>(self) -> Self {
                // SAFETY: a value shows the features.
                unsafe { Self($shift(self.0, _mm_cvtsi32_si128(BITS))) }
            }
        }
    };
}

lanes!(
    Words16,
    __m512i,
    u32,
    16,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_set1_epi32,
    i32,
    _mm512_add_epi32,
    _mm512_xor_si512,
    _mm512_ternarylogic_epi32,
    _mm512_ror_epi32,
    _mm512_srl_epi32
);
lanes!(
    Words8,
    __m256i,
    u32,
    8,
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_set1_epi32,
    i32,
    _mm256_add_epi32,
    _mm256_xor_si256,
    _mm256_ternarylogic_epi32,
    _mm256_ror_epi32,
    _mm256_srl_epi32
);
lanes!(
    Words4,
    __m128i,
    u32,
    4,
    _mm_loadu_si128,
    _mm_storeu_si128,
    _mm_set1_epi32,
    i32,
    _mm_add_epi32,
    _mm_xor_si128,
    _mm_ternarylogic_epi32,
    _mm_ror_epi32,
    _mm_srl_epi32
);
lanes!(
    Long8,
    __m512i,
    u64,
    8,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_set1_epi64,
    i64,
    _mm512_add_epi64,
    _mm512_xor_si512,
    _mm512_ternarylogic_epi64,
    _mm512_ror_epi64,
    _mm512_srl_epi64
);
lanes!(
    Long4,
    __m256i,
    u64,
    4,
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_set1_epi64x,
    i64,
    _mm256_add_epi64,
    _mm256_xor_si256,
    _mm256_ternarylogic_epi64,
    _mm256_ror_epi64,
    _mm256_srl_epi64
);
