//! One block per register: AES-NI, with PCLMULQDQ for XTS's masks.

use crate::block::aes::lanes::{Lanes, WIDEST};
use crate::block::aes::sys::define_wide_code;
use crate::simd::sys::proof;
use core::arch::x86_64::*;

define_wide_code!(Level::AesNi, "aes,ssse3,sse4.1,pclmulqdq", Xmm, Xmm, Proof::inside(), Proof::inside());

/// One block.
#[derive(Clone, Copy)]
pub(super) struct Xmm(__m128i);

proof!("aes,ssse3,sse4.1,pclmulqdq");

impl Lanes for Xmm {
    type Proof = Proof;
    const BLOCKS: usize = 1;

    #[inline(always)]
    fn load(_: Proof, blocks: &[Block]) -> Self {
        // SAFETY: `Proof` shows the features; the first block is inside the slice.
        unsafe { Self(_mm_loadu_si128(blocks[0].as_ptr().cast())) }
    }

    #[inline(always)]
    fn store(self, blocks: &mut [Block]) {
        // SAFETY: a value shows the features; the first block is inside the slice.
        unsafe { _mm_storeu_si128(blocks[0].as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn broadcast(proof: Proof, block: &Block) -> Self {
        Self::load(proof, core::slice::from_ref(block))
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm_xor_si128(self.0, other.0)) }
    }

    #[inline(always)]
    fn encrypt_round(self, key: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm_aesenc_si128(self.0, key.0)) }
    }

    #[inline(always)]
    fn encrypt_last(self, key: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm_aesenclast_si128(self.0, key.0)) }
    }

    #[inline(always)]
    fn decrypt_round(self, key: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm_aesdec_si128(self.0, key.0)) }
    }

    #[inline(always)]
    fn decrypt_last(self, key: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm_aesdeclast_si128(self.0, key.0)) }
    }

    #[inline(always)]
    fn transpose(registers: [Self; WIDEST]) -> [Self; WIDEST] {
        registers
    }

    #[inline(always)]
    fn powers(proof: Proof, tweak: &Block) -> Self {
        Self::broadcast(proof, tweak)
    }

    #[inline(always)]
    fn times_x(self, exponent: usize) -> Self {
        // SAFETY: a value shows the features.
        unsafe {
            let count = _mm_cvtsi64_si128(exponent as i64);
            let over = _mm_srl_epi64(self.0, _mm_cvtsi64_si128(64 - exponent as i64));
            let shifted = _mm_or_si128(_mm_sll_epi64(self.0, count), _mm_slli_si128::<8>(over));
            Self(_mm_xor_si128(shifted, _mm_clmulepi64_si128::<0x01>(over, _mm_set1_epi64x(0x87))))
        }
    }

    #[inline(always)]
    fn times_x8(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe {
            let over = _mm_srli_si128::<15>(self.0);
            let folded = _mm_clmulepi64_si128::<0x00>(over, _mm_set1_epi64x(0x87));
            Self(_mm_xor_si128(_mm_slli_si128::<1>(self.0), folded))
        }
    }

    #[inline(always)]
    fn eight_registers_on(self) -> Self {
        self.times_x8()
    }
}
