//! Two elements per register: VPCLMULQDQ on 256-bit registers.

use crate::mode::hctr2::lanes::{Lanes, Product};
use crate::simd::sys::proof;
use core::arch::x86_64::*;

crate::mode::hctr2::sys::define_code!("avx2,pclmulqdq,vpclmulqdq", Ymm);

/// Two elements.
#[derive(Clone, Copy)]
struct Ymm(__m256i);

proof!("avx2,pclmulqdq,vpclmulqdq");

impl Lanes for Ymm {
    type Proof = Proof;
    const BLOCKS: usize = 2;

    #[inline(always)]
    fn load(_: Proof, blocks: &[Block]) -> Self {
        let blocks = &blocks[..Self::BLOCKS];
        // SAFETY: `Proof` shows the features; the blocks are inside the slice.
        unsafe { Self(_mm256_loadu_si256(blocks.as_ptr().cast())) }
    }

    #[inline(always)]
    fn first(_: Proof, block: &Block) -> Self {
        // SAFETY: `Proof` shows the features; one block is read.
        unsafe { Self(_mm256_zextsi128_si256(_mm_loadu_si128(block.as_ptr().cast()))) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm256_xor_si256(self.0, other.0)) }
    }

    #[inline(always)]
    fn multiply(self, other: Self) -> Product<Self> {
        // SAFETY: a value shows the features.
        unsafe {
            let crossed = _mm256_clmulepi64_epi128::<0x01>(self.0, other.0);
            Product {
                low: Self(_mm256_clmulepi64_epi128::<0x00>(self.0, other.0)),
                middle: Self(_mm256_xor_si256(crossed, _mm256_clmulepi64_epi128::<0x10>(self.0, other.0))),
                high: Self(_mm256_clmulepi64_epi128::<0x11>(self.0, other.0)),
            }
        }
    }

    #[inline(always)]
    fn reduce(Product { low, middle, high }: Product<Self>) -> Self {
        // SAFETY: a value shows the features.
        unsafe {
            let low = _mm256_xor_si256(low.0, _mm256_bslli_epi128::<8>(middle.0));
            let high = _mm256_xor_si256(high.0, _mm256_bsrli_epi128::<8>(middle.0));
            // The modulus is 1 + x^64 · (x^57 + x^62 + x^63 + x^64):
            // times a word, it cancels that word.
            let modulus = _mm256_set1_epi64x(0xc2 << 56);
            let swapped = _mm256_shuffle_epi32::<0b01_00_11_10>(low);
            let once = _mm256_xor_si256(swapped, _mm256_clmulepi64_epi128::<0x00>(low, modulus));
            let swapped = _mm256_shuffle_epi32::<0b01_00_11_10>(once);
            let twice = _mm256_xor_si256(swapped, _mm256_clmulepi64_epi128::<0x00>(once, modulus));
            Self(_mm256_xor_si256(high, twice))
        }
    }

    #[inline(always)]
    fn fold(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe {
            let (low, high) = (_mm256_castsi256_si128(self.0), _mm256_extracti128_si256::<1>(self.0));
            Self(_mm256_zextsi128_si256(_mm_xor_si128(low, high)))
        }
    }

    #[inline(always)]
    fn to_block(self) -> Block {
        let mut block = [0; 16];
        // SAFETY: a value shows the features; one block is written.
        unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), _mm256_castsi256_si128(self.0)) }
        block
    }
}
