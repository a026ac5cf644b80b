//! One element per register: PMULL, the ARMv8 cryptography extension's carry-less multiplication.

// `Lanes` cannot name features. Its methods are inlined into functions that have them, and the
// intrinsics in them are inlined there too. Only newer compilers know this lint.
#![allow(unknown_lints, inline_always_mismatching_target_features)]

use super::lanes::{Lanes, Product};
use crate::Cpu;
use crate::cpu::Feature;
use crate::simd::sys::proof;
use core::arch::aarch64::*;

super::sys::define_code!("neon,aes", Quad);

/// The code for `cpu`, if it has the extension.
pub(super) fn choose(cpu: Cpu) -> Option<&'static Code> {
    cpu.has(Feature::ArmAes).then_some(&CODE)
}

/// One element.
#[derive(Clone, Copy)]
struct Quad(uint64x2_t);

proof!("neon,aes");

impl Lanes for Quad {
    type Proof = Proof;
    const BLOCKS: usize = 1;

    #[inline(always)]
    fn load(proof: Proof, blocks: &[Block]) -> Self {
        Self::first(proof, &blocks[0])
    }

    #[inline(always)]
    fn first(_: Proof, block: &Block) -> Self {
        // SAFETY: `Proof` shows the features; one block is read.
        unsafe { Self(vreinterpretq_u64_u8(vld1q_u8(block.as_ptr()))) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(veorq_u64(self.0, other.0)) }
    }

    #[inline(always)]
    fn multiply(self, other: Self) -> Product<Self> {
        // SAFETY: a value shows the features.
        let swapped = unsafe { vextq_u64::<1>(other.0, other.0) };
        Product {
            low: low_product(self, other.0),
            middle: low_product(self, swapped).xor(high_product(self, swapped)),
            high: high_product(self, other.0),
        }
    }

    #[inline(always)]
    fn reduce(Product { low, middle, high }: Product<Self>) -> Self {
        // SAFETY: a value shows the features.
        unsafe {
            let zero = vdupq_n_u64(0);
            let low = veorq_u64(low.0, vextq_u64::<1>(zero, middle.0));
            let high = veorq_u64(high.0, vextq_u64::<1>(middle.0, zero));
            // The modulus is 1 + x^64 · (x^57 + x^62 + x^63 + x^64):
            // times a word, it cancels that word.
            let modulus = vdupq_n_u64(0xc2 << 56);
            let once = veorq_u64(vextq_u64::<1>(low, low), low_product(Self(low), modulus).0);
            let twice = veorq_u64(vextq_u64::<1>(once, once), low_product(Self(once), modulus).0);
            Self(veorq_u64(high, twice))
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
        unsafe { vst1q_u8(block.as_mut_ptr(), vreinterpretq_u8_u64(self.0)) }
        block
    }
}

/// The product of the lower words.
#[inline(always)]
fn low_product(a: Quad, b: uint64x2_t) -> Quad {
    // SAFETY: a value shows the features.
    unsafe { Quad(vreinterpretq_u64_p128(vmull_p64(vgetq_lane_u64::<0>(a.0), vgetq_lane_u64::<0>(b)))) }
}

/// The product of the upper words.
#[inline(always)]
fn high_product(a: Quad, b: uint64x2_t) -> Quad {
    // SAFETY: a value shows the features.
    unsafe {
        let (a, b) = (vreinterpretq_p64_u64(a.0), vreinterpretq_p64_u64(b));
        Quad(vreinterpretq_u64_p128(vmull_high_p64(a, b)))
    }
}
