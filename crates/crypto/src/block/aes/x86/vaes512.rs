//! Four blocks per register: VAES and VPCLMULQDQ on AVX-512's registers.

use super::aesni::{Proof as NarrowProof, Xmm};
use crate::block::aes::lanes::{Lanes, WIDEST};
use crate::block::aes::sys::define_wide_code;
use crate::simd::sys::proof;
use core::arch::x86_64::*;

define_wide_code!(
    Level::Vaes512,
    "avx512f,avx512bw,avx512dq,avx512vl,aes,ssse3,sse4.1,pclmulqdq,vaes,vpclmulqdq",
    Zmm,
    Xmm,
    Proof::inside(),
    NarrowProof::inside()
);

/// Four blocks.
#[derive(Clone, Copy)]
struct Zmm(__m512i);

proof!("avx512f,avx512bw,avx512dq,avx512vl,aes,pclmulqdq,vaes,vpclmulqdq");

impl Lanes for Zmm {
    type Proof = Proof;
    const BLOCKS: usize = 4;

    #[inline(always)]
    fn load(_: Proof, blocks: &[Block]) -> Self {
        let blocks = &blocks[..Self::BLOCKS];
        // SAFETY: `Proof` shows the features; four blocks are inside the slice.
        unsafe { Self(_mm512_loadu_si512(blocks.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store(self, blocks: &mut [Block]) {
        let blocks = &mut blocks[..Self::BLOCKS];
        // SAFETY: a value shows the features; four blocks are inside the slice.
        unsafe { _mm512_storeu_si512(blocks.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn broadcast(_: Proof, block: &Block) -> Self {
        // SAFETY: `Proof` shows the features; one block is read.
        unsafe { Self(_mm512_broadcast_i32x4(_mm_loadu_si128(block.as_ptr().cast()))) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_xor_si512(self.0, other.0)) }
    }

    #[inline(always)]
    fn encrypt_round(self, key: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_aesenc_epi128(self.0, key.0)) }
    }

    #[inline(always)]
    fn encrypt_last(self, key: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_aesenclast_epi128(self.0, key.0)) }
    }

    #[inline(always)]
    fn decrypt_round(self, key: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_aesdec_epi128(self.0, key.0)) }
    }

    #[inline(always)]
    fn decrypt_last(self, key: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_aesdeclast_epi128(self.0, key.0)) }
    }

    #[inline(always)]
    fn transpose(registers: [Self; WIDEST]) -> [Self; WIDEST] {
        let [a, b, c, d] = registers.map(|register| register.0);
        // SAFETY: values show the features.
        unsafe {
            // Lanes 0 and 1 of two registers, then lanes 2 and 3; then the
            // even ones of both, then the odd ones.
            let (ab_low, cd_low) = (_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0x44>(c, d));
            let (ab_high, cd_high) = (_mm512_shuffle_i64x2::<0xee>(a, b), _mm512_shuffle_i64x2::<0xee>(c, d));
            [
                Self(_mm512_shuffle_i64x2::<0x88>(ab_low, cd_low)),
                Self(_mm512_shuffle_i64x2::<0xdd>(ab_low, cd_low)),
                Self(_mm512_shuffle_i64x2::<0x88>(ab_high, cd_high)),
                Self(_mm512_shuffle_i64x2::<0xdd>(ab_high, cd_high)),
            ]
        }
    }

    #[inline(always)]
    fn powers(proof: Proof, tweak: &Block) -> Self {
        // SAFETY: `Proof` shows the features.
        let powers = unsafe { _mm512_set_epi64(0, 1 << 3, 0, 1 << 2, 0, 1 << 1, 0, 1) };
        multiply(Self::broadcast(proof, tweak), powers)
    }

    #[inline(always)]
    fn times_x(self, exponent: usize) -> Self {
        // SAFETY: a value shows the features.
        let power = unsafe { _mm512_set1_epi64(1 << exponent) };
        multiply(self, power)
    }

    #[inline(always)]
    fn times_x8(self) -> Self {
        shift_bytes::<1, 15>(self)
    }

    #[inline(always)]
    fn eight_registers_on(self) -> Self {
        shift_bytes::<4, 12>(self)
    }
}

/// Each lane times the polynomial in the lower half of its lane of `factors`, of degree below 64.
/// Carry-less products run in parallel with AES rounds; bit shifts of this width would take their
/// execution slots (Intel).
#[inline(always)]
fn multiply(lanes: Zmm, factors: __m512i) -> Zmm {
    // SAFETY: a value shows the features.
    unsafe {
        let low = _mm512_clmulepi64_epi128::<0x00>(lanes.0, factors);
        let high = _mm512_clmulepi64_epi128::<0x01>(lanes.0, factors);
        let folded = _mm512_clmulepi64_epi128::<0x01>(high, _mm512_set1_epi64(0x87));
        Zmm(_mm512_ternarylogic_epi64::<0x96>(low, _mm512_bslli_epi128::<8>(high), folded))
    }
}

/// Each lane times x^(8 · `BYTES`), where `REST` is 16 - `BYTES`.
#[inline(always)]
fn shift_bytes<const BYTES: i32, const REST: i32>(lanes: Zmm) -> Zmm {
    // SAFETY: a value shows the features.
    unsafe {
        let over = _mm512_bsrli_epi128::<REST>(lanes.0);
        let folded = _mm512_clmulepi64_epi128::<0x00>(over, _mm512_set1_epi64(0x87));
        Zmm(_mm512_xor_si512(_mm512_bslli_epi128::<BYTES>(lanes.0), folded))
    }
}
