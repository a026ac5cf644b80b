//! SHA-512's chain: rounds on general registers (rorx and andn), the message schedule in parallel
//! on vectors, four words at a time.
//!
//! One implementation, compiled twice: with AVX-512VL the compiler turns the vector rotations into
//! single instructions.

use super::super::chains::Chain;
use crate::Cpu;
use crate::cpu::Feature;
use crate::hash::sha2::constants::K512;
use core::arch::x86_64::*;

/// One chain of the SHA-512 whose digest has `DIGEST` words, six or
/// eight. The CPU has AVX2 and BMI2.
pub(super) fn sha512<const DIGEST: usize>(cpu: Cpu, chain: &mut Chain<[u64; 8]>, rounds: u32) -> usize {
    assert!(cpu.has(Feature::Avx2) && cpu.has(Feature::Bmi2));
    if cpu.has(Feature::Avx512) {
        // SAFETY: the CPU has AVX2, BMI1, BMI2 and AVX-512 F and VL.
        unsafe { chain_avx512::<DIGEST>(chain, rounds) }
    } else {
        // SAFETY: the CPU has AVX2, BMI1 and BMI2.
        unsafe { chain_avx2::<DIGEST>(chain, rounds) }
    }
    1
}

#[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512vl")]
fn chain_avx512<const DIGEST: usize>(chain: &mut Chain<[u64; 8]>, rounds: u32) {
    // SAFETY: the function has the features.
    unsafe { iterate::<DIGEST>(chain, rounds) }
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn chain_avx2<const DIGEST: usize>(chain: &mut Chain<[u64; 8]>, rounds: u32) {
    // SAFETY: the function has the features.
    unsafe { iterate::<DIGEST>(chain, rounds) }
}

/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn iterate<const DIGEST: usize>(chain: &mut Chain<[u64; 8]>, rounds: u32) {
    for _ in 0..rounds {
        for start in [&chain.inner, &chain.outer] {
            // SAFETY: guaranteed by the caller.
            chain.link = unsafe { compress::<DIGEST>(start, &chain.link) };
        }
        chain.sum.iter_mut().zip(&chain.link).for_each(|(sum, word)| *sum ^= word);
    }
}

/// One compression from `start`: the message is a digest, padding,
/// and the length of a block and a digest.
#[inline(always)]
unsafe fn compress<const DIGEST: usize>(start: &[u64; 8], digest: &[u64; 8]) -> [u64; 8] {
    // SAFETY: by the caller, the CPU has AVX2; loads and stores stay inside their arrays.
    unsafe {
        let (first, second) = (digest.as_ptr().cast(), digest.as_ptr().add(4).cast());
        let length = _mm256_set_epi64x(8 * (128 + 8 * DIGEST as i64), 0, 0, 0);
        let mut message =
            [_mm256_loadu_si256(first), _mm256_loadu_si256(second), _mm256_setzero_si256(), length];
        if DIGEST == 8 {
            message[2] = _mm256_set_epi64x(0, 0, 0, i64::MIN);
        } else {
            message[1] = _mm256_blend_epi32::<0xf0>(message[1], _mm256_set_epi64x(0, i64::MIN, 0, 0));
        }
        let mut ready = [[0u64; 4]; 4];
        for four in 0..4 {
            store(&mut ready[four], _mm256_add_epi64(message[four], constants(four)));
        }
        let mut state = *start;
        for sixteen in 1..5 {
            // Written out: a loop would keep the message in memory.
            step::<0>(&mut state, &mut message, &mut ready, sixteen);
            step::<1>(&mut state, &mut message, &mut ready, sixteen);
            step::<2>(&mut state, &mut message, &mut ready, sixteen);
            step::<3>(&mut state, &mut message, &mut ready, sixteen);
        }
        for now in &ready {
            four_rounds(&mut state, now);
        }
        for (word, before) in state.iter_mut().zip(start) {
            *word = word.wrapping_add(*before);
        }
        state
    }
}

/// Four rounds, and the schedule of the four that come sixteen later.
#[inline(always)]
unsafe fn step<const FOUR: usize>(
    state: &mut [u64; 8],
    message: &mut [__m256i; 4],
    ready: &mut [[u64; 4]; 4],
    sixteen: usize,
) {
    // SAFETY: by the caller, the CPU has AVX2.
    unsafe {
        let now = ready[FOUR];
        message[FOUR] = schedule(message, FOUR);
        store(&mut ready[FOUR], _mm256_add_epi64(message[FOUR], constants(4 * sixteen + FOUR)));
        four_rounds(state, &now);
    }
}

#[inline(always)]
unsafe fn constants(four: usize) -> __m256i {
    // SAFETY: by the caller, the CPU has AVX2 and `four` is below 20.
    unsafe { _mm256_loadu_si256(K512.as_ptr().add(4 * four).cast()) }
}

#[inline(always)]
unsafe fn store(place: &mut [u64; 4], words: __m256i) {
    // SAFETY: four words are a register long; by the caller, the CPU has AVX2.
    unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), words) }
}

/// The four words after the sixteen in `message`, the oldest of which are in register `oldest`.
#[inline(always)]
unsafe fn schedule(message: &[__m256i; 4], oldest: usize) -> __m256i {
    // SAFETY: by the caller, the CPU has AVX2.
    unsafe {
        let [w0, w4, w8, w12] = [0, 1, 2, 3].map(|later| message[(oldest + later) % 4]);
        let sum = _mm256_add_epi64(_mm256_add_epi64(w0, small_0(next_word(w0, w4))), next_word(w8, w12));
        let low = _mm_add_epi64(_mm256_castsi256_si128(sum), small_1(_mm256_extracti128_si256::<1>(w12)));
        let high = _mm_add_epi64(_mm256_extracti128_si256::<1>(sum), small_1(low));
        _mm256_set_m128i(high, low)
    }
}

/// The four words that start one word into `first`.
#[inline(always)]
unsafe fn next_word(first: __m256i, second: __m256i) -> __m256i {
    // SAFETY: by the caller, the CPU has AVX2.
    unsafe { _mm256_permute4x64_epi64::<0x39>(_mm256_blend_epi32::<0x03>(first, second)) }
}

/// σ_0 of FIPS 180-4.
#[inline(always)]
unsafe fn small_0(x: __m256i) -> __m256i {
    // SAFETY: by the caller, the CPU has AVX2.
    unsafe {
        let by_1 = _mm256_or_si256(_mm256_srli_epi64::<1>(x), _mm256_slli_epi64::<63>(x));
        let by_8 = _mm256_or_si256(_mm256_srli_epi64::<8>(x), _mm256_slli_epi64::<56>(x));
        _mm256_xor_si256(_mm256_xor_si256(by_1, by_8), _mm256_srli_epi64::<7>(x))
    }
}

/// σ_1 of FIPS 180-4.
#[inline(always)]
unsafe fn small_1(x: __m128i) -> __m128i {
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        let by_19 = _mm_or_si128(_mm_srli_epi64::<19>(x), _mm_slli_epi64::<45>(x));
        let by_61 = _mm_or_si128(_mm_srli_epi64::<61>(x), _mm_slli_epi64::<3>(x));
        _mm_xor_si128(_mm_xor_si128(by_19, by_61), _mm_srli_epi64::<6>(x))
    }
}

/// Four rounds; the state's words move along by four.
#[inline(always)]
fn four_rounds(state: &mut [u64; 8], ready: &[u64; 4]) {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    round(a, b, c, &mut d, e, f, g, &mut h, ready[0]);
    round(h, a, b, &mut c, d, e, f, &mut g, ready[1]);
    round(g, h, a, &mut b, c, d, e, &mut f, ready[2]);
    round(f, g, h, &mut a, b, c, d, &mut e, ready[3]);
    *state = [e, f, g, h, a, b, c, d];
}

/// A round without moving the words: `h` becomes the new a, `d` the new e.
#[allow(clippy::too_many_arguments, clippy::many_single_char_names)] // The letters of FIPS 180-4, 6.4.2.
#[inline(always)]
fn round(a: u64, b: u64, c: u64, d: &mut u64, e: u64, f: u64, g: u64, h: &mut u64, ready: u64) {
    let large_1 = e.rotate_right(14) ^ e.rotate_right(18) ^ e.rotate_right(41);
    let choice = (e & f).wrapping_add(!e & g);
    let first = h.wrapping_add(ready).wrapping_add(choice).wrapping_add(large_1);
    let large_0 = a.rotate_right(28) ^ a.rotate_right(34) ^ a.rotate_right(39);
    let majority = b ^ ((a ^ b) & (b ^ c));
    *d = d.wrapping_add(first);
    *h = first.wrapping_add(majority).wrapping_add(large_0);
}
