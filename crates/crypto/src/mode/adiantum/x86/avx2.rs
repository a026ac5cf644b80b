//! Eight words per register: AVX2.

use crate::mode::adiantum::words::Words;
use crate::simd;
use crate::simd::sys::proof;
use crate::simd::x86::in_both_halves;
use core::arch::x86_64::*;

crate::mode::adiantum::sys::define_code!("avx2", "avx2", Ymm);

/// Eight words.
#[derive(Clone, Copy)]
struct Ymm(__m256i);

proof!("avx2");

impl Words for Ymm {
    type Proof = Proof;
    type Sums = Self;
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(_: Proof, word: u32) -> Self {
        // SAFETY: `Proof` shows the feature.
        unsafe { Self(_mm256_set1_epi32(word as i32)) }
    }

    #[inline(always)]
    fn load(_: Proof, words: &[u32]) -> Self {
        let words = &words[..Self::LANES];
        // SAFETY: `Proof` shows the feature; eight words are inside the slice.
        unsafe { Self(_mm256_loadu_si256(words.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store(self, words: &mut [u32]) {
        let words = &mut words[..Self::LANES];
        // SAFETY: a value shows the feature; eight words are inside the slice.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(_mm256_add_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(_mm256_xor_si256(self.0, other.0)) }
    }

    #[inline(always)]
    fn rotate_16(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe {
            let bytes = in_both_halves(&[2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13]);
            Self(_mm256_shuffle_epi8(self.0, bytes))
        }
    }

    #[inline(always)]
    fn rotate_12(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(_mm256_or_si256(_mm256_slli_epi32::<12>(self.0), _mm256_srli_epi32::<20>(self.0))) }
    }

    #[inline(always)]
    fn rotate_8(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe {
            let bytes = in_both_halves(&[3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14]);
            Self(_mm256_shuffle_epi8(self.0, bytes))
        }
    }

    #[inline(always)]
    fn rotate_7(self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe { Self(_mm256_or_si256(_mm256_slli_epi32::<7>(self.0), _mm256_srli_epi32::<25>(self.0))) }
    }

    #[inline(always)]
    fn xor_blocks(stream: [Self; 16], data: &mut [u8]) {
        // Rows of four words become quarters of blocks: lane `n` of row `r`'s
        // register `j` is words 4r.. of block 4n + j.
        let mut rows = [[stream[0]; 4]; 4];
        for (row, words) in rows.iter_mut().zip(stream.as_chunks().0) {
            *row = transpose_words(*words);
        }
        let halves: &mut [[u8; 32]; 16] = data.as_chunks_mut().0.first_chunk_mut().expect("eight blocks");
        for column in 0..4 {
            for pair in 0..2 {
                let (early, late) = (rows[2 * pair][column].0, rows[2 * pair + 1][column].0);
                // SAFETY: a value shows the feature.
                let lanes = unsafe {
                    [
                        _mm256_permute2x128_si256::<0x20>(early, late),
                        _mm256_permute2x128_si256::<0x31>(early, late),
                    ]
                };
                for (lane, words) in lanes.into_iter().enumerate() {
                    let half = &mut halves[2 * (4 * lane + column) + pair];
                    // SAFETY: a value shows the feature; half a block is 32 bytes.
                    unsafe {
                        let mixed = _mm256_xor_si256(_mm256_loadu_si256(half.as_ptr().cast()), words);
                        _mm256_storeu_si256(half.as_mut_ptr().cast(), mixed);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn load_units(_: Proof, units: &[u8]) -> (Self, Self) {
        let [a, b, c, d] = units.as_chunks::<16>().0[..4] else { unreachable!("four units") };
        // SAFETY: `Proof` shows the feature; units are 16 bytes.
        unsafe {
            let unit = |unit: &[u8; 16]| _mm_loadu_si128(unit.as_ptr().cast());
            let ac = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(unit(&a)), unit(&c));
            let bd = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(unit(&b)), unit(&d));
            (Self(_mm256_unpacklo_epi64(ac, bd)), Self(_mm256_unpackhi_epi64(ac, bd)))
        }
    }

    #[inline(always)]
    fn no_sums(_: Proof) -> Self {
        // SAFETY: `Proof` shows the feature.
        unsafe { Self(_mm256_setzero_si256()) }
    }

    #[inline(always)]
    fn multiply_add(self, other: Self, sums: Self) -> Self {
        // SAFETY: a value shows the feature.
        unsafe {
            let low = _mm256_mul_epu32(self.0, other.0);
            // One odd half comes from a shift, the other from a shuffle: they run on different
            // ports.
            let left = _mm256_srli_epi64::<32>(self.0);
            let right = _mm256_shuffle_epi32::<0b11_11_01_01>(other.0);
            let high = _mm256_mul_epu32(left, right);
            Self(_mm256_add_epi64(_mm256_add_epi64(sums.0, low), high))
        }
    }

    #[inline(always)]
    fn totals([a, b, c, d]: [Self; 4]) -> [u64; 4] {
        let mut totals = [0; 4];
        // SAFETY: a value shows the feature; the array is 32 bytes.
        unsafe {
            let ab = _mm256_add_epi64(_mm256_unpacklo_epi64(a.0, b.0), _mm256_unpackhi_epi64(a.0, b.0));
            let cd = _mm256_add_epi64(_mm256_unpacklo_epi64(c.0, d.0), _mm256_unpackhi_epi64(c.0, d.0));
            let low = _mm256_permute2x128_si256::<0x20>(ab, cd);
            let high = _mm256_permute2x128_si256::<0x31>(ab, cd);
            _mm256_storeu_si256(totals.as_mut_ptr().cast(), _mm256_add_epi64(low, high));
        }
        totals
    }
}

/// Transposes four by four words inside each lane of 128 bits.
#[inline(always)]
fn transpose_words(rows: [Ymm; 4]) -> [Ymm; 4] {
    // SAFETY: a value shows the features.
    unsafe { simd::x86::transpose_256(rows.map(|row| row.0)).map(Ymm) }
}
