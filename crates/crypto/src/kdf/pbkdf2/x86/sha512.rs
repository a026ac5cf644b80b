//! SHA-512's chain: rounds on general registers (rorx and andn), the message schedule four words at a time on vectors
//! beside them.
//!
//! One body, compiled twice: with AVX-512VL the compiler makes single instructions of the vector rotations.

use super::super::chains::{Chain, Keyed};
use crate::Cpu;
use crate::cpu::Feature;
use core::arch::x86_64::*;

/// SHA-512's chain. The CPU has AVX2 and BMI2.
pub(in super::super) fn sha512(cpu: Cpu, key: &Keyed<[u64; 8]>, chain: &mut Chain<[u64; 8]>, rounds: u32) {
    assert!(cpu.has(Feature::Avx2) && cpu.has(Feature::Bmi2));
    if cpu.has(Feature::Avx512) {
        // SAFETY: the CPU has AVX2, BMI1, BMI2 and AVX-512 F and VL.
        unsafe { chain_avx512(key, chain, rounds) }
    } else {
        // SAFETY: the CPU has AVX2, BMI1 and BMI2.
        unsafe { chain_avx2(key, chain, rounds) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512vl")]
fn chain_avx512(key: &Keyed<[u64; 8]>, chain: &mut Chain<[u64; 8]>, rounds: u32) {
    // SAFETY: the function has the features.
    unsafe { iterate(key, chain, rounds) }
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn chain_avx2(key: &Keyed<[u64; 8]>, chain: &mut Chain<[u64; 8]>, rounds: u32) {
    // SAFETY: the function has the features.
    unsafe { iterate(key, chain, rounds) }
}

/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn iterate(key: &Keyed<[u64; 8]>, chain: &mut Chain<[u64; 8]>, rounds: u32) {
    for _ in 0..rounds {
        for start in [&key.inner, &key.outer] {
            // SAFETY: by the caller.
            chain.link = unsafe { compress(start, &chain.link) };
        }
        chain.sum.iter_mut().zip(&chain.link).for_each(|(sum, word)| *sum ^= word);
    }
}

/// One compression from `start`: the message is a digest, padding, and a length of 192 bytes.
#[inline(always)]
unsafe fn compress(start: &[u64; 8], digest: &[u64; 8]) -> [u64; 8] {
    // SAFETY: by the caller, the CPU has AVX2; loads and stores stay inside their arrays.
    unsafe {
        let mut message = [
            _mm256_loadu_si256(digest.as_ptr().cast()),
            _mm256_loadu_si256(digest.as_ptr().add(4).cast()),
            _mm256_set_epi64x(0, 0, 0, i64::MIN),
            _mm256_set_epi64x(8 * 192, 0, 0, 0),
        ];
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

/// FIPS 180-4, section 4.2.3.
#[rustfmt::skip]
static K512: [u64; 80] = [
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc,
    0x3956c25bf348b538, 0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118,
    0xd807aa98a3030242, 0x12835b0145706fbe, 0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2,
    0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235, 0xc19bf174cf692694,
    0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5,
    0x983e5152ee66dfab, 0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4,
    0xc6e00bf33da88fc2, 0xd5a79147930aa725, 0x06ca6351e003826f, 0x142929670a0e6e70,
    0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed, 0x53380d139d95b3df,
    0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30,
    0xd192e819d6ef5218, 0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8,
    0x19a4c116b8d2d0c8, 0x1e376c085141ab53, 0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8,
    0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373, 0x682e6ff3d6b2b8a3,
    0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b,
    0xca273eceea26619c, 0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178,
    0x06f067aa72176fba, 0x0a637dc5a2c898a6, 0x113f9804bef90dae, 0x1b710b35131c471b,
    0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc, 0x431d67c49c100d4c,
    0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
];
