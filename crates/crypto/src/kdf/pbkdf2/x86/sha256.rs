//! SHA-256 of one message after another, for CPUs without the SHA extensions.

use super::super::chains::Chain;
use crate::Cpu;
use crate::cpu::Feature;
use crate::hash::sha2::x86::compress;

/// One chain of the SHA-256 whose digest has `DIGEST` words, seven or eight. The CPU has AVX2 and BMI2.
pub(super) fn sha256<const DIGEST: usize>(cpu: Cpu, chain: &mut Chain<[u32; 8]>, rounds: u32) -> usize {
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn inside<const DIGEST: usize>(chain: &mut Chain<[u32; 8]>, rounds: u32) {
        for _ in 0..rounds {
            for start in [&chain.inner, &chain.outer] {
                let message = padded::<DIGEST>(&chain.link);
                // SAFETY: the function has the features.
                chain.link = unsafe { compress(start, message) };
            }
            chain.sum.iter_mut().zip(&chain.link).for_each(|(sum, word)| *sum ^= word);
        }
    }
    assert!(cpu.has(Feature::Avx2) && cpu.has(Feature::Bmi2));
    // SAFETY: the CPU has the features.
    unsafe { inside::<DIGEST>(chain, rounds) }
    1
}

/// A digest as a message: padding behind it, and the length of a block and a digest.
#[inline(always)]
fn padded<const DIGEST: usize>(digest: &[u32; 8]) -> [u32; 16] {
    let mut message = [0; 16];
    message[..DIGEST].copy_from_slice(&digest[..DIGEST]);
    message[DIGEST] = 1 << 31;
    message[15] = 8 * (64 + 4 * DIGEST as u32);
    message
}
