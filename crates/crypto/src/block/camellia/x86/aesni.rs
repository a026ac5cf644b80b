//! Thirty-two blocks side by side: AVX2 with AES-NI. AESENCLAST inverts in GF(2^8); the maps
//! around it are lookups of nibbles in registers.

use super::linear::{AFTER, BEFORE, INPUT, Linear, OUTPUT, apply, rotate_then, then_rotate};
use crate::block::camellia::bytes::Bytes;
use crate::block::camellia::rounds;
use crate::block::camellia::schedule::{Schedule, Subkeys};
use crate::block::sys::define_code;
use crate::block_cipher::Block;
use crate::chaining::xts;
use crate::simd::sys::{bitwise, proof};
use crate::simd::x86::in_both_halves;
use core::arch::x86_64::*;

define_code! {
    "avx2-aes", "avx2,aes", Schedule, Ymm::BLOCKS, &xts::PORTABLE,
    encrypt(schedule, blocks): all(&schedule.encrypt, blocks),
    decrypt(schedule, blocks): all(&schedule.decrypt, blocks),
}

#[target_feature(enable = "avx2,aes")]
fn all(keys: &Subkeys, blocks: &mut [Block]) {
    rounds::blocks::<Ymm>(Proof::inside(), keys, blocks);
}

/// One byte from each of 32 blocks.
#[derive(Clone, Copy)]
struct Ymm(__m256i);

bitwise!(Ymm, _mm256_and_si256, _mm256_or_si256, _mm256_xor_si256);

proof!("avx2,aes");

impl Bytes for Ymm {
    type Proof = Proof;
    const BLOCKS: usize = 32;

    #[inline(always)]
    fn load(_: Proof, blocks: &[Block], index: usize) -> Self {
        let blocks = &blocks[2 * index..][..2];
        // SAFETY: `Proof` shows the features; a register holds two blocks.
        unsafe { Self(_mm256_loadu_si256(blocks.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store(self, blocks: &mut [Block], index: usize) {
        let blocks = &mut blocks[2 * index..][..2];
        // SAFETY: a value shows the features; a register holds two blocks.
        unsafe { _mm256_storeu_si256(blocks.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn splat(_: Proof, four: u32) -> Self {
        // SAFETY: `Proof` shows the features.
        unsafe { Self(_mm256_set1_epi32(four as i32)) }
    }

    #[inline(always)]
    fn substitute<const BOX: usize>(self) -> Self {
        let input = const {
            let map = if BOX == 4 { rotate_then(&INPUT) } else { INPUT };
            Nibbles::new(&map, apply(&INPUT, BEFORE))
        };
        let output = const {
            // First undo what AESENCLAST does after the inversion: its linear map, and the constant
            // 0x63.
            let by = match BOX {
                2 => 1,
                3 => 7,
                _ => 0,
            };
            let map = compose(&then_rotate(&OUTPUT, by), &FROM_AES);
            Nibbles::new(&map, AFTER.rotate_left(by) ^ apply(&map, 0x63))
        };
        output.apply(invert_with_aes(input.apply(self)))
    }

    #[inline(always)]
    fn shift_in(self, next: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe {
            // Minus one where the next byte's highest bit is set.
            let carried = _mm256_cmpgt_epi8(_mm256_setzero_si256(), next.0);
            Self(_mm256_sub_epi8(_mm256_add_epi8(self.0, self.0), carried))
        }
    }

    #[inline(always)]
    fn interleave(self, other: Self) -> (Self, Self) {
        // SAFETY: a value shows the features.
        unsafe { (Self(_mm256_unpacklo_epi8(self.0, other.0)), Self(_mm256_unpackhi_epi8(self.0, other.0))) }
    }
}

/// SubBytes of each byte (FIPS 197): AESENCLAST with the bytes in the order that its ShiftRows
/// corrects.
#[inline(always)]
fn invert_with_aes(bytes: Ymm) -> Ymm {
    // SAFETY: a value shows the features.
    unsafe {
        let order = in_both_halves(&[0, 13, 10, 7, 4, 1, 14, 11, 8, 5, 2, 15, 12, 9, 6, 3]);
        let shuffled = _mm256_shuffle_epi8(bytes.0, order);
        let low = _mm_aesenclast_si128(_mm256_castsi256_si128(shuffled), _mm_setzero_si128());
        let high = _mm_aesenclast_si128(_mm256_extracti128_si256::<1>(shuffled), _mm_setzero_si128());
        Ymm(_mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high))
    }
}

/// An affine map as two tables, of the lower nibble and of the upper.
#[derive(Clone, Copy)]
struct Nibbles {
    low: [u8; 16],
    high: [u8; 16],
}

impl Nibbles {
    const fn new(map: &Linear, constant: u8) -> Self {
        let mut tables = Self { low: [0; 16], high: [0; 16] };
        let mut nibble = 0;
        while nibble < 16 {
            tables.low[nibble] = apply(map, nibble as u8) ^ constant;
            tables.high[nibble] = apply(map, (nibble as u8) << 4);
            nibble += 1;
        }
        tables
    }

    #[inline(always)]
    fn apply(self, bytes: Ymm) -> Ymm {
        // SAFETY: a value shows the features; one table is read.
        unsafe {
            let nibble = _mm256_set1_epi8(15);
            let low = in_both_halves(&self.low);
            let high = in_both_halves(&self.high);
            let lower = _mm256_shuffle_epi8(low, _mm256_and_si256(bytes.0, nibble));
            let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes.0), nibble);
            Ymm(_mm256_xor_si256(lower, _mm256_shuffle_epi8(high, upper)))
        }
    }
}

/// First `inner`, then `outer`.
const fn compose(outer: &Linear, inner: &Linear) -> Linear {
    let mut map = [0; 8];
    let mut bit = 0;
    while bit < 8 {
        map[bit] = apply(outer, inner[bit]);
        bit += 1;
    }
    map
}

/// The inverse of the linear map in AES's S-box (FIPS 197, section 5.3.2): bits 2, 5 and 7 above
/// each, modulo 8.
const FROM_AES: Linear = {
    let mut map = [0; 8];
    let mut bit = 0;
    while bit < 8 {
        map[bit] = 0x4a_u8.rotate_left(bit as u32);
        bit += 1;
    }
    map
};
