//! Four blocks per register set, with two sets side by side: NEON, which every aarch64 CPU has.

use super::rounds;
use super::schedule::Schedule;
use super::words::{Pair, Words};
use crate::Cpu;
use crate::block::bulk::Code;
use crate::block::sys::define_code;
use crate::block_cipher::Block;
use crate::chaining::xts;
use crate::cpu::Feature;
use crate::simd;
use crate::simd::sys::{bitwise, proof};
use core::arch::aarch64::*;
use core::ops::Not;

/// The code for `cpu`, unless `cpu` excludes NEON.
pub(super) fn choose(cpu: Cpu) -> Option<&'static Code<Schedule>> {
    cpu.has(Feature::Neon).then_some(&CODE)
}

define_code! {
    "neon", "neon", Schedule, 2 * Quad::BLOCKS, &xts::PORTABLE,
    encrypt(schedule, blocks): rounds::blocks::<Pair<Quad>, true>(Proof::inside(), schedule, blocks),
    decrypt(schedule, blocks): rounds::blocks::<Pair<Quad>, false>(Proof::inside(), schedule, blocks),
}

/// Four words.
#[derive(Clone, Copy)]
struct Quad(uint32x4_t);

bitwise!(Quad, vandq_u32, vorrq_u32, veorq_u32);

proof!("neon");

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
fn transpose(rows: [Quad; 4]) -> [Quad; 4] {
    // SAFETY: a value shows the features.
    unsafe { simd::arm::transpose(rows.map(|row| row.0)).map(Quad) }
}

impl Not for Quad {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vmvnq_u32(self.0)) }
    }
}
