//! One block per register: the AES instructions of ARMv8's cryptography extension.
//!
//! AESE adds its key before SubBytes and ShiftRows, where x86's AESENC adds it after
//! MixColumns. A round in [`Lanes`]'s order is therefore AESE with a zero key, AESMC, and an
//! addition, which the compiler folds into the next AESE.

// `Lanes` cannot name features. Its methods are inlined into functions that have them, and the
// intrinsics in them are inlined there too. Only newer compilers know this lint.
#![allow(unknown_lints, inline_always_mismatching_target_features)]

use crate::block::aes::lanes::{Lanes, WIDEST};
use crate::block::aes::sys::define_wide_code;
use crate::simd::sys::proof;
use core::arch::aarch64::*;

define_wide_code!(Level::ArmCrypto, "neon,aes", Quad, Quad, Proof::inside(), Proof::inside());

/// One block in a 128-bit register.
#[derive(Clone, Copy)]
struct Quad(uint8x16_t);

proof!("neon,aes");

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
