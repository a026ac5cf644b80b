//! Two words per register: NEON, which every aarch64 CPU has.

use super::lanes::{Lanes, permute_pairs};
use super::sys::{Fill, define_fill};
use crate::Cpu;
use crate::cpu::Feature;
use crate::simd::sys::proof;
use core::arch::aarch64::*;

/// The code for `cpu`, unless `cpu` excludes NEON.
pub(super) fn choose(cpu: Cpu) -> Option<Fill> {
    cpu.has(Feature::Neon).then_some(FILL)
}

proof!("neon");
define_fill!("neon", Quad, 64);

/// Two words.
#[derive(Clone, Copy)]
struct Quad(uint64x2_t);

impl Lanes for Quad {
    type Proof = Proof;
    const WORDS: usize = 2;

    #[inline(always)]
    fn load(_: Proof, words: &[u64]) -> Self {
        // SAFETY: `Proof` shows the feature; two words are inside the slice.
        unsafe { Self(vld1q_u64(words[..2].as_ptr())) }
    }

    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        // SAFETY: a value shows the feature; two words are inside the slice.
        unsafe { vst1q_u64(words[..2].as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn first(self) -> u64 {
        // SAFETY: a value shows the feature.
        unsafe { vgetq_lane_u64::<0>(self.0) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vaddq_u64(self.0, other.0)) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(veorq_u64(self.0, other.0)) }
    }

    #[inline(always)]
    fn multiply(self, other: Self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vmull_u32(vmovn_u64(self.0), vmovn_u64(other.0))) }
    }

    #[inline(always)]
    fn right_32(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vreinterpretq_u64_u32(vrev64q_u32(vreinterpretq_u32_u64(self.0)))) }
    }

    #[inline(always)]
    fn right_24(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vsriq_n_u64::<24>(vshlq_n_u64::<40>(self.0), self.0)) }
    }

    #[inline(always)]
    fn right_16(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vsriq_n_u64::<16>(vshlq_n_u64::<48>(self.0), self.0)) }
    }

    #[inline(always)]
    fn right_63(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vsriq_n_u64::<63>(vaddq_u64(self.0, self.0), self.0)) }
    }

    #[inline(always)]
    fn slide(self, next: Self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vextq_u64::<1>(self.0, next.0)) }
    }

    /// A row of the block: its word pairs lie as a column's do.
    #[inline(always)]
    fn permute_rows(row: [Self; 8]) -> [Self; 8] {
        permute_pairs(row)
    }
}
