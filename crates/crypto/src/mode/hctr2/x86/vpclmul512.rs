//! Four elements per register: VPCLMULQDQ on AVX-512's registers.

use crate::mode::hctr2::lanes::{Lanes, Product};
use crate::simd::sys::proof;
use core::arch::x86_64::*;

crate::mode::hctr2::sys::define_code!("avx512f,avx512bw,avx512dq,avx512vl,pclmulqdq,vpclmulqdq", Zmm);

/// Four elements.
#[derive(Clone, Copy)]
struct Zmm(__m512i);

proof!("avx512f,avx512bw,avx512dq,avx512vl,pclmulqdq,vpclmulqdq");

impl Lanes for Zmm {
    type Proof = Proof;
    const BLOCKS: usize = 4;

    #[inline(always)]
    fn load(_: Proof, blocks: &[Block]) -> Self {
        let blocks = &blocks[..Self::BLOCKS];
        // SAFETY: `Proof` shows the features; the blocks are inside the slice.
        unsafe { Self(_mm512_loadu_si512(blocks.as_ptr().cast())) }
    }

    #[inline(always)]
    fn first(_: Proof, block: &Block) -> Self {
        // SAFETY: `Proof` shows the features; one block is read.
        unsafe { Self(_mm512_zextsi128_si512(_mm_loadu_si128(block.as_ptr().cast()))) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_xor_si512(self.0, other.0)) }
    }

    #[inline(always)]
    fn multiply(self, other: Self) -> Product<Self> {
        // SAFETY: a value shows the features.
        unsafe {
            let crossed = _mm512_clmulepi64_epi128::<0x01>(self.0, other.0);
            Product {
                low: Self(_mm512_clmulepi64_epi128::<0x00>(self.0, other.0)),
                middle: Self(_mm512_xor_si512(crossed, _mm512_clmulepi64_epi128::<0x10>(self.0, other.0))),
                high: Self(_mm512_clmulepi64_epi128::<0x11>(self.0, other.0)),
            }
        }
    }

    #[inline(always)]
    fn reduce(Product { low, middle, high }: Product<Self>) -> Self {
        // SAFETY: a value shows the features.
        unsafe {
            let low = _mm512_xor_si512(low.0, _mm512_bslli_epi128::<8>(middle.0));
            let high = _mm512_xor_si512(high.0, _mm512_bsrli_epi128::<8>(middle.0));
            // The modulus is 1 + x^64 · (x^57 + x^62 + x^63 + x^64):
            // times a word, it cancels that word.
            let modulus = _mm512_set1_epi64(0xc2 << 56);
            let swapped = _mm512_shuffle_epi32::<0b01_00_11_10>(low);
            let once = _mm512_xor_si512(swapped, _mm512_clmulepi64_epi128::<0x00>(low, modulus));
            let swapped = _mm512_shuffle_epi32::<0b01_00_11_10>(once);
            let twice = _mm512_xor_si512(swapped, _mm512_clmulepi64_epi128::<0x00>(once, modulus));
            Self(_mm512_xor_si512(high, twice))
        }
    }

    #[inline(always)]
    fn fold(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe {
            let (low, high) = (_mm512_castsi512_si256(self.0), _mm512_extracti64x4_epi64::<1>(self.0));
            let half = _mm256_xor_si256(low, high);
            let (low, high) = (_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half));
            Self(_mm512_zextsi128_si512(_mm_xor_si128(low, high)))
        }
    }

    #[inline(always)]
    fn to_block(self) -> Block {
        let mut block = [0; 16];
        // SAFETY: a value shows the features; one block is written.
        unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), _mm512_castsi512_si128(self.0)) }
        block
    }
}
