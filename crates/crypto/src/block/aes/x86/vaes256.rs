//! Two blocks per register: VAES and VPCLMULQDQ on AVX2's 256-bit registers.

use super::aesni::{Proof as NarrowProof, Xmm};
use crate::block::aes::lanes::{Lanes, WIDEST};
use crate::block::aes::sys::define_wide_code;
use crate::simd::sys::proof;
use crate::simd::x86::in_both_halves;
use core::arch::x86_64::*;

define_wide_code!(
    Level::Vaes256,
    "avx2,aes,ssse3,sse4.1,pclmulqdq,vaes,vpclmulqdq",
    Ymm,
    Xmm,
    Proof::inside(),
    NarrowProof::inside()
);

/// Two blocks.
#[derive(Clone, Copy)]
struct Ymm(__m256i);

proof!("avx2,aes,pclmulqdq,vaes,vpclmulqdq");

impl Lanes for Ymm {
    type Proof = Proof;
    const BLOCKS: usize = 2;

    #[inline(always)]
    fn load(_: Proof, blocks: &[Block]) -> Self {
        let blocks = &blocks[..Self::BLOCKS];
        // SAFETY: `Proof` shows the features; two blocks are inside the slice.
        unsafe { Self(_mm256_loadu_si256(blocks.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store(self, blocks: &mut [Block]) {
        let blocks = &mut blocks[..Self::BLOCKS];
        // SAFETY: a value shows the features; two blocks are inside the slice.
        unsafe { _mm256_storeu_si256(blocks.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn broadcast(_: Proof, block: &Block) -> Self {
        // SAFETY: `Proof` shows the features; one block is read.
        unsafe { Self(in_both_halves(block)) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_xor_si256(self.0, other.0)) }
    }

    #[inline(always)]
    fn encrypt_round(self, key: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_aesenc_epi128(self.0, key.0)) }
    }

    #[inline(always)]
    fn encrypt_last(self, key: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_aesenclast_epi128(self.0, key.0)) }
    }

    #[inline(always)]
    fn decrypt_round(self, key: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_aesdec_epi128(self.0, key.0)) }
    }

    #[inline(always)]
    fn decrypt_last(self, key: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_aesdeclast_epi128(self.0, key.0)) }
    }

    #[inline(always)]
    fn transpose(registers: [Self; WIDEST]) -> [Self; WIDEST] {
        let [a, b, rest @ ..] = registers;
        // SAFETY: values show the features.
        let (low, high) = unsafe {
            (_mm256_permute2x128_si256::<0x20>(a.0, b.0), _mm256_permute2x128_si256::<0x31>(a.0, b.0))
        };
        [Self(low), Self(high), rest[0], rest[1]]
    }

    #[inline(always)]
    fn powers(proof: Proof, tweak: &Block) -> Self {
        // SAFETY: `Proof` shows the features.
        let exponents = unsafe { _mm256_set_epi64x(1, 1, 0, 0) };
        shift(Self::broadcast(proof, tweak), exponents)
    }

    #[inline(always)]
    fn times_x(self, exponent: usize) -> Self {
        // SAFETY: a value shows the features.
        let exponents = unsafe { _mm256_set1_epi64x(exponent as i64) };
        shift(self, exponents)
    }

    #[inline(always)]
    fn times_x8(self) -> Self {
        shift_bytes::<1, 15>(self)
    }

    #[inline(always)]
    fn eight_registers_on(self) -> Self {
        shift_bytes::<2, 14>(self)
    }
}

/// Each lane times x^e: the lane's two halves hold the exponents, each below 64.
#[inline(always)]
fn shift(lanes: Ymm, exponents: __m256i) -> Ymm {
    // SAFETY: a value shows the features.
    unsafe {
        let over = _mm256_srlv_epi64(lanes.0, _mm256_sub_epi64(_mm256_set1_epi64x(64), exponents));
        let shifted = _mm256_or_si256(_mm256_sllv_epi64(lanes.0, exponents), _mm256_slli_si256::<8>(over));
        Ymm(_mm256_xor_si256(shifted, _mm256_clmulepi64_epi128::<0x01>(over, _mm256_set1_epi64x(0x87))))
    }
}

/// Each lane times x^(8 · `BYTES`), where `REST` is 16 - `BYTES`.
#[inline(always)]
fn shift_bytes<const BYTES: i32, const REST: i32>(lanes: Ymm) -> Ymm {
    // SAFETY: a value shows the features.
    unsafe {
        let over = _mm256_srli_si256::<REST>(lanes.0);
        let folded = _mm256_clmulepi64_epi128::<0x00>(over, _mm256_set1_epi64x(0x87));
        Ymm(_mm256_xor_si256(_mm256_slli_si256::<BYTES>(lanes.0), folded))
    }
}
