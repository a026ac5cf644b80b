//! Sixteen words per register: AVX-512.

use crate::mode::adiantum::words::Words;
use crate::simd;
use crate::simd::sys::proof;
use core::arch::x86_64::*;

crate::mode::adiantum::sys::define_code!("avx512", "avx512f,avx512bw,avx512dq,avx512vl", Zmm);

/// Sixteen words.
#[derive(Clone, Copy)]
struct Zmm(__m512i);

proof!("avx512f,avx512bw,avx512dq,avx512vl");

impl Words for Zmm {
    type Proof = Proof;
    type Sums = Self;
    const LANES: usize = 16;

    #[inline(always)]
    fn splat(_: Proof, word: u32) -> Self {
        // SAFETY: `Proof` shows the features.
        unsafe { Self(_mm512_set1_epi32(word as i32)) }
    }

    #[inline(always)]
    fn load(_: Proof, words: &[u32]) -> Self {
        let words = &words[..Self::LANES];
        // SAFETY: `Proof` shows the features; sixteen words are inside the slice.
        unsafe { Self(_mm512_loadu_si512(words.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store(self, words: &mut [u32]) {
        let words = &mut words[..Self::LANES];
        // SAFETY: a value shows the features; sixteen words are inside the slice.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn halves(_: Proof, first: u32, second: u32) -> Self {
        // SAFETY: `Proof` shows the features.
        unsafe { Self(_mm512_mask_set1_epi32(_mm512_set1_epi32(first as i32), 0xff00, second as i32)) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_add_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_xor_si512(self.0, other.0)) }
    }

    #[inline(always)]
    fn rotate_16(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_rol_epi32::<16>(self.0)) }
    }

    #[inline(always)]
    fn rotate_12(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_rol_epi32::<12>(self.0)) }
    }

    #[inline(always)]
    fn rotate_8(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_rol_epi32::<8>(self.0)) }
    }

    #[inline(always)]
    fn rotate_7(self) -> Self {
        // SAFETY: a value shows the features.
        unsafe { Self(_mm512_rol_epi32::<7>(self.0)) }
    }

    #[inline(always)]
    fn xor_blocks(stream: [Self; 16], data: &mut [u8]) {
        // Rows of four words become quarters of blocks: lane `n` of row `r`'s
        // register `j` is words 4r.. of block 4n + j.
        let mut rows = [[stream[0]; 4]; 4];
        for (row, words) in rows.iter_mut().zip(stream.as_chunks().0) {
            *row = transpose_words(*words);
        }
        let blocks: &mut [[u8; 64]; 16] = data.as_chunks_mut().0.first_chunk_mut().expect("sixteen blocks");
        for column in 0..4 {
            let quarters =
                transpose_lanes([rows[0][column], rows[1][column], rows[2][column], rows[3][column]]);
            for (lane, quarter) in quarters.into_iter().enumerate() {
                let block = &mut blocks[4 * lane + column];
                // SAFETY: a value shows the features; a block is 64 bytes.
                unsafe {
                    let mixed = _mm512_xor_si512(_mm512_loadu_si512(block.as_ptr().cast()), quarter.0);
                    _mm512_storeu_si512(block.as_mut_ptr().cast(), mixed);
                }
            }
        }
    }

    #[inline(always)]
    fn load_units(_: Proof, units: &[u8]) -> (Self, Self) {
        let units = &units[..128];
        // SAFETY: `Proof` shows the features; 128 bytes are inside the slice.
        unsafe {
            let early = _mm512_loadu_si512(units.as_ptr().cast());
            let late = _mm512_loadu_si512(units[64..].as_ptr().cast());
            let first = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
            let second = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
            (
                Self(_mm512_permutex2var_epi64(early, first, late)),
                Self(_mm512_permutex2var_epi64(early, second, late)),
            )
        }
    }

    #[inline(always)]
    fn no_sums(_: Proof) -> Self {
        // SAFETY: `Proof` shows the features.
        unsafe { Self(_mm512_setzero_si512()) }
    }

    #[inline(always)]
    fn multiply_add(self, other: Self, sums: Self) -> Self {
        // SAFETY: a value shows the features.
        unsafe {
            let low = _mm512_mul_epu32(self.0, other.0);
            // One odd half comes from a shift, the other from a shuffle: they run on different
            // ports.
            let left = _mm512_srli_epi64::<32>(self.0);
            let right = _mm512_shuffle_epi32::<0b11_11_01_01>(other.0);
            let high = _mm512_mul_epu32(left, right);
            Self(_mm512_add_epi64(_mm512_add_epi64(sums.0, low), high))
        }
    }

    #[inline(always)]
    fn totals([a, b, c, d]: [Self; 4]) -> [u64; 4] {
        let mut totals = [0; 4];
        // SAFETY: a value shows the features; the array is 32 bytes.
        unsafe {
            let ab = _mm512_add_epi64(_mm512_unpacklo_epi64(a.0, b.0), _mm512_unpackhi_epi64(a.0, b.0));
            let cd = _mm512_add_epi64(_mm512_unpacklo_epi64(c.0, d.0), _mm512_unpackhi_epi64(c.0, d.0));
            let even = _mm512_shuffle_i64x2::<0b10_00_10_00>(ab, cd);
            let odd = _mm512_shuffle_i64x2::<0b11_01_11_01>(ab, cd);
            // Lanes of 128 bits: half of (a, b), the other half, half of (c, d), the other half.
            let quarters = _mm512_add_epi64(even, odd);
            let low = _mm512_shuffle_i64x2::<0b00_00_10_00>(quarters, quarters);
            let high = _mm512_shuffle_i64x2::<0b00_00_11_01>(quarters, quarters);
            let sums = _mm512_castsi512_si256(_mm512_add_epi64(low, high));
            _mm256_storeu_si256(totals.as_mut_ptr().cast(), sums);
        }
        totals
    }
}

/// Transposes four by four words inside each lane of 128 bits.
#[inline(always)]
fn transpose_words(rows: [Zmm; 4]) -> [Zmm; 4] {
    // SAFETY: a value shows the features.
    unsafe { simd::x86::transpose_512(rows.map(|row| row.0)).map(Zmm) }
}

/// Transposes four by four lanes of 128 bits.
#[inline(always)]
fn transpose_lanes([a, b, c, d]: [Zmm; 4]) -> [Zmm; 4] {
    // SAFETY: a value shows the features.
    unsafe {
        let ab_low = _mm512_shuffle_i32x4::<0b01_00_01_00>(a.0, b.0);
        let ab_high = _mm512_shuffle_i32x4::<0b11_10_11_10>(a.0, b.0);
        let cd_low = _mm512_shuffle_i32x4::<0b01_00_01_00>(c.0, d.0);
        let cd_high = _mm512_shuffle_i32x4::<0b11_10_11_10>(c.0, d.0);
        [
            Zmm(_mm512_shuffle_i32x4::<0b10_00_10_00>(ab_low, cd_low)),
            Zmm(_mm512_shuffle_i32x4::<0b11_01_11_01>(ab_low, cd_low)),
            Zmm(_mm512_shuffle_i32x4::<0b10_00_10_00>(ab_high, cd_high)),
            Zmm(_mm512_shuffle_i32x4::<0b11_01_11_01>(ab_high, cd_high)),
        ]
    }
}
