//! Moves of words in NEON's registers.

use core::arch::aarch64::*;

/// Transposes four by four words.
///
/// # Safety
/// The CPU has NEON.
#[inline(always)]
pub(crate) unsafe fn transpose([a, b, c, d]: [uint32x4_t; 4]) -> [uint32x4_t; 4] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let pairs = |a, b| (vreinterpretq_u64_u32(vtrn1q_u32(a, b)), vreinterpretq_u64_u32(vtrn2q_u32(a, b)));
        let ((ab_even, ab_odd), (cd_even, cd_odd)) = (pairs(a, b), pairs(c, d));
        [
            vreinterpretq_u32_u64(vtrn1q_u64(ab_even, cd_even)),
            vreinterpretq_u32_u64(vtrn1q_u64(ab_odd, cd_odd)),
            vreinterpretq_u32_u64(vtrn2q_u64(ab_even, cd_even)),
            vreinterpretq_u32_u64(vtrn2q_u64(ab_odd, cd_odd)),
        ]
    }
}
