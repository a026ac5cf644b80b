//! Sixteen blocks side by side: NEON, which every aarch64 CPU has. An
//! S-box is a table in sixteen registers.

use super::boxes::SBOX1;
use super::bytes::Bytes;
use super::rounds;
use super::schedule::{Schedule, Subkeys};
use crate::Cpu;
use crate::block::bulk::Code;
use crate::block::sys::define_code;
use crate::block_cipher::Block;
use crate::chaining::xts;
use crate::cpu::Feature;
use crate::simd::sys::{bitwise, proof};
use core::arch::aarch64::*;

/// The code for `cpu`, unless `cpu` excludes NEON.
pub(super) fn choose(cpu: Cpu) -> Option<&'static Code<Schedule>> {
    cpu.has(Feature::Neon).then_some(&CODE)
}

define_code! {
    "neon", "neon", Schedule, Quad::BLOCKS, &xts::PORTABLE,
    encrypt(schedule, blocks): all(&schedule.encrypt, blocks),
    decrypt(schedule, blocks): all(&schedule.decrypt, blocks),
}

#[target_feature(enable = "neon")]
fn all(keys: &Subkeys, blocks: &mut [Block]) {
    rounds::blocks::<Quad>(Proof::inside(), keys, blocks);
}

/// One byte from each of sixteen blocks.
#[derive(Clone, Copy)]
struct Quad(uint8x16_t);

bitwise!(Quad, vandq_u8, vorrq_u8, veorq_u8);

proof!("neon");

impl Bytes for Quad {
    type Proof = Proof;
    const BLOCKS: usize = 16;

    #[inline(always)]
    fn load(_: Proof, blocks: &[Block], index: usize) -> Self {
        // SAFETY: `Proof` shows the feature; one block is read.
        unsafe { Self(vld1q_u8(blocks[index].as_ptr())) }
    }

    #[inline(always)]
    fn store(self, blocks: &mut [Block], index: usize) {
        // SAFETY: a value shows the feature; one block is written.
        unsafe { vst1q_u8(blocks[index].as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn splat(_: Proof, four: u32) -> Self {
        // SAFETY: `Proof` shows the feature.
        unsafe { Self(vreinterpretq_u8_u32(vdupq_n_u32(four))) }
    }

    #[inline(always)]
    fn substitute<const BOX: usize>(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe {
            Self(match BOX {
                1 => look_up(self.0),
                2 => rotate::<1, 7>(look_up(self.0)),
                3 => rotate::<7, 1>(look_up(self.0)),
                _ => look_up(rotate::<1, 7>(self.0)),
            })
        }
    }

    #[inline(always)]
    fn shift_in(self, next: Self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vsriq_n_u8::<7>(vshlq_n_u8::<1>(self.0), next.0)) }
    }

    #[inline(always)]
    fn interleave(self, other: Self) -> (Self, Self) {
        // SAFETY: a value shows the feature.
        unsafe { (Self(vzip1q_u8(self.0, other.0)), Self(vzip2q_u8(self.0, other.0))) }
    }
}

/// SBOX1 of each byte: one lookup per quarter of the table; a lookup outside its quarter leaves the
/// byte unchanged.
#[inline]
#[target_feature(enable = "neon")]
fn look_up(bytes: uint8x16_t) -> uint8x16_t {
    let quarter = |index: usize| {
        let quarter = &SBOX1[64 * index..][..64];
        // SAFETY: 64 bytes are read.
        unsafe { vld1q_u8_x4(quarter.as_ptr()) }
    };
    let down = |by: u8| vsubq_u8(bytes, vdupq_n_u8(by));
    let found = vqtbl4q_u8(quarter(0), bytes);
    let found = vqtbx4q_u8(found, quarter(1), down(64));
    let found = vqtbx4q_u8(found, quarter(2), down(128));
    vqtbx4q_u8(found, quarter(3), down(192))
}

/// Rotates each byte left by `BY`, where `REST` is 8 - `BY`.
#[inline]
#[target_feature(enable = "neon")]
fn rotate<const BY: i32, const REST: i32>(bytes: uint8x16_t) -> uint8x16_t {
    vsriq_n_u8::<REST>(vshlq_n_u8::<BY>(bytes), bytes)
}
