//! XTS's masks with AVX-512: four per register, eight in turn.
//!
//! Uses byte and bit shifts only, so VPCLMULQDQ is not required: x^128 is x^7 + x^2 + x + 1.

use super::{Block, Masks, add};
use core::arch::x86_64::*;

/// To be called only on a CPU that has AVX-512 F and BW.
pub(crate) static AVX512: Masks = Masks {
    powers: |tweaks, masks| {
        // SAFETY: only code for AVX-512 F and BW names this table.
        unsafe { powers(tweaks, masks) }
    },
    add: |blocks, masks| {
        // SAFETY: only code for AVX-512 F and BW names this table.
        unsafe { add_masks(blocks, masks) }
    },
};

#[target_feature(enable = "avx512f,avx512bw")]
fn powers(tweaks: &[Block], masks: &mut [u128]) {
    let blocks_a_sector = masks.len() / tweaks.len();
    for (tweak, masks) in tweaks.iter().zip(masks.chunks_exact_mut(blocks_a_sector)) {
        let [low, high] = [tweak.as_chunks().0[0], tweak.as_chunks().0[1]].map(i64::from_le_bytes);
        let tweak = _mm512_set_epi64(high, low, high, low, high, low, high, low);
        let mut lower = shift(tweak, _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0));
        let mut upper = shift(tweak, _mm512_set_epi64(7, 7, 6, 6, 5, 5, 4, 4));
        for eight in masks.as_chunks_mut::<8>().0 {
            let (first, second) = eight.split_at_mut(4);
            // SAFETY: a register holds four masks.
            unsafe {
                _mm512_storeu_si512(first.as_mut_ptr().cast(), lower);
                _mm512_storeu_si512(second.as_mut_ptr().cast(), upper);
            }
            (lower, upper) = (times_x8(lower), times_x8(upper));
        }
    }
}

/// Adds masks to blocks, four at a time.
#[target_feature(enable = "avx512f,avx512bw")]
fn add_masks(blocks: &mut [Block], masks: &[u128]) {
    let (fours, rest) = blocks.as_chunks_mut::<4>();
    let (mask_fours, mask_rest) = masks.as_chunks::<4>();
    for (blocks, masks) in fours.iter_mut().zip(mask_fours) {
        // SAFETY: a register holds four blocks, or four masks.
        unsafe {
            let masked = _mm512_xor_si512(
                _mm512_loadu_si512(blocks.as_ptr().cast()),
                _mm512_loadu_si512(masks.as_ptr().cast()),
            );
            _mm512_storeu_si512(blocks.as_mut_ptr().cast(), masked);
        }
    }
    add(rest, mask_rest);
}

/// Each lane times x^e: the lane's two halves hold the exponents, each below 64.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn shift(lanes: __m512i, exponents: __m512i) -> __m512i {
    let over = _mm512_srlv_epi64(lanes, _mm512_sub_epi64(_mm512_set1_epi64(64), exponents));
    let carried = _mm512_bslli_epi128::<8>(over);
    let shifted = _mm512_or_si512(_mm512_sllv_epi64(lanes, exponents), carried);
    _mm512_xor_si512(shifted, fold(_mm512_bsrli_epi128::<8>(over)))
}

/// Each lane times x^8.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn times_x8(lanes: __m512i) -> __m512i {
    let over = _mm512_bsrli_epi128::<15>(lanes);
    _mm512_xor_si512(_mm512_bslli_epi128::<1>(lanes), fold(over))
}

/// The bits shifted out of the top of a lane, times x^128.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn fold(over: __m512i) -> __m512i {
    let low = _mm512_xor_si512(over, _mm512_slli_epi64::<1>(over));
    _mm512_ternarylogic_epi64::<0x96>(low, _mm512_slli_epi64::<2>(over), _mm512_slli_epi64::<7>(over))
}
