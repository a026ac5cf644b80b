//! G on x86-64's vectors: AVX2 (four words) and AVX-512 (eight words).
//!
//! Columns need no shuffling: each 128-bit lane holds the word pair of a column, and only the
//! diagonals move words between the two registers of a state row. Rows take one state row of four
//! words in 256 bits; AVX-512 puts two rows of the block side by side.

use super::Stop;
use super::address::Segment;
use super::compress::{Block, Compress};
use super::sys::{Matrix, fill};
use core::arch::x86_64::*;

/// [`fill`] with AVX-512.
///
/// # Safety
/// As [`fill`]; the CPU has AVX-512 F, BW, DQ and VL.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) unsafe fn fill_avx512(matrix: &Matrix, segments: &[Segment], stop: &Stop) -> bool {
    // SAFETY: guaranteed by the caller.
    unsafe { fill(Avx512(()), matrix, segments, stop) }
}

/// [`fill`] with AVX2.
///
/// # Safety
/// As [`fill`]; the CPU has AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn fill_avx2(matrix: &Matrix, segments: &[Segment], stop: &Stop) -> bool {
    // SAFETY: guaranteed by the caller.
    unsafe { fill(Avx2(()), matrix, segments, stop) }
}

/// The CPU has AVX-512 F, BW, DQ and VL.
#[derive(Clone, Copy)]
struct Avx512(());

/// The CPU has AVX2.
#[derive(Clone, Copy)]
struct Avx2(());

impl Compress for Avx512 {
    #[inline(always)]
    fn compress(
        self,
        previous: &Block,
        reference: &Block,
        out: &mut Block,
        add: bool,
        early: impl FnOnce(u64),
    ) {
        // SAFETY: `self` shows the features.
        unsafe { compress_avx512(previous, reference, out, add, early) }
    }
}

impl Compress for Avx2 {
    #[inline(always)]
    fn compress(
        self,
        previous: &Block,
        reference: &Block,
        out: &mut Block,
        add: bool,
        early: impl FnOnce(u64),
    ) {
        // SAFETY: `self` shows the feature.
        unsafe { compress_avx2(previous, reference, out, add, early) }
    }
}

/// Words in a register.
trait Words: Copy {
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    /// The product of the low halves.
    unsafe fn multiply(self, other: Self) -> Self;
    unsafe fn right_32(self) -> Self;
    unsafe fn right_24(self) -> Self;
    unsafe fn right_16(self) -> Self;
    unsafe fn right_63(self) -> Self;
    /// In each pair: the second word of `self`, then the first of `next`.
    unsafe fn slide(self, next: Self) -> Self;
    /// In each group of four: rotated left by one, two or three words.
    unsafe fn turn_1(self) -> Self;
    unsafe fn turn_2(self) -> Self;
    unsafe fn turn_3(self) -> Self;
}

impl Words for __m512i {
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: by the caller, the CPU has AVX-512.
        unsafe { _mm512_add_epi64(self, other) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: by the caller, the CPU has AVX-512.
        unsafe { _mm512_xor_si512(self, other) }
    }
    #[inline(always)]
    unsafe fn multiply(self, other: Self) -> Self {
        // SAFETY: by the caller, the CPU has AVX-512.
        unsafe { _mm512_mul_epu32(self, other) }
    }
    #[inline(always)]
    unsafe fn right_32(self) -> Self {
        // SAFETY: by the caller, the CPU has AVX-512.
        unsafe { _mm512_ror_epi64::<32>(self) }
    }
    #[inline(always)]
    unsafe fn right_24(self) -> Self {
        // SAFETY: by the caller, the CPU has AVX-512.
        unsafe { _mm512_ror_epi64::<24>(self) }
    }
    #[inline(always)]
    unsafe fn right_16(self) -> Self {
        // SAFETY: by the caller, the CPU has AVX-512.
        unsafe { _mm512_ror_epi64::<16>(self) }
    }
    #[inline(always)]
    unsafe fn right_63(self) -> Self {
        // SAFETY: by the caller, the CPU has AVX-512.
        unsafe { _mm512_ror_epi64::<63>(self) }
    }
    #[inline(always)]
    unsafe fn slide(self, next: Self) -> Self {
        // SAFETY: by the caller, the CPU has AVX-512.
        unsafe { _mm512_alignr_epi8::<8>(next, self) }
    }
    #[inline(always)]
    unsafe fn turn_1(self) -> Self {
        // SAFETY: by the caller, the CPU has AVX-512.
        unsafe { _mm512_permutex_epi64::<0x39>(self) }
    }
    #[inline(always)]
    unsafe fn turn_2(self) -> Self {
        // SAFETY: by the caller, the CPU has AVX-512.
        unsafe { _mm512_permutex_epi64::<0x4e>(self) }
    }
    #[inline(always)]
    unsafe fn turn_3(self) -> Self {
        // SAFETY: by the caller, the CPU has AVX-512.
        unsafe { _mm512_permutex_epi64::<0x93>(self) }
    }
}

impl Words for __m256i {
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: by the caller, the CPU has AVX2.
        unsafe { _mm256_add_epi64(self, other) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: by the caller, the CPU has AVX2.
        unsafe { _mm256_xor_si256(self, other) }
    }
    #[inline(always)]
    unsafe fn multiply(self, other: Self) -> Self {
        // SAFETY: by the caller, the CPU has AVX2.
        unsafe { _mm256_mul_epu32(self, other) }
    }
    #[inline(always)]
    unsafe fn right_32(self) -> Self {
        // SAFETY: by the caller, the CPU has AVX2.
        unsafe { _mm256_shuffle_epi32::<0xb1>(self) }
    }
    #[inline(always)]
    unsafe fn right_24(self) -> Self {
        // SAFETY: by the caller, the CPU has AVX2.
        unsafe {
            let bytes = _mm256_broadcastsi128_si256(_mm_setr_epi8(
                3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10,
            ));
            _mm256_shuffle_epi8(self, bytes)
        }
    }
    #[inline(always)]
    unsafe fn right_16(self) -> Self {
        // SAFETY: by the caller, the CPU has AVX2.
        unsafe {
            let bytes = _mm256_broadcastsi128_si256(_mm_setr_epi8(
                2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9,
            ));
            _mm256_shuffle_epi8(self, bytes)
        }
    }
    #[inline(always)]
    unsafe fn right_63(self) -> Self {
        // SAFETY: by the caller, the CPU has AVX2.
        unsafe { _mm256_xor_si256(_mm256_srli_epi64::<63>(self), _mm256_add_epi64(self, self)) }
    }
    #[inline(always)]
    unsafe fn slide(self, next: Self) -> Self {
        // SAFETY: by the caller, the CPU has AVX2.
        unsafe { _mm256_alignr_epi8::<8>(next, self) }
    }
    #[inline(always)]
    unsafe fn turn_1(self) -> Self {
        // SAFETY: by the caller, the CPU has AVX2.
        unsafe { _mm256_permute4x64_epi64::<0x39>(self) }
    }
    #[inline(always)]
    unsafe fn turn_2(self) -> Self {
        // SAFETY: by the caller, the CPU has AVX2.
        unsafe { _mm256_permute4x64_epi64::<0x4e>(self) }
    }
    #[inline(always)]
    unsafe fn turn_3(self) -> Self {
        // SAFETY: by the caller, the CPU has AVX2.
        unsafe { _mm256_permute4x64_epi64::<0x93>(self) }
    }
}

/// GB on every lane (RFC 9106, 3.6).
#[inline(always)]
unsafe fn mix<W: Words>(a: &mut W, b: &mut W, c: &mut W, d: &mut W) {
    // SAFETY: by the caller, the CPU has what `W` needs.
    unsafe {
        *a = multiply_add(*a, *b);
        *d = d.xor(*a).right_32();
        *c = multiply_add(*c, *d);
        *b = b.xor(*c).right_24();
        *a = multiply_add(*a, *b);
        *d = d.xor(*a).right_16();
        *c = multiply_add(*c, *d);
        *b = b.xor(*c).right_63();
    }
}

#[inline(always)]
unsafe fn multiply_add<W: Words>(x: W, y: W) -> W {
    // SAFETY: by the caller, the CPU has what `W` needs.
    unsafe {
        let product = x.multiply(y);
        x.add(y).add(product.add(product))
    }
}

/// P on states whose rows of four words are whole registers (or halves of them).
#[inline(always)]
unsafe fn permute_rows<W: Words>([mut a, mut b, mut c, mut d]: [W; 4]) -> [W; 4] {
    // SAFETY: by the caller, the CPU has what `W` needs.
    unsafe {
        mix(&mut a, &mut b, &mut c, &mut d);
        (b, c, d) = (b.turn_1(), c.turn_2(), d.turn_3());
        mix(&mut a, &mut b, &mut c, &mut d);
        [a, b.turn_3(), c.turn_2(), d.turn_1()]
    }
}

/// P on states whose word pairs are spread over eight registers, a state in each 128-bit lane.
#[inline(always)]
unsafe fn permute_pairs<W: Words>(
    [mut a, mut e, mut b, mut f, mut c, mut g, mut d, mut h]: [W; 8],
) -> [W; 8] {
    // SAFETY: by the caller, the CPU has what `W` needs.
    unsafe {
        mix(&mut a, &mut b, &mut c, &mut d);
        mix(&mut e, &mut f, &mut g, &mut h);
        (b, f) = (b.slide(f), f.slide(b));
        (c, g) = (g, c);
        (d, h) = (h.slide(d), d.slide(h));
        mix(&mut a, &mut b, &mut c, &mut d);
        mix(&mut e, &mut f, &mut g, &mut h);
        (b, f) = (f.slide(b), b.slide(f));
        (c, g) = (g, c);
        (d, h) = (d.slide(h), h.slide(d));
        [a, e, b, f, c, g, d, h]
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn compress_avx512(previous: &Block, reference: &Block, out: &mut Block, add: bool, early: impl FnOnce(u64)) {
    let old: *const __m512i = previous.0.as_ptr().cast();
    let other: *const __m512i = reference.0.as_ptr().cast();
    let new: *mut __m512i = out.0.as_mut_ptr().cast();
    let mut state = [_mm512_setzero_si512(); 16];
    for (index, words) in state.iter_mut().enumerate() {
        // SAFETY: a block is sixteen registers long and aligned to
        // one; the function has the features.
        unsafe {
            *words = _mm512_xor_si512(_mm512_load_si512(old.add(index)), _mm512_load_si512(other.add(index)));
            let sum = if add { _mm512_xor_si512(*words, _mm512_load_si512(new.add(index))) } else { *words };
            _mm512_store_si512(new.add(index), sum);
        }
    }
    for two in 0..4 {
        let [w, x, y, z] = [state[4 * two], state[4 * two + 1], state[4 * two + 2], state[4 * two + 3]];
        let rows = [
            _mm512_shuffle_i64x2::<0x44>(w, y),
            _mm512_shuffle_i64x2::<0xee>(w, y),
            _mm512_shuffle_i64x2::<0x44>(x, z),
            _mm512_shuffle_i64x2::<0xee>(x, z),
        ];
        // SAFETY: the function has the features.
        let [a, b, c, d] = unsafe { permute_rows(rows) };
        state[4 * two] = _mm512_shuffle_i64x2::<0x44>(a, b);
        state[4 * two + 1] = _mm512_shuffle_i64x2::<0x44>(c, d);
        state[4 * two + 2] = _mm512_shuffle_i64x2::<0xee>(a, b);
        state[4 * two + 3] = _mm512_shuffle_i64x2::<0xee>(c, d);
    }
    // The first four columns give the first word; the last four hide the next reference's latency.
    let mut early = Some(early);
    for half in 0..2 {
        let pairs = [
            state[half],
            state[2 + half],
            state[4 + half],
            state[6 + half],
            state[8 + half],
            state[10 + half],
            state[12 + half],
            state[14 + half],
        ];
        // SAFETY: the function has the features.
        let pairs = unsafe { permute_pairs(pairs) };
        for (row, pair) in pairs.into_iter().enumerate() {
            // SAFETY: a block is sixteen registers long and aligned to
            // one; the function has the features.
            unsafe {
                let place = new.add(2 * row + half);
                let sum = _mm512_xor_si512(_mm512_load_si512(place), pair);
                _mm512_store_si512(place, sum);
                if row == 0
                    && let Some(early) = early.take()
                {
                    early(_mm_cvtsi128_si64(_mm512_castsi512_si128(sum)) as u64);
                }
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn compress_avx2(previous: &Block, reference: &Block, out: &mut Block, add: bool, early: impl FnOnce(u64)) {
    let old: *const __m256i = previous.0.as_ptr().cast();
    let other: *const __m256i = reference.0.as_ptr().cast();
    let new: *mut __m256i = out.0.as_mut_ptr().cast();
    let mut state = [_mm256_setzero_si256(); 32];
    for row in 0..8 {
        let mut words = [_mm256_setzero_si256(); 4];
        for (part, word) in words.iter_mut().enumerate() {
            let index = 4 * row + part;
            // SAFETY: a block is 32 registers long and aligned to
            // one; the function has the feature.
            unsafe {
                *word =
                    _mm256_xor_si256(_mm256_load_si256(old.add(index)), _mm256_load_si256(other.add(index)));
                let sum =
                    if add { _mm256_xor_si256(*word, _mm256_load_si256(new.add(index))) } else { *word };
                _mm256_store_si256(new.add(index), sum);
            }
        }
        // SAFETY: the function has the feature.
        let words = unsafe { permute_rows(words) };
        state[4 * row..4 * row + 4].copy_from_slice(&words);
    }
    let mut early = Some(early);
    for quarter in 0..4 {
        let mut pairs = [_mm256_setzero_si256(); 8];
        for (row, pair) in pairs.iter_mut().enumerate() {
            *pair = state[4 * row + quarter];
        }
        // SAFETY: the function has the feature.
        let pairs = unsafe { permute_pairs(pairs) };
        for (row, pair) in pairs.into_iter().enumerate() {
            // SAFETY: a block is 32 registers long and aligned to
            // one; the function has the feature.
            unsafe {
                let place = new.add(4 * row + quarter);
                let sum = _mm256_xor_si256(_mm256_load_si256(place), pair);
                _mm256_store_si256(place, sum);
                if row == 0
                    && let Some(early) = early.take()
                {
                    early(_mm_cvtsi128_si64(_mm256_castsi256_si128(sum)) as u64);
                }
            }
        }
    }
}
