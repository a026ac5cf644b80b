//! One element per register: PCLMULQDQ.

use crate::mode::hctr2::lanes::{Lanes, Product};
use crate::simd::sys::proof;
use core::arch::x86_64::*;

crate::mode::hctr2::sys::define_code!("sse4.1,ssse3,pclmulqdq", Xmm);

/// One element.
#[derive(Clone, Copy)]
struct Xmm(__m128i);

proof!("sse4.1,ssse3,pclmulqdq");

impl Lanes for Xmm {
    type Proof = Proof;
    const BLOCKS: usize = 1;

    #[inline(always)]
    fn load(_: Proof, blocks: &[Block]) -> Self {
        let blocks = &blocks[..Self::BLOCKS];
        // SAFETY: `Proof` shows the features; the blocks are inside the slice.
        unsafe { Self(_mm_loadu_si128(blocks.as_ptr().cast())) }
    }

    #[inline(always)]
    fn first(_: Proof, block: &Block) -> Self {
        // SAFETY: `Proof` shows the features; one block is read.
        unsafe { Self(_mm_loadu_si128(block.as_ptr().cast())) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm_xor_si128(self.0, other.0)) }
    }

    #[inline(always)]
    fn multiply(self, other: Self) -> Product<Self> {
        // SAFETY: a value shows the features.
        unsafe {
            let crossed = _mm_clmulepi64_si128::<0x01>(self.0, other.0);
            Product {
                low: Self(_mm_clmulepi64_si128::<0x00>(self.0, other.0)),
                middle: Self(_mm_xor_si128(crossed, _mm_clmulepi64_si128::<0x10>(self.0, other.0))),
                high: Self(_mm_clmulepi64_si128::<0x11>(self.0, other.0)),
            }
        }
    }

    #[inline(always)]
    fn reduce(Product { low, middle, high }: Product<Self>) -> Self {
        // SAFETY: a value shows the features.
        unsafe {
            let low = _mm_xor_si128(low.0, _mm_slli_si128::<8>(middle.0));
            let high = _mm_xor_si128(high.0, _mm_srli_si128::<8>(middle.0));
            // The modulus is 1 + x^64 · (x^57 + x^62 + x^63 + x^64):
            // times a word, it cancels that word.
            let modulus = _mm_set1_epi64x(0xc2 << 56);
            let swapped = _mm_shuffle_epi32::<0b01_00_11_10>(low);
            let once = _mm_xor_si128(swapped, _mm_clmulepi64_si128::<0x00>(low, modulus));
            let swapped = _mm_shuffle_epi32::<0b01_00_11_10>(once);
            let twice = _mm_xor_si128(swapped, _mm_clmulepi64_si128::<0x00>(once, modulus));
            Self(_mm_xor_si128(high, twice))
        }
    }

    #[inline(always)]
    fn fold(self) -> Self {
        self
    }

    #[inline(always)]
    fn to_block(self) -> Block {
        let mut block = [0; 16];
        // SAFETY: a value shows the features; one block is written.
        unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), self.0) }
        block
    }
}
