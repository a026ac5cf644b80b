//! Whether bytes look random: ciphertext, or the plaintext of a wrong key.

use std::num::NonZeroUsize;

/// Whether every byte occurs about as often as in random data. Ciphertext fails once in 10⁹ times; what is compressed
/// looks random, too.
pub fn is_noise(bytes: &[u8]) -> bool {
    let Some(len) = NonZeroUsize::new(bytes.len()).filter(|len| len.get() >= LEAST) else { return false };
    let mut counts = [0_u32; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let expected = len.get() as f64 / 256.0;
    let chi_squared: f64 = counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
    chi_squared < MOST
}

/// Fewer bytes tell little.
const LEAST: usize = 4096;
/// Chi-squared of random bytes is 255, and 23 more or less.
const MOST: f64 = 420.0;

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_crypto::Hash;

    #[test]
    fn digests_are_noise_and_text_is_not() {
        let digests: Vec<u8> =
            (0..256_u32).flat_map(|number| Hash::Sha256.digest(&[&number.to_le_bytes()])).collect();
        assert!(is_noise(&digests) && is_noise(&digests[..4096]) && !is_noise(&digests[..4095]));
        let mut half = digests.clone();
        half[..1024].fill(0);
        let text: Vec<u8> = b"It was a dark and stormy night; ".repeat(256);
        let counter: Vec<u8> = (0..2048_u32).flat_map(u32::to_le_bytes).collect();
        for other in [half, text, counter, vec![0; 8192]] {
            assert!(!is_noise(&other), "{:?}", &other[..8]);
        }
    }
}
