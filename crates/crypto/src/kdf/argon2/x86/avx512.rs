//! Eight words per register, and two rows of the block side by side: AVX-512 F, BW, DQ and VL.

use crate::kdf::argon2::lanes::{Fours, Lanes, permute_fours};
use crate::kdf::argon2::sys::define_fill;
use crate::simd::sys::proof;
use core::arch::x86_64::*;

proof!("avx512f,avx512bw,avx512dq,avx512vl");
define_fill!("avx512f,avx512bw,avx512dq,avx512vl", Zmm, 16);

/// Eight words.
#[derive(Clone, Copy)]
struct Zmm(__m512i);

impl Lanes for Zmm {
    type Proof = Proof;
    const WORDS: usize = 8;

    #[inline(always)]
    fn load(_: Proof, words: &[u64]) -> Self {
        // SAFETY: `Proof` shows the features; a register of words is inside the slice.
        unsafe { Self(_mm512_loadu_si512(words[..8].as_ptr().cast())) }
    }

    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        // SAFETY: a value shows the features; a register of words is inside the slice.
        unsafe { _mm512_storeu_si512(words[..8].as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn first(self) -> u64 {
        // SAFETY: a value shows the features.
        unsafe { _mm_cvtsi128_si64(_mm512_castsi512_si128(self.0)) as u64 }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_add_epi64(self.0, other.0)) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_xor_si512(self.0, other.0)) }
    }

    #[inline(always)]
    fn multiply(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_mul_epu32(self.0, other.0)) }
    }

    #[inline(always)]
    fn right_32(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_ror_epi64::<32>(self.0)) }
    }

    #[inline(always)]
    fn right_24(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_ror_epi64::<24>(self.0)) }
    }

    #[inline(always)]
    fn right_16(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_ror_epi64::<16>(self.0)) }
    }

    #[inline(always)]
    fn right_63(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_ror_epi64::<63>(self.0)) }
    }

    #[inline(always)]
    fn slide(self, next: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_alignr_epi8::<8>(next.0, self.0)) }
    }

    #[inline(always)]
    fn permute_rows([a, b, c, d, e, f, g, h]: [Self; 8]) -> [Self; 8] {
        let [a, b, c, d] = two_rows([a, b, c, d]);
        let [e, f, g, h] = two_rows([e, f, g, h]);
        [a, b, c, d, e, f, g, h]
    }
}

impl Fours for Zmm {
    #[inline(always)]
    fn turn_1(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_permutex_epi64::<0x39>(self.0)) }
    }

    #[inline(always)]
    fn turn_2(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_permutex_epi64::<0x4e>(self.0)) }
    }

    #[inline(always)]
    fn turn_3(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_permutex_epi64::<0x93>(self.0)) }
    }
}

/// P on two rows of the block, which lie in two registers each: side by side, a state's row of each
/// in every register.
#[inline(always)]
fn two_rows([a, b, c, d]: [Zmm; 4]) -> [Zmm; 4] {
    // SAFETY: a value shows the features.
    let halves = |x: Zmm, y: Zmm| unsafe {
        (Zmm(_mm512_shuffle_i64x2::<0x44>(x.0, y.0)), Zmm(_mm512_shuffle_i64x2::<0xee>(x.0, y.0)))
    };
    let ((w, x), (y, z)) = (halves(a, c), halves(b, d));
    let [w, x, y, z] = permute_fours([w, x, y, z]);
    let ((a, c), (b, d)) = (halves(w, x), halves(y, z));
    [a, b, c, d]
}
