//! Sixty-four blocks side by side: AVX-512 with GFNI, whose inversion
//! with affine maps is an S-box in two instructions.
//!
//! By instruction count, a round takes 22 cycles of the two 512-bit units (8 additions of keys, 16
//! maps, 20 of the linear layer): 24 rounds, three layers of FL and two transpositions make 1.5
//! bytes a cycle.

use super::linear::{AFTER, BEFORE, INPUT, Linear, OUTPUT, apply, rotate_then, then_rotate};
use crate::block::camellia::bytes::Bytes;
use crate::block::camellia::rounds;
use crate::block::camellia::schedule::{Schedule, Subkeys};
use crate::block::sys::define_code;
use crate::block_cipher::Block;
use crate::chaining::xts;
use crate::simd::sys::{bitwise, proof};
use core::arch::x86_64::*;

define_code! {
    "avx512-gfni", "avx512f,avx512bw,gfni", Schedule, Zmm::BLOCKS, &xts::x86::AVX512,
    encrypt(schedule, blocks): all(&schedule.encrypt, blocks),
    decrypt(schedule, blocks): all(&schedule.decrypt, blocks),
}

#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn all(keys: &Subkeys, blocks: &mut [Block]) {
    rounds::blocks::<Zmm>(Proof::inside(), keys, blocks);
}

/// One byte from each of 64 blocks.
#[derive(Clone, Copy)]
struct Zmm(__m512i);

bitwise!(Zmm, _mm512_and_si512, _mm512_or_si512, _mm512_xor_si512);

proof!("avx512f,avx512bw,gfni");

impl Bytes for Zmm {
    type Proof = Proof;
    const BLOCKS: usize = 64;

    #[inline(always)]
    fn load(_: Proof, blocks: &[Block], index: usize) -> Self {
        let blocks = &blocks[4 * index..][..4];
        // SAFETY: `Proof` shows the features; a register holds four blocks.
        unsafe { Self(_mm512_loadu_si512(blocks.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store(self, blocks: &mut [Block], index: usize) {
        let blocks = &mut blocks[4 * index..][..4];
        // SAFETY: a value shows the features; a register holds four blocks.
        unsafe { _mm512_storeu_si512(blocks.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn splat(_: Proof, four: u32) -> Self {
        // SAFETY: `Proof` shows the features.
        unsafe { Self(_mm512_set1_epi32(four as i32)) }
    }

    #[inline(always)]
    fn substitute<const BOX: usize>(self) -> Self {
        const BEFORE_INVERSION: i32 = apply(&INPUT, BEFORE) as i32;
        let input = const { matrix(if BOX == 4 { rotate_then(&INPUT) } else { INPUT }) };
        let output = const {
            matrix(match BOX {
                2 => then_rotate(&OUTPUT, 1),
                3 => then_rotate(&OUTPUT, 7),
                _ => OUTPUT,
            })
        };
        // SAFETY: a value shows the features.
        unsafe {
            let output = _mm512_set1_epi64(output);
            let bytes = _mm512_gf2p8affine_epi64_epi8::<BEFORE_INVERSION>(self.0, _mm512_set1_epi64(input));
            Self(match BOX {
                2 => _mm512_gf2p8affineinv_epi64_epi8::<{ AFTER.rotate_left(1) as i32 }>(bytes, output),
                3 => _mm512_gf2p8affineinv_epi64_epi8::<{ AFTER.rotate_left(7) as i32 }>(bytes, output),
                _ => _mm512_gf2p8affineinv_epi64_epi8::<{ AFTER as i32 }>(bytes, output),
            })
        }
    }

    #[inline(always)]
    fn shift_in(self, next: Self) -> Self {
        // The map that moves the highest bit to the lowest.
        const HIGHEST: i64 = matrix([0, 0, 0, 0, 0, 0, 0, 1]);
        // SAFETY: a value shows the features.
        unsafe {
            let carried = _mm512_gf2p8affine_epi64_epi8::<0>(next.0, _mm512_set1_epi64(HIGHEST));
            Self(_mm512_or_si512(_mm512_add_epi8(self.0, self.0), carried))
        }
    }

    #[inline(always)]
    fn interleave(self, other: Self) -> (Self, Self) {
        // SAFETY: a value shows the features.
        unsafe { (Self(_mm512_unpacklo_epi8(self.0, other.0)), Self(_mm512_unpackhi_epi8(self.0, other.0))) }
    }
}

/// A map as GFNI takes it: the row of output bit i is byte 7 - i.
const fn matrix(map: Linear) -> i64 {
    let mut matrix = 0;
    let mut input = 0;
    while input < 8 {
        let mut output = 0;
        while output < 8 {
            matrix |= ((map[input] >> output) as i64 & 1) << (8 * (7 - output) + input);
            output += 1;
        }
        input += 1;
    }
    matrix
}
