//! One block per register: the AES instructions of ARMv8's cryptography extension.
//!
//! AESE adds its key before SubBytes and ShiftRows, where x86's AESENC adds it after
//! MixColumns. A round in [`Lanes`]'s order is therefore AESE with a zero key, AESMC, and an
//! addition, which the compiler folds into the next AESE.

// `Lanes` cannot name features. Its methods are inlined into functions that have them, and the
// intrinsics in them are inlined there too. Only newer compilers know this lint.
#![allow(unknown_lints, inline_always_mismatching_target_features)]

use crate::block::aes::code::Code;
use crate::block::aes::lanes::{Lanes, WIDEST};
use crate::block::aes::schedule::Schedule;
use crate::block::aes::wide;
use crate::block_cipher::Block;
use crate::cpu::Level;
use core::arch::aarch64::*;

/// To be called only on a CPU with NEON and AES instructions.
pub(super) static CODE: Code = Code {
    name: Level::ArmCrypto.name(),
    encrypt_blocks: |schedule, blocks| {
        // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
        unsafe { encrypt_blocks(schedule, blocks) }
    },
    decrypt_blocks: |schedule, blocks| {
        // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
        unsafe { decrypt_blocks(schedule, blocks) }
    },
    xts_encrypt: |schedule, tweaks, sector, data| {
        // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
        unsafe { xts_encrypt(schedule, tweaks, sector, data) }
    },
    xts_decrypt: |schedule, tweaks, sector, data| {
        // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
        unsafe { xts_decrypt(schedule, tweaks, sector, data) }
    },
    xctr: |schedule, starts, sector, data| {
        // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
        unsafe { xctr(schedule, starts, sector, data) }
    },
    cbc_encrypt: |schedule, ivs, sector, data| {
        // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
        unsafe { cbc_encrypt(schedule, ivs, sector, data) }
    },
    cbc_decrypt: |schedule, ivs, sector, data| {
        // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
        unsafe { cbc_decrypt(schedule, ivs, sector, data) }
    },
};

#[target_feature(enable = "neon,aes")]
fn encrypt_blocks(schedule: &Schedule, blocks: &mut [Block]) {
    wide::ecb::<Quad, Quad, true>(Proof::inside(), Proof::inside(), schedule, blocks);
}

#[target_feature(enable = "neon,aes")]
fn decrypt_blocks(schedule: &Schedule, blocks: &mut [Block]) {
    wide::ecb::<Quad, Quad, false>(Proof::inside(), Proof::inside(), schedule, blocks);
}

#[target_feature(enable = "neon,aes")]
fn xts_encrypt(schedule: &Schedule, tweaks: &[Block], sector: usize, data: &mut [u8]) {
    match schedule.rounds {
        10 => wide::xts::<Quad, 10, true>(Proof::inside(), schedule, tweaks, sector, data),
        12 => wide::xts::<Quad, 12, true>(Proof::inside(), schedule, tweaks, sector, data),
        _ => wide::xts::<Quad, 14, true>(Proof::inside(), schedule, tweaks, sector, data),
    }
}

#[target_feature(enable = "neon,aes")]
fn xts_decrypt(schedule: &Schedule, tweaks: &[Block], sector: usize, data: &mut [u8]) {
    match schedule.rounds {
        10 => wide::xts::<Quad, 10, false>(Proof::inside(), schedule, tweaks, sector, data),
        12 => wide::xts::<Quad, 12, false>(Proof::inside(), schedule, tweaks, sector, data),
        _ => wide::xts::<Quad, 14, false>(Proof::inside(), schedule, tweaks, sector, data),
    }
}

#[target_feature(enable = "neon,aes")]
fn xctr(schedule: &Schedule, starts: &[Block], sector: usize, data: &mut [u8]) {
    match schedule.rounds {
        10 => wide::xctr::<Quad, 10>(Proof::inside(), schedule, starts, sector, data),
        12 => wide::xctr::<Quad, 12>(Proof::inside(), schedule, starts, sector, data),
        _ => wide::xctr::<Quad, 14>(Proof::inside(), schedule, starts, sector, data),
    }
}

#[target_feature(enable = "neon,aes")]
fn cbc_encrypt(schedule: &Schedule, ivs: &[Block], sector: usize, data: &mut [u8]) {
    wide::cbc_encrypt::<Quad, Quad>(Proof::inside(), Proof::inside(), schedule, ivs, sector, data);
}

#[target_feature(enable = "neon,aes")]
fn cbc_decrypt(schedule: &Schedule, ivs: &[Block], sector: usize, data: &mut [u8]) {
    wide::cbc_decrypt::<Quad>(Proof::inside(), schedule, ivs, sector, data);
}

/// One block in a 128-bit register.
#[derive(Clone, Copy)]
struct Quad(uint8x16_t);

/// The CPU has NEON and AES instructions.
#[derive(Clone, Copy)]
struct Proof(());

impl Proof {
    /// For functions compiled for these features: they run only on a CPU that has them.
    #[inline]
    #[target_feature(enable = "neon,aes")]
    fn inside() -> Self {
        Self(())
    }
}

impl Lanes for Quad {
    type Proof = Proof;
    const BLOCKS: usize = 1;

    #[inline(always)]
    fn load(_: Proof, blocks: &[Block]) -> Self {
        // SAFETY: `Proof` shows the features; the first block is inside the slice.
        unsafe { Self(vld1q_u8(blocks[0].as_ptr())) }
    }

    #[inline(always)]
    fn store(self, blocks: &mut [Block]) {
        // SAFETY: a value shows the features; the first block is inside the slice.
        unsafe { vst1q_u8(blocks[0].as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn broadcast(proof: Proof, block: &Block) -> Self {
        Self::load(proof, core::slice::from_ref(block))
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(veorq_u8(self.0, other.0)) }
    }

    #[inline(always)]
    fn encrypt_round(self, key: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(veorq_u8(vaesmcq_u8(vaeseq_u8(self.0, vdupq_n_u8(0))), key.0)) }
    }

    #[inline(always)]
    fn encrypt_last(self, key: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(veorq_u8(vaeseq_u8(self.0, vdupq_n_u8(0)), key.0)) }
    }

    #[inline(always)]
    fn decrypt_round(self, key: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(veorq_u8(vaesimcq_u8(vaesdq_u8(self.0, vdupq_n_u8(0))), key.0)) }
    }

    #[inline(always)]
    fn decrypt_last(self, key: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(veorq_u8(vaesdq_u8(self.0, vdupq_n_u8(0)), key.0)) }
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
        // Integer arithmetic on a register pair: only the XTS masks need it.
        let mut bytes = [0u8; 16];
        // SAFETY: a value shows the features; the array holds sixteen bytes.
        unsafe { vst1q_u8(bytes.as_mut_ptr(), self.0) }
        let value = u128::from_le_bytes(bytes);
        let over = if exponent == 0 { 0 } else { (value >> (128 - exponent)) as u64 };
        let folded = u128::from(over);
        let folded = folded ^ (folded << 1) ^ (folded << 2) ^ (folded << 7);
        let bytes = ((value << exponent) ^ folded).to_le_bytes();
        // SAFETY: a value shows the features; the array holds sixteen bytes.
        unsafe { Self(vld1q_u8(bytes.as_ptr())) }
    }

    #[inline(always)]
    fn times_x8(self) -> Self {
        self.times_x(8)
    }

    #[inline(always)]
    fn eight_registers_on(self) -> Self {
        self.times_x8()
    }
}
