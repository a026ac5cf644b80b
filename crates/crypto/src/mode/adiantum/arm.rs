//! Four words per register: NEON, which every aarch64 CPU has.

use super::words::Words;
use crate::Cpu;
use crate::cpu::Feature;
use crate::simd;
use crate::simd::sys::proof;
use core::arch::aarch64::*;

super::sys::define_code!("neon", "neon", Quad);

/// The code for `cpu`, unless `cpu` excludes NEON.
pub(super) fn choose(cpu: Cpu) -> Option<&'static Code> {
    cpu.has(Feature::Neon).then_some(&CODE)
}

/// Four words.
#[derive(Clone, Copy)]
struct Quad(uint32x4_t);

proof!("neon");

impl Words for Quad {
    type Proof = Proof;
    type Sums = uint64x2_t;
    const LANES: usize = 4;

    #[inline(always)]
    fn splat(_: Proof, word: u32) -> Self {
        // SAFETY: `Proof` shows the feature.
        unsafe { Self(vdupq_n_u32(word)) }
    }

    #[inline(always)]
    fn load(_: Proof, words: &[u32]) -> Self {
        let words = &words[..Self::LANES];
        // SAFETY: `Proof` shows the feature; four words are inside the slice.
        unsafe { Self(vld1q_u32(words.as_ptr())) }
    }

    #[inline(always)]
    fn store(self, words: &mut [u32]) {
        let words = &mut words[..Self::LANES];
        // SAFETY: a value shows the feature; four words are inside the slice.
        unsafe { vst1q_u32(words.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vaddq_u32(self.0, other.0)) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(veorq_u32(self.0, other.0)) }
    }

    #[inline(always)]
    fn rotate_16(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(self.0)))) }
    }

    #[inline(always)]
    fn rotate_12(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vsriq_n_u32::<20>(vshlq_n_u32::<12>(self.0), self.0)) }
    }

    #[inline(always)]
    fn rotate_8(self) -> Self {
        // SAFETY: a value shows the feature; the table is 16 bytes.
        unsafe {
            let bytes = vld1q_u8(ROTATED_BY_8.as_ptr());
            Self(vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(self.0), bytes)))
        }
    }

    #[inline(always)]
    fn rotate_7(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(vsriq_n_u32::<25>(vshlq_n_u32::<7>(self.0), self.0)) }
    }

    #[inline(always)]
    fn xor_blocks(stream: [Self; 16], data: &mut [u8]) {
        let quarters: &mut [[u8; 16]; 16] = data.as_chunks_mut().0.first_chunk_mut().expect("four blocks");
        for (row, words) in stream.as_chunks().0.iter().enumerate() {
            for (lane, words) in transpose(*words).into_iter().enumerate() {
                let quarter = &mut quarters[4 * lane + row];
                // SAFETY: a value shows the feature; a quarter of a block is 16 bytes.
                unsafe {
                    let mixed = veorq_u8(vld1q_u8(quarter.as_ptr()), vreinterpretq_u8_u32(words.0));
                    vst1q_u8(quarter.as_mut_ptr(), mixed);
                }
            }
        }
    }

    #[inline(always)]
    fn load_units(_: Proof, units: &[u8]) -> (Self, Self) {
        let units = &units[..32];
        // SAFETY: `Proof` shows the feature; 32 bytes are inside the slice.
        unsafe {
            let early = vreinterpretq_u64_u8(vld1q_u8(units.as_ptr()));
            let late = vreinterpretq_u64_u8(vld1q_u8(units[16..].as_ptr()));
            (
                Self(vreinterpretq_u32_u64(vtrn1q_u64(early, late))),
                Self(vreinterpretq_u32_u64(vtrn2q_u64(early, late))),
            )
        }
    }

    #[inline(always)]
    fn no_sums(_: Proof) -> uint64x2_t {
        // SAFETY: `Proof` shows the feature.
        unsafe { vdupq_n_u64(0) }
    }

    #[inline(always)]
    fn multiply_add(self, other: Self, sums: uint64x2_t) -> uint64x2_t {
        // SAFETY: a value shows the feature.
        unsafe {
            let sums = vmlal_u32(sums, vget_low_u32(self.0), vget_low_u32(other.0));
            vmlal_high_u32(sums, self.0, other.0)
        }
    }

    #[inline(always)]
    fn totals(sums: [uint64x2_t; 4]) -> [u64; 4] {
        // SAFETY: sums are made from values, which show the feature.
        sums.map(|sums| unsafe { vaddvq_u64(sums) })
    }
}

/// Transposes four by four words.
#[inline(always)]
fn transpose(rows: [Quad; 4]) -> [Quad; 4] {
    // SAFETY: a value shows the features.
    unsafe { simd::arm::transpose(rows.map(|row| row.0)).map(Quad) }
}

/// The bytes of four words, each word rotated left by eight bits.
static ROTATED_BY_8: [u8; 16] = [3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14];
