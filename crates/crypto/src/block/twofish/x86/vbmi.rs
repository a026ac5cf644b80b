//! Sixty-four blocks side by side with AVX-512, VBMI and GFNI: no memory access depends on a
//! secret.
//!
//! A word of 64 blocks is four registers. For g they are transposed to registers that each hold the
//! bytes of one position:
//!
//! - S-boxes: a table of 256 bytes is four registers; `vpermb` looks up in each, and masks select
//!   by the upper bits.
//! - MDS: a product with a constant is linear over bits, so it is one `gf2p8affineqb`.
//! - The rotation of g's second input by a byte is only a choice of registers.
//!
//! The transposition back gives words again for the additions modulo 2^32. By instruction count, a
//! round of 64 blocks takes 80 cycles of the two 512-bit units: 0.8 bytes a cycle.

use crate::block::sys::define_code;
use crate::block::twofish::boxes::{MDS, MDS_FIELD, multiply};
use crate::block::twofish::schedule::Schedule;
use crate::block_cipher::Block;
use crate::chaining::xts;
use core::arch::x86_64::*;

define_code! {
    "avx512-gfni", "avx512f,avx512bw,avx512vbmi,gfni", Schedule, BLOCKS, &xts::x86::AVX512,
    encrypt(schedule, blocks): all::<true>(schedule, blocks),
    decrypt(schedule, blocks): all::<false>(schedule, blocks),
}

/// One word of 64 blocks.
type Word = [__m512i; 4];

/// Encrypts or decrypts blocks; the last blocks form a batch padded with zeros.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn all<const ENCRYPT: bool>(schedule: &Schedule, blocks: &mut [Block]) {
    let (batches, rest) = blocks.as_chunks_mut();
    batches.iter_mut().for_each(|batch| run::<ENCRYPT>(schedule, batch));
    if !rest.is_empty() {
        let mut batch = [[0; 16]; BLOCKS];
        batch[..rest.len()].copy_from_slice(rest);
        run::<ENCRYPT>(schedule, &mut batch);
        rest.copy_from_slice(&batch[..rest.len()]);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn run<const ENCRYPT: bool>(schedule: &Schedule, blocks: &mut [Block; BLOCKS]) {
    let (whitening, rounds) = schedule.subkeys.as_chunks::<4>().0.split_at(2);
    let (first, last) = if ENCRYPT { (0, 1) } else { (1, 0) };
    let shuffles = Shuffles::new();
    let [mut a, mut b, mut c, mut d] = load(blocks, &whitening[first]);
    for step in 0..rounds.len() {
        let keys = rounds[if ENCRYPT { step } else { rounds.len() - 1 - step }];
        let (one, two) = ([keys[0], keys[1]], [keys[2], keys[3]]);
        if ENCRYPT {
            (c, d) = round::<ENCRYPT>(schedule, &shuffles, one, (a, b), (c, d));
            (a, b) = round::<ENCRYPT>(schedule, &shuffles, two, (c, d), (a, b));
        } else {
            (c, d) = round::<ENCRYPT>(schedule, &shuffles, two, (a, b), (c, d));
            (a, b) = round::<ENCRYPT>(schedule, &shuffles, one, (c, d), (a, b));
        }
    }
    store([c, d, a, b], &whitening[last], blocks);
}

/// One round: F of the left words into the right ones.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn round<const ENCRYPT: bool>(
    schedule: &Schedule,
    shuffles: &Shuffles,
    keys: [u32; 2],
    left: (Word, Word),
    (mut c, mut d): (Word, Word),
) -> (Word, Word) {
    let boxes = &schedule.boxes;
    let [b0, b1, b2, b3] = shuffles.transpose(left.1);
    let first = g(boxes, shuffles, shuffles.transpose(left.0));
    let second = g(boxes, shuffles, [b3, b0, b1, b2]);
    let keys = keys.map(|key| _mm512_set1_epi32(key as i32));
    for index in 0..4 {
        let sum = _mm512_add_epi32(first[index], second[index]);
        let f0 = _mm512_add_epi32(sum, keys[0]);
        let f1 = _mm512_add_epi32(sum, _mm512_add_epi32(second[index], keys[1]));
        if ENCRYPT {
            c[index] = _mm512_ror_epi32::<1>(_mm512_xor_si512(c[index], f0));
            d[index] = _mm512_xor_si512(_mm512_rol_epi32::<1>(d[index]), f1);
        } else {
            c[index] = _mm512_xor_si512(_mm512_rol_epi32::<1>(c[index]), f0);
            d[index] = _mm512_ror_epi32::<1>(_mm512_xor_si512(d[index], f1));
        }
    }
    (c, d)
}

/// The function g, from bytes of one position each to words.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn g(boxes: &[[u8; 256]; 4], shuffles: &Shuffles, bytes: Word) -> Word {
    let [a, b, c, d] = [
        look_up(&boxes[0], bytes[0]),
        look_up(&boxes[1], bytes[1]),
        look_up(&boxes[2], bytes[2]),
        look_up(&boxes[3], bytes[3]),
    ];
    let (a_5b, b_5b, c_5b, d_5b) = (times_5b(a), times_5b(b), times_5b(c), times_5b(d));
    let (a_ef, b_ef, c_ef, d_ef) = (times_ef(a), times_ef(b), times_ef(c), times_ef(d));
    // The rows of the MDS matrix.
    shuffles.transpose([
        sum(a, b_ef, c_5b, d_5b),
        sum(a_5b, b_ef, c_ef, d),
        sum(a_ef, b_5b, c, d_ef),
        sum(a_ef, b, c_ef, d_5b),
    ])
}

/// Each byte's entry of a table.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn look_up(table: &[u8; 256], bytes: __m512i) -> __m512i {
    let quarter = |index: usize| {
        let quarter = &table[64 * index..][..64];
        // SAFETY: one register is read.
        unsafe { _mm512_loadu_si512(quarter.as_ptr().cast()) }
    };
    // The lower six bits choose within a quarter, the upper two choose the quarter.
    let odd = _mm512_movepi8_mask(_mm512_slli_epi64::<1>(bytes));
    let upper = _mm512_movepi8_mask(bytes);
    let low = _mm512_permutexvar_epi8(bytes, quarter(0));
    let low = _mm512_mask_permutexvar_epi8(low, odd, bytes, quarter(1));
    let high = _mm512_permutexvar_epi8(bytes, quarter(2));
    let high = _mm512_mask_permutexvar_epi8(high, odd, bytes, quarter(3));
    _mm512_mask_blend_epi8(upper, low, high)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sum(a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> __m512i {
    _mm512_xor_si512(_mm512_ternarylogic_epi32::<0x96>(a, b, c), d)
}

#[inline]
#[target_feature(enable = "avx512f,gfni")]
fn times_5b(bytes: __m512i) -> __m512i {
    const MATRIX: i64 = product_with(MDS[0][2]);
    _mm512_gf2p8affine_epi64_epi8::<0>(bytes, _mm512_set1_epi64(MATRIX))
}

#[inline]
#[target_feature(enable = "avx512f,gfni")]
fn times_ef(bytes: __m512i) -> __m512i {
    const MATRIX: i64 = product_with(MDS[0][1]);
    _mm512_gf2p8affine_epi64_epi8::<0>(bytes, _mm512_set1_epi64(MATRIX))
}

/// The product with a constant in the MDS matrix's field as a matrix
/// of bits: the row of output bit i is byte 7 - i.
const fn product_with(constant: u8) -> i64 {
    let mut matrix = 0;
    let mut input = 0;
    while input < 8 {
        let image = multiply(constant, 1 << input, MDS_FIELD);
        let mut output = 0;
        while output < 8 {
            matrix |= ((image >> output) as i64 & 1) << (8 * (7 - output) + input);
            output += 1;
        }
        input += 1;
    }
    matrix
}

/// Moves of bytes inside 32-bit lanes, for [`Shuffles::transpose`].
#[derive(Clone, Copy)]
struct Shuffles {
    one_up: __m512i,
    one_down: __m512i,
    two_up: __m512i,
    two_down: __m512i,
}

impl Shuffles {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new() -> Self {
        // A compiler that knew the constants would turn each masked shuffle into a permutation of
        // two registers, which is three micro-operations.
        let [one_up, one_down, two_up, two_down] = core::hint::black_box([
            0x0e00_0c00_0a00_0800_0600_0400_0200_0000_u128,
            0x000f_000d_000b_0009_0007_0005_0003_0001,
            0x0d0c_0000_0908_0000_0504_0000_0100_0000,
            0x0000_0f0e_0000_0b0a_0000_0706_0000_0302,
        ])
        .map(|control| {
            let [low, high] = [control as i64, (control >> 64) as i64];
            _mm512_set_epi64(high, low, high, low, high, low, high, low)
        });
        Self { one_up, one_down, two_up, two_down }
    }

    /// Transposes the 4×4 bytes that the four registers have in each 32-bit lane: words to bytes of
    /// one position, and back.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn transpose(&self, [a, b, c, d]: Word) -> Word {
        const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        const UPPER: u64 = 0xcccc_cccc_cccc_cccc;
        let ab_even = _mm512_mask_shuffle_epi8(a, ODD, b, self.one_up);
        let ab_odd = _mm512_mask_shuffle_epi8(b, !ODD, a, self.one_down);
        let cd_even = _mm512_mask_shuffle_epi8(c, ODD, d, self.one_up);
        let cd_odd = _mm512_mask_shuffle_epi8(d, !ODD, c, self.one_down);
        [
            _mm512_mask_shuffle_epi8(ab_even, UPPER, cd_even, self.two_up),
            _mm512_mask_shuffle_epi8(ab_odd, UPPER, cd_odd, self.two_up),
            _mm512_mask_shuffle_epi8(cd_even, !UPPER, ab_even, self.two_down),
            _mm512_mask_shuffle_epi8(cd_odd, !UPPER, ab_odd, self.two_down),
        ]
    }
}

/// The four words of the blocks, whitened.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(blocks: &[Block; BLOCKS], whitening: &[u32; 4]) -> [Word; 4] {
    let mut words = [[_mm512_setzero_si512(); 4]; 4];
    for group in 0..4 {
        let rows = [0, 1, 2, 3].map(|row| {
            let blocks = &blocks[16 * group + 4 * row..][..4];
            // SAFETY: a register holds four blocks.
            unsafe { _mm512_loadu_si512(blocks.as_ptr().cast()) }
        });
        for (index, column) in transpose_words(rows).into_iter().enumerate() {
            words[index][group] = _mm512_xor_si512(column, _mm512_set1_epi32(whitening[index] as i32));
        }
    }
    words
}

/// The inverse of [`load`].
#[inline]
#[target_feature(enable = "avx512f")]
fn store(words: [Word; 4], whitening: &[u32; 4], blocks: &mut [Block; BLOCKS]) {
    for group in 0..4 {
        let mut columns = [_mm512_setzero_si512(); 4];
        for index in 0..4 {
            columns[index] =
                _mm512_xor_si512(words[index][group], _mm512_set1_epi32(whitening[index] as i32));
        }
        for (row, register) in transpose_words(columns).into_iter().enumerate() {
            let blocks = &mut blocks[16 * group + 4 * row..][..4];
            // SAFETY: a register holds four blocks.
            unsafe { _mm512_storeu_si512(blocks.as_mut_ptr().cast(), register) }
        }
    }
}

/// Transposes each 4×4 square of 32-bit words: blocks to words of the same position, and back.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose_words([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
    let (ab_high, cd_high) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab, cd),
        _mm512_unpackhi_epi64(ab, cd),
        _mm512_unpacklo_epi64(ab_high, cd_high),
        _mm512_unpackhi_epi64(ab_high, cd_high),
    ]
}

/// Blocks side by side.
const BLOCKS: usize = 64;
