//! Four blocks per register set, with two sets side by side: NEON, which every aarch64 CPU has.

use super::rounds;
use super::schedule::Schedule;
use super::words::{Pair, Words};
use crate::Cpu;
use crate::block::bulk::Code;
use crate::block_cipher::Block;
use crate::chaining::xts;
use crate::cpu::Feature;
use core::arch::aarch64::*;
use core::ops::{BitAnd, BitOr, BitXor, Not};

/// The code for `cpu`, unless `cpu` excludes NEON.
pub(super) fn choose(cpu: Cpu) -> Option<&'static Code<Schedule>> {
    cpu.has(Feature::Neon).then_some(&CODE)
}

/// To be called only on a CPU that has NEON.
static CODE: Code<Schedule> = Code {
    name: "neon",
    parallel: 2 * Quad::BLOCKS,
    encrypt: |schedule, blocks| {
        // SAFETY: `choose` hands `CODE` out only for a CPU that has the feature.
        unsafe { encrypt(schedule, blocks) }
    },
    decrypt: |schedule, blocks| {
        // SAFETY: `choose` hands `CODE` out only for a CPU that has the feature.
        unsafe { decrypt(schedule, blocks) }
    },
    masks: &xts::PORTABLE,
};

#[target_feature(enable = "neon")]
fn encrypt(schedule: &Schedule, blocks: &mut [Block]) {
    rounds::blocks::<Pair<Quad>, true>(Proof::inside(), schedule, blocks);
}

#[target_feature(enable = "neon")]
fn decrypt(schedule: &Schedule, blocks: &mut [Block]) {
    rounds::blocks::<Pair<Quad>, false>(Proof::inside(), schedule, blocks);
}

/// Four words.
#[derive(Clone, Copy)]
struct Quad(uint32x4_t);

/// The CPU has NEON.
#[derive(Clone, Copy)]
struct Proof(());

impl Proof {
    /// For functions compiled for NEON: they run only on a CPU that has it.
    #[inline]
    #[target_feature(enable = "neon")]
    fn inside() -> Self {
        Self(())
    }
}

impl Words for Quad {
    type Proof = Proof;
    const BLOCKS: usize = 4;

    #[inline(always)]
    fn load(_: Proof, blocks: &[Block]) -> [Self; 4] {
        let blocks = &blocks[..Self::BLOCKS];
        transpose([0, 1, 2, 3].map(|index| {
            // SAFETY: `Proof` shows the feature; one block is read.
            unsafe { Self(vreinterpretq_u32_u8(vld1q_u8(blocks[index].as_ptr()))) }
        }))
    }

    #[inline(always)]
    fn store(words: [Self; 4], blocks: &mut [Block]) {
        for (block, Self(register)) in blocks[..Self::BLOCKS].iter_mut().zip(transpose(words)) {
            // SAFETY: a value shows the feature; one block is written.
            unsafe { vst1q_u8(block.as_mut_ptr(), vreinterpretq_u8_u32(register)) }
        }
    }

    #[inline(always)]
    fn splat(_: Proof, word: u32) -> Self {
        // SAFETY: `Proof` shows the feature.
        unsafe { Self(vdupq_n_u32(word)) }
    }

    #[inline(always)]
    fn rotate<const BY: i32, const REST: i32>(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vsriq_n_u32::<REST>(vshlq_n_u32::<BY>(self.0), self.0)) }
    }

    #[inline(always)]
    fn shift<const BY: i32>(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vshlq_n_u32::<BY>(self.0)) }
    }
}

/// Transposes the 4×4 square of words: blocks to words of the same position, and back.
#[inline(always)]
fn transpose([a, b, c, d]: [Quad; 4]) -> [Quad; 4] {
    // SAFETY: a value shows the feature.
    unsafe {
        let pairs = |a, b| (vreinterpretq_u64_u32(vtrn1q_u32(a, b)), vreinterpretq_u64_u32(vtrn2q_u32(a, b)));
        let ((ab_even, ab_odd), (cd_even, cd_odd)) = (pairs(a.0, b.0), pairs(c.0, d.0));
        [
            Quad(vreinterpretq_u32_u64(vtrn1q_u64(ab_even, cd_even))),
            Quad(vreinterpretq_u32_u64(vtrn1q_u64(ab_odd, cd_odd))),
            Quad(vreinterpretq_u32_u64(vtrn2q_u64(ab_even, cd_even))),
            Quad(vreinterpretq_u32_u64(vtrn2q_u64(ab_odd, cd_odd))),
        ]
    }
}

impl BitAnd for Quad {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vandq_u32(self.0, other.0)) }
    }
}

impl BitOr for Quad {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vorrq_u32(self.0, other.0)) }
    }
}

impl BitXor for Quad {
    type Output = Self;

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(veorq_u32(self.0, other.0)) }
    }
}

impl Not for Quad {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vmvnq_u32(self.0)) }
    }
}
