//! Serpent's key schedule (the Serpent paper, section 3), without tables.

use super::words::Words;
use crate::secret::{Plain, SecretBox};
use zeroize::Zeroize;

/// The 33 round keys, four words each.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Schedule(pub(super) [[u32; 4]; 33]);

impl Plain for Schedule {
    const EMPTY: Self = Self([[0; 4]; 33]);
}

impl Schedule {
    /// Expands a key of up to 32 bytes; a shorter one is padded with a one bit and zeros.
    ///
    /// # Panics
    /// For a longer key.
    pub(super) fn expand(key: &[u8]) -> SecretBox<Self> {
        assert!(key.len() <= 32, "a Serpent key of {} bytes", key.len());
        SecretBox::new_with(|schedule: &mut Self| schedule.fill(key))
    }

    fn fill(&mut self, key: &[u8]) {
        let mut padded = [0; 32];
        padded[..key.len()].copy_from_slice(key);
        if let Some(byte) = padded.get_mut(key.len()) {
            *byte = 1;
        }
        // The eight words before the first round key's, then the prekeys w_0 … w_131.
        let mut words = [0u32; 8 + 132];
        for (word, bytes) in words.iter_mut().zip(padded.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        for index in 8..words.len() {
            let mixed = words[index - 8] ^ words[index - 5] ^ words[index - 3] ^ words[index - 1];
            words[index] = (mixed ^ GOLDEN_RATIO ^ (index as u32 - 8)).rotate_left(11);
        }
        for (round, (key, prekey)) in self.0.iter_mut().zip(words[8..].as_chunks().0).enumerate() {
            *key = substitute(round, *prekey);
        }
        padded.zeroize();
        words.zeroize();
    }
}

/// The S-boxes in the order of the key schedule: S3 first, then downwards.
fn substitute(round: usize, prekey: [u32; 4]) -> [u32; 4] {
    match round % 8 {
        0 => u32::substitute::<3>(prekey),
        1 => u32::substitute::<2>(prekey),
        2 => u32::substitute::<1>(prekey),
        3 => u32::substitute::<0>(prekey),
        4 => u32::substitute::<7>(prekey),
        5 => u32::substitute::<6>(prekey),
        6 => u32::substitute::<5>(prekey),
        _ => u32::substitute::<4>(prekey),
    }
}

/// The fraction of the golden ratio, φ in the paper.
const GOLDEN_RATIO: u32 = 0x9e37_79b9;
