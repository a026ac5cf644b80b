//! Whirlpool's chain (ISO/IEC 10118-3, dedicated hash-function 7) without
//! tables in memory: the 64-byte state is one register.
//!
//! The S-box is three 4-bit boxes, which are byte shuffles; the column shift is a byte permutation;
//! the rows are multiplied by constants of GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1, which are
//! GFNI's affine maps.
//!
//! In PBKDF2 each hash covers a digest after the key's block: one compression for the digest and
//! one for the padding.

use super::super::chains::{Chain, Words};
use crate::Cpu;
use crate::cpu::Feature;
use crate::hash::whirlpool::{
    Bytes, EXPONENTIAL, INVERSE, PADDING, RANDOM, ROUND_CONSTANTS, State, multiply,
};
use core::arch::x86_64::*;

/// Whirlpool's chain. The CPU has AVX-512 with VBMI, and GFNI.
pub(in super::super) fn whirlpool(cpu: Cpu, chain: &mut Chain<State>, rounds: u32) {
    assert!(cpu.has(Feature::Gfni));
    // SAFETY: the CPU has the features.
    unsafe { iterate(chain, rounds) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn iterate(chain: &mut Chain<State>, rounds: u32) {
    let boxes = Boxes::new();
    let padding = load(&PADDING);
    let starts = [words(&chain.inner), words(&chain.outer)];
    let (mut link, mut sum) = (words(&chain.link), words(&chain.sum));
    for _ in 0..rounds {
        for start in starts {
            let middle = compression(&boxes, start, link);
            link = compression(&boxes, middle, padding);
        }
        sum = _mm512_xor_si512(sum, link);
    }
    for (state, register) in [(&mut chain.link, link), (&mut chain.sum, sum)] {
        let mut bytes = [0; 64];
        store(&mut bytes, register);
        *state = State::read(&bytes);
    }
}

/// The constants of a round, in registers.
struct Boxes {
    exponential: __m512i,
    inverse: __m512i,
    random: __m512i,
    columns: __m512i,
    multiply: [__m512i; 5],
}

impl Boxes {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    fn new() -> Self {
        // SAFETY: a mini-box is sixteen bytes, the permutation a register long.
        unsafe {
            let four_times =
                |table: &[u8; 16]| _mm512_broadcast_i32x4(_mm_loadu_si128(table.as_ptr().cast()));
            Self {
                exponential: four_times(&EXPONENTIAL),
                inverse: four_times(&INVERSE),
                random: four_times(&RANDOM),
                columns: load(&SHIFT_COLUMNS),
                multiply: MULTIPLIERS.map(|matrix| _mm512_set1_epi64(matrix)),
            }
        }
    }
}

/// H' = W_K(block) ^ H ^ block with key K = H.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn compression(boxes: &Boxes, state: __m512i, block: __m512i) -> __m512i {
    let mut key = state;
    let mut text = _mm512_xor_si512(state, block);
    for constant in &ROUND_CONSTANTS {
        let constant = _mm512_zextsi128_si512(_mm_cvtsi64_si128(constant.swap_bytes() as i64));
        key = _mm512_xor_si512(round(boxes, key), constant);
        text = _mm512_xor_si512(round(boxes, text), key);
    }
    _mm512_ternarylogic_epi64::<0x96>(text, state, block)
}

/// SubBytes, ShiftColumns and MixRows.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn round(boxes: &Boxes, state: __m512i) -> __m512i {
    let nibble = _mm512_set1_epi8(0x0f);
    let high = _mm512_and_si512(_mm512_srli_epi16::<4>(state), nibble);
    let high = _mm512_shuffle_epi8(boxes.exponential, high);
    let low = _mm512_shuffle_epi8(boxes.inverse, _mm512_and_si512(state, nibble));
    let random = _mm512_shuffle_epi8(boxes.random, _mm512_xor_si512(high, low));
    let high = _mm512_shuffle_epi8(boxes.exponential, _mm512_xor_si512(high, random));
    let low = _mm512_shuffle_epi8(boxes.inverse, _mm512_xor_si512(low, random));
    let substituted = _mm512_or_si512(_mm512_slli_epi16::<4>(high), low);

    let x = _mm512_permutexvar_epi8(boxes.columns, substituted);
    let [x2, x4, x5, x8, x9] = boxes.multiply.map(|matrix| _mm512_gf2p8affine_epi64_epi8::<0>(x, matrix));
    // Row times cir(1, 1, 4, 1, 8, 5, 2, 9).
    let first = _mm512_ternarylogic_epi64::<0x96>(x, _mm512_rol_epi64::<8>(x), _mm512_rol_epi64::<24>(x));
    let second = _mm512_xor_si512(_mm512_rol_epi64::<16>(x4), _mm512_rol_epi64::<32>(x8));
    let third = _mm512_xor_si512(_mm512_rol_epi64::<48>(x2), _mm512_rol_epi64::<56>(x9));
    let fourth = _mm512_ternarylogic_epi64::<0x96>(_mm512_rol_epi64::<40>(x5), second, third);
    _mm512_xor_si512(first, fourth)
}

/// A state's words, their highest byte first.
#[inline]
#[target_feature(enable = "avx512f")]
fn words(state: &State) -> __m512i {
    let mut bytes = [0; 64];
    state.write(&mut bytes);
    load(&bytes)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &Bytes) -> __m512i {
    // SAFETY: 64 bytes are a register long.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(bytes: &mut Bytes, register: __m512i) {
    // SAFETY: 64 bytes are a register long.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), register) }
}

/// The source of each byte: column j moves down by j rows.
const SHIFT_COLUMNS: Bytes = {
    let mut from = [0; 64];
    let mut at = 0;
    while at < 64 {
        let (row, column) = (at / 8, at % 8);
        from[at] = ((row + 8 - column) % 8 * 8 + column) as u8;
        at += 1;
    }
    from
};

/// Affine maps of GFNI that multiply by 2, 4, 5, 8 and 9.
const MULTIPLIERS: [i64; 5] = [multiplier(2), multiplier(4), multiplier(5), multiplier(8), multiplier(9)];

/// Bit i of the product is the parity of the byte ANDed with byte 7 - i of the matrix.
const fn multiplier(factor: u8) -> i64 {
    let mut matrix = [0u8; 8];
    let mut bit = 0;
    while bit < 8 {
        let product = multiply(1 << bit, factor);
        let mut row = 0;
        while row < 8 {
            matrix[7 - row] |= (product >> row & 1) << bit;
            row += 1;
        }
        bit += 1;
    }
    i64::from_le_bytes(matrix)
}
