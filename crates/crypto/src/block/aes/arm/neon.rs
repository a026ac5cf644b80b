//! AES in bit slices on NEON: eight blocks in eight registers, bytes
//! moved by table lookups in a register.

use crate::block::aes::slice::{Plane, Sliced};
use crate::block::aes::sys::define_code;
use crate::block_cipher::{BlockCipher, Cipher128};
use crate::simd::sys::proof;
use core::arch::aarch64::*;

define_code!("neon");

#[target_feature(enable = "neon")]
fn encrypt_blocks(schedule: &Schedule, blocks: &mut [Block]) {
    sliced(Proof::inside(), schedule).encrypt_blocks(blocks);
}

#[target_feature(enable = "neon")]
fn decrypt_blocks(schedule: &Schedule, blocks: &mut [Block]) {
    sliced(Proof::inside(), schedule).decrypt_blocks(blocks);
}

#[target_feature(enable = "neon")]
fn xts_encrypt(schedule: &Schedule, tweaks: &[Block], sector: usize, data: &mut [u8]) {
    sliced(Proof::inside(), schedule).xts_encrypt(tweaks, sector, data);
}

#[target_feature(enable = "neon")]
fn xts_decrypt(schedule: &Schedule, tweaks: &[Block], sector: usize, data: &mut [u8]) {
    sliced(Proof::inside(), schedule).xts_decrypt(tweaks, sector, data);
}

#[target_feature(enable = "neon")]
fn xctr(schedule: &Schedule, starts: &[Block], sector: usize, data: &mut [u8]) {
    sliced(Proof::inside(), schedule).xctr(starts, sector, data);
}

#[target_feature(enable = "neon")]
fn cbc_encrypt(schedule: &Schedule, ivs: &[Block], sector: usize, data: &mut [u8]) {
    sliced(Proof::inside(), schedule).cbc_encrypt(ivs, sector, data);
}

#[target_feature(enable = "neon")]
fn cbc_decrypt(schedule: &Schedule, ivs: &[Block], sector: usize, data: &mut [u8]) {
    sliced(Proof::inside(), schedule).cbc_decrypt(ivs, sector, data);
}

#[inline(always)]
fn sliced(proof: Proof, schedule: &Schedule) -> Sliced<'_, Register> {
    Sliced::new(proof, schedule)
}

/// Sixteen bytes in a register.
#[derive(Clone, Copy)]
struct Register(uint8x16_t);

proof!("neon");

impl Register {
    /// Byte i of the result is byte `from[i]`.
    #[inline(always)]
    fn moved(self, from: &[u8; 16]) -> Self {
        // SAFETY: a value shows the feature; the array holds sixteen bytes.
        unsafe { Self(vqtbl1q_u8(self.0, vld1q_u8(from.as_ptr()))) }
    }
}

impl Plane for Register {
    type Proof = Proof;

    #[inline(always)]
    fn load(_: Proof, block: &Block) -> Self {
        // SAFETY: `Proof` shows the feature; a block is sixteen bytes.
        unsafe { Self(vld1q_u8(block.as_ptr())) }
    }

    #[inline(always)]
    fn store(self, block: &mut Block) {
        // SAFETY: a value shows the feature; a block is sixteen bytes.
        unsafe { vst1q_u8(block.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vandq_u8(self.0, other.0)) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(veorq_u8(self.0, other.0)) }
    }

    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vmvnq_u8(self.0)) }
    }

    #[inline(always)]
    fn masked(self, mask: u8) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vandq_u8(self.0, vdupq_n_u8(mask))) }
    }

    #[inline(always)]
    fn bits_right<const SHIFT: i32>(self, mask: u8) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vandq_u8(vshrq_n_u8::<SHIFT>(self.0), vdupq_n_u8(mask))) }
    }

    #[inline(always)]
    fn bits_left<const SHIFT: i32>(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vshlq_n_u8::<SHIFT>(self.0)) }
    }

    #[inline(always)]
    fn spread<const BIT: i32>(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vtstq_u8(self.0, vdupq_n_u8(1 << BIT))) }
    }

    #[inline(always)]
    fn turn_columns_twice(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vreinterpretq_u8_u16(vrev32q_u16(vreinterpretq_u16_u8(self.0)))) }
    }

    #[inline(always)]
    fn shift_rows(self) -> Self {
        self.moved(&SHIFT_ROWS)
    }

    #[inline(always)]
    fn unshift_rows(self) -> Self {
        self.moved(&UNSHIFT_ROWS)
    }

    #[inline(always)]
    fn turn_columns(self) -> Self {
        self.moved(&TURN_COLUMNS)
    }
}

const SHIFT_ROWS: [u8; 16] = [0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11];
const UNSHIFT_ROWS: [u8; 16] = [0, 13, 10, 7, 4, 1, 14, 11, 8, 5, 2, 15, 12, 9, 6, 3];
const TURN_COLUMNS: [u8; 16] = [1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12];
