//! SHA-1 and SHA-256 on the SHA extensions, two chains side by side: one alone is bound by the
//! latency of the round instructions, which take a new pair every cycle or two.
//!
//! Digests stay in registers: the state after the outer hash is the message of the next inner one.

use super::super::chains::Chain;
use crate::Cpu;
use crate::cpu::Feature;
use crate::hash::sha2::constants::K256;
use core::arch::x86_64::*;

/// Iterates the first one or two chains of SHA-256 and returns how many. The CPU has the SHA
/// extensions.
pub(super) fn sha256(cpu: Cpu, chains: &mut [Chain<[u32; 8]>], rounds: u32) -> usize {
    assert!(cpu.has(Feature::ShaNi));
    if let Some(pair) = chains.first_chunk_mut::<2>() {
        // SAFETY: the CPU has the SHA extensions, SSSE3 and SSE4.1.
        unsafe { sha256_pair(pair, rounds) };
        return 2;
    }
    // SAFETY: as above.
    chains.first_chunk_mut::<1>().map_or(0, |single| unsafe { sha256_single(single, rounds) })
}

/// Iterates the first one or two chains of SHA-1 and returns how many. The CPU has the SHA
/// extensions.
pub(super) fn sha1(cpu: Cpu, chains: &mut [Chain<[u32; 5]>], rounds: u32) -> usize {
    assert!(cpu.has(Feature::ShaNi));
    if let Some(pair) = chains.first_chunk_mut::<2>() {
        // SAFETY: the CPU has the SHA extensions, SSSE3 and SSE4.1.
        unsafe { sha1_pair(pair, rounds) };
        return 2;
    }
    // SAFETY: as above.
    chains.first_chunk_mut::<1>().map_or(0, |single| unsafe { sha1_single(single, rounds) })
}

#[target_feature(enable = "sha,ssse3,sse4.1")]
fn sha256_pair(chains: &mut [Chain<[u32; 8]>; 2], rounds: u32) {
    // SAFETY: the function has the features.
    unsafe { sha256_chains(chains, rounds) }
}

#[target_feature(enable = "sha,ssse3,sse4.1")]
fn sha256_single(chains: &mut [Chain<[u32; 8]>; 1], rounds: u32) -> usize {
    // SAFETY: the function has the features.
    unsafe { sha256_chains(chains, rounds) };
    1
}

#[target_feature(enable = "sha,ssse3,sse4.1")]
fn sha1_pair(chains: &mut [Chain<[u32; 5]>; 2], rounds: u32) {
    // SAFETY: the function has the features.
    unsafe { sha1_chains(chains, rounds) }
}

#[target_feature(enable = "sha,ssse3,sse4.1")]
fn sha1_single(chains: &mut [Chain<[u32; 5]>; 1], rounds: u32) -> usize {
    // SAFETY: the function has the features.
    unsafe { sha1_chains(chains, rounds) };
    1
}

/// `N` chains side by side.
///
/// # Safety
/// The CPU has the SHA extensions, SSSE3 and SSE4.1.
#[inline(always)]
unsafe fn sha256_chains<const N: usize>(chains: &mut [Chain<[u32; 8]>; N], rounds: u32) {
    // SAFETY: by the caller; loads and stores stay inside the arrays.
    unsafe {
        let starts: [[_; N]; 2] = [
            core::array::from_fn(|lane| sha256_load(&chains[lane].inner)),
            core::array::from_fn(|lane| sha256_load(&chains[lane].outer)),
        ];
        let mut links = [(_mm_setzero_si128(), _mm_setzero_si128()); N];
        let mut sums = links;
        for lane in 0..N {
            links[lane] = words(&chains[lane].link);
            sums[lane] = words(&chains[lane].sum);
        }
        for _ in 0..rounds {
            for start in &starts {
                links = sha256_compress(start, links);
            }
            for lane in 0..N {
                sums[lane].0 = _mm_xor_si128(sums[lane].0, links[lane].0);
                sums[lane].1 = _mm_xor_si128(sums[lane].1, links[lane].1);
            }
        }
        for lane in 0..N {
            store(&mut chains[lane].link, links[lane]);
            store(&mut chains[lane].sum, sums[lane]);
        }
    }
}

/// Words a to d and e to h, in order.
#[inline(always)]
unsafe fn words(state: &[u32; 8]) -> (__m128i, __m128i) {
    let halves: *const __m128i = state.as_ptr().cast();
    // SAFETY: eight words are two registers long; loads need no alignment.
    unsafe { (_mm_loadu_si128(halves), _mm_loadu_si128(halves.add(1))) }
}

#[inline(always)]
unsafe fn store(state: &mut [u32; 8], words: (__m128i, __m128i)) {
    let halves: *mut __m128i = state.as_mut_ptr().cast();
    // SAFETY: eight words are two registers long; stores need no alignment.
    unsafe {
        _mm_storeu_si128(halves, words.0);
        _mm_storeu_si128(halves.add(1), words.1);
    }
}

/// The state in the instructions' order: words f, e, b, a and h, g, d, c from the lowest.
#[inline(always)]
unsafe fn sha256_load(state: &[u32; 8]) -> (__m128i, __m128i) {
    // SAFETY: by the caller, the CPU has SSE4.1.
    unsafe {
        let (abcd, efgh) = words(state);
        let badc = _mm_shuffle_epi32::<0xb1>(abcd);
        let hgfe = _mm_shuffle_epi32::<0x1b>(efgh);
        (_mm_alignr_epi8::<8>(badc, hgfe), _mm_blend_epi16::<0xf0>(hgfe, badc))
    }
}

/// One compression per lane from `start`: the message is a digest, padding, and a length of 96
/// bytes.
#[inline(always)]
unsafe fn sha256_compress<const N: usize>(
    start: &[(__m128i, __m128i); N],
    digests: [(__m128i, __m128i); N],
) -> [(__m128i, __m128i); N] {
    // SAFETY: by the caller, the CPU has the SHA extensions; constants are read in order.
    unsafe {
        let padding = _mm_set_epi32(0, 0, 0, i32::MIN);
        let length = _mm_set_epi32(8 * 96, 0, 0, 0);
        let mut messages = [[padding, padding, padding, length]; N];
        let mut states = *start;
        for lane in 0..N {
            (messages[lane][0], messages[lane][1]) = digests[lane];
        }
        for four in 0..16 {
            let constants = _mm_loadu_si128(K256.as_ptr().add(4 * four).cast());
            for lane in 0..N {
                let message = &mut messages[lane];
                let (abef, cdgh) = &mut states[lane];
                let low = _mm_add_epi32(message[four % 4], constants);
                *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, low);
                *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32::<0x0e>(low));
                if four < 12 {
                    let [next, later, last] = [1, 2, 3].map(|ahead| message[(four + ahead) % 4]);
                    let sum = _mm_add_epi32(
                        _mm_sha256msg1_epu32(message[four % 4], next),
                        _mm_alignr_epi8::<4>(last, later),
                    );
                    message[four % 4] = _mm_sha256msg2_epu32(sum, last);
                }
            }
        }
        let mut out = digests;
        for lane in 0..N {
            let abef = _mm_shuffle_epi32::<0x1b>(_mm_add_epi32(states[lane].0, start[lane].0));
            let cdgh = _mm_shuffle_epi32::<0xb1>(_mm_add_epi32(states[lane].1, start[lane].1));
            out[lane] = (_mm_blend_epi16::<0xf0>(abef, cdgh), _mm_alignr_epi8::<8>(cdgh, abef));
        }
        out
    }
}

/// `N` chains side by side.
///
/// # Safety
/// The CPU has the SHA extensions, SSSE3 and SSE4.1.
#[inline(always)]
unsafe fn sha1_chains<const N: usize>(chains: &mut [Chain<[u32; 5]>; N], rounds: u32) {
    // SAFETY: by the caller; loads and stores stay inside the arrays.
    unsafe {
        let starts: [[_; N]; 2] = [
            core::array::from_fn(|lane| sha1_load(&chains[lane].inner)),
            core::array::from_fn(|lane| sha1_load(&chains[lane].outer)),
        ];
        let mut links = [(_mm_setzero_si128(), _mm_setzero_si128()); N];
        let mut sums = links;
        for lane in 0..N {
            links[lane] = sha1_load(&chains[lane].link);
            sums[lane] = sha1_load(&chains[lane].sum);
        }
        for _ in 0..rounds {
            for start in &starts {
                links = sha1_compress(start, links);
            }
            for lane in 0..N {
                sums[lane].0 = _mm_xor_si128(sums[lane].0, links[lane].0);
                sums[lane].1 = _mm_xor_si128(sums[lane].1, links[lane].1);
            }
        }
        for lane in 0..N {
            sha1_store(&mut chains[lane].link, links[lane]);
            sha1_store(&mut chains[lane].sum, sums[lane]);
        }
    }
}

/// The state in the instructions' order: words d, c, b, a from the lowest, and e in the highest.
#[inline(always)]
unsafe fn sha1_load(state: &[u32; 5]) -> (__m128i, __m128i) {
    // SAFETY: four words are a register long; loads need no alignment.
    unsafe {
        let abcd = _mm_loadu_si128(state.as_ptr().cast());
        (_mm_shuffle_epi32::<0x1b>(abcd), _mm_set_epi32(state[4] as i32, 0, 0, 0))
    }
}

#[inline(always)]
unsafe fn sha1_store(state: &mut [u32; 5], (dcba, e): (__m128i, __m128i)) {
    // SAFETY: four words are a register long; stores need no
    // alignment; by the caller, the CPU has SSE4.1.
    unsafe {
        _mm_storeu_si128(state.as_mut_ptr().cast(), _mm_shuffle_epi32::<0x1b>(dcba));
        state[4] = _mm_extract_epi32::<3>(e) as u32;
    }
}

/// One compression per lane from `start`: the message is a digest, padding, and a length of 84
/// bytes. Message words are in the instructions' order, the first in the highest lane, which is the
/// order of the state.
#[inline(always)]
unsafe fn sha1_compress<const N: usize>(
    start: &[(__m128i, __m128i); N],
    digests: [(__m128i, __m128i); N],
) -> [(__m128i, __m128i); N] {
    // SAFETY: by the caller, the CPU has the SHA extensions.
    unsafe {
        let padding = _mm_set_epi32(0, i32::MIN, 0, 0);
        let length = _mm_set_epi32(0, 0, 0, 8 * 84);
        let mut lanes: [Sha1Lane; N] = core::array::from_fn(|lane| Sha1Lane {
            abcd: start[lane].0,
            e: start[lane].1,
            message: [digests[lane].0, _mm_or_si128(digests[lane].1, padding), _mm_setzero_si128(), length],
        });
        for five in 0..5 {
            sha1_four_rounds::<0, N>(&mut lanes, five);
        }
        for five in 5..10 {
            sha1_four_rounds::<1, N>(&mut lanes, five);
        }
        for five in 10..15 {
            sha1_four_rounds::<2, N>(&mut lanes, five);
        }
        for five in 15..20 {
            sha1_four_rounds::<3, N>(&mut lanes, five);
        }
        let mut out = digests;
        for lane in 0..N {
            let Sha1Lane { abcd, e, .. } = lanes[lane];
            out[lane] = (_mm_add_epi32(abcd, start[lane].0), _mm_sha1nexte_epu32(e, start[lane].1));
        }
        out
    }
}

/// A compression in progress. `e` is the state four rounds ago, from which the instructions take e
/// (but for the first).
#[derive(Clone, Copy)]
struct Sha1Lane {
    abcd: __m128i,
    e: __m128i,
    message: [__m128i; 4],
}

/// Rounds 4 · `four` to 4 · `four` + 3, which use function `F`.
#[inline(always)]
unsafe fn sha1_four_rounds<const F: i32, const N: usize>(lanes: &mut [Sha1Lane; N], four: usize) {
    // SAFETY: by the caller, the CPU has the SHA extensions.
    unsafe {
        for Sha1Lane { abcd, e, message } in lanes {
            let words = message[four % 4];
            let plus_e = if four == 0 { _mm_add_epi32(*e, words) } else { _mm_sha1nexte_epu32(*e, words) };
            *e = *abcd;
            *abcd = _mm_sha1rnds4_epu32::<F>(*abcd, plus_e);
            if four < 16 {
                let [next, later, last] = [1, 2, 3].map(|ahead| message[(four + ahead) % 4]);
                let sum = _mm_xor_si128(_mm_sha1msg1_epu32(words, next), later);
                message[four % 4] = _mm_sha1msg2_epu32(sum, last);
            }
        }
    }
}
