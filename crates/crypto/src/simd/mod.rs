//! What vector code for different ciphers, hashes and KDFs shares.

#[cfg(target_arch = "aarch64")]
pub(crate) mod arm;
#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
pub(crate) mod sys;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub(crate) mod x86;

/// The widest of the vector codes in `x86` and `arm` beside the caller that `$cpu` can run, or
/// `None`.
macro_rules! vector_code {
    ($cpu:expr) => {{
        #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
        let code = x86::choose($cpu);
        #[cfg(target_arch = "aarch64")]
        let code = arm::choose($cpu);
        #[cfg(not(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64")))]
        let (code, _) = (None, $cpu);
        code
    }};
}
pub(crate) use vector_code;

/// An array of eight values, written out: the compiler might leave a loop over registers as a loop
/// over memory.
#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
macro_rules! eight {
    ($index:ident => $value:expr) => {
        [
            $crate::simd::eight!(@ $index, 0, $value),
            $crate::simd::eight!(@ $index, 1, $value),
            $crate::simd::eight!(@ $index, 2, $value),
            $crate::simd::eight!(@ $index, 3, $value),
            $crate::simd::eight!(@ $index, 4, $value),
            $crate::simd::eight!(@ $index, 5, $value),
            $crate::simd::eight!(@ $index, 6, $value),
            $crate::simd::eight!(@ $index, 7, $value),
        ]
    };
    (@ $index:ident, $number:literal, $value:expr) => {{
        const $index: usize = $number;
        $value
    }};
}
#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
pub(crate) use eight;
