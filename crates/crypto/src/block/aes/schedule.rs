//! AES key expansion (FIPS 197, section 5.2) without tables: no
//! memory access and no branch depends on the key.
//!
//! The S-box is computed, not looked up: inversion in GF(2^8) as the
//! power 254, four bytes of a word side by side.

use crate::block_cipher::Block;
use crate::secret::{Plain, SecretBox};

/// Round keys in the order of use, for encryption and for the
/// equivalent inverse cipher (FIPS 197, 5.3.5).
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Schedule {
    pub(super) encrypt: [Block; 15],
    pub(super) decrypt: [Block; 15],
    /// 10, 12 or 14.
    pub(super) rounds: usize,
}

impl Plain for Schedule {
    const EMPTY: Self = Self { encrypt: [[0; 16]; 15], decrypt: [[0; 16]; 15], rounds: 0 };
}

impl Schedule {
    /// Expands a key of 16, 24 or 32 bytes.
    ///
    /// # Panics
    /// For any other length.
    pub(super) fn expand(key: &[u8]) -> SecretBox<Self> {
        assert!(matches!(key.len(), 16 | 24 | 32), "an AES key of {} bytes", key.len());
        SecretBox::new_with(|schedule: &mut Self| schedule.fill(key))
    }

    fn fill(&mut self, key: &[u8]) {
        let key_words = key.len() / 4;
        self.rounds = key_words + 6;
        let mut words = [0u32; 60];
        for (word, bytes) in words.iter_mut().zip(key.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let mut round_constant = 1;
        for index in key_words..4 * (self.rounds + 1) {
            let mut word = words[index - 1];
            if index % key_words == 0 {
                // RotWord takes the first byte, which is the lowest here, to the end.
                word = substitute(word.rotate_right(8)) ^ round_constant;
                round_constant = double(round_constant);
            } else if key_words == 8 && index % 8 == 4 {
                word = substitute(word);
            }
            words[index] = words[index - key_words] ^ word;
        }
        for round in 0..=self.rounds {
            let column = &words[4 * round..][..4];
            store(column, &mut self.encrypt[round]);
            let inverse = self.rounds - round;
            let last = round == 0 || inverse == 0;
            let mixed = [0, 1, 2, 3].map(|index| if last { column[index] } else { unmix(column[index]) });
            store(&mixed, &mut self.decrypt[inverse]);
        }
        zeroize::Zeroize::zeroize(&mut words);
    }
}

fn store(words: &[u32], block: &mut Block) {
    for (bytes, word) in block.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
}

/// SubWord: the S-box on each of the four bytes.
fn substitute(word: u32) -> u32 {
    let inverse = invert(word);
    let turned = |by: u32| {
        ((inverse << by) & (0x0101_0101 * ((0xff << by) & 0xff))) | low_bits(inverse >> (8 - by), by)
    };
    inverse ^ turned(1) ^ turned(2) ^ turned(3) ^ turned(4) ^ 0x6363_6363
}

/// The lowest `count` bits of each byte.
fn low_bits(word: u32, count: u32) -> u32 {
    word & (0x0101_0101 * ((1 << count) - 1))
}

/// The inverse of each byte in GF(2^8), zero for zero: x^254 = x^2 · x^4 · … · x^128.
fn invert(word: u32) -> u32 {
    let mut square = multiply(word, word);
    let mut product = square;
    for _ in 0..6 {
        square = multiply(square, square);
        product = multiply(product, square);
    }
    product
}

/// Multiplies bytes pairwise in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
fn multiply(a: u32, b: u32) -> u32 {
    let mut power = a;
    let mut product = 0;
    for bit in 0..8 {
        let mask = ((b >> bit) & 0x0101_0101) * 0xff;
        product ^= power & mask;
        power = double(power);
    }
    product
}

/// Multiplies each byte by x.
fn double(word: u32) -> u32 {
    ((word & 0x7f7f_7f7f) << 1) ^ (((word >> 7) & 0x0101_0101) * 0x1b)
}

/// InvMixColumns on one column: the bytes times {0e, 09, 0d, 0b} (FIPS 197, 5.3.3).
fn unmix(column: u32) -> u32 {
    let (two, four, eight) = (double(column), double(double(column)), double(double(double(column))));
    let nine = eight ^ column;
    (eight ^ four ^ two)
        ^ (nine ^ two).rotate_right(8)
        ^ (nine ^ four).rotate_right(16)
        ^ nine.rotate_right(24)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(hex: &str) -> Block {
        u128::from_str_radix(hex, 16).unwrap().to_be_bytes()
    }

    /// FIPS 197, appendix A: the last round key of each example, and appendix C: the first round
    /// key of the inverse cipher.
    #[test]
    fn fips_197_examples() {
        let key: Vec<u8> = (0..32).collect();
        let schedule = Schedule::expand(&block("2b7e151628aed2a6abf7158809cf4f3c"));
        assert_eq!(schedule.rounds, 10);
        assert_eq!(schedule.encrypt[10], block("d014f9a8c9ee2589e13f0cc8b6630ca6"));
        // C.1, inverse cipher, round 1: ik_sch, and the decryption key
        // schedule of the equivalent inverse cipher.
        let schedule = Schedule::expand(&key[..16]);
        assert_eq!(schedule.decrypt[0], block("13111d7fe3944a17f307a78b4d2b30c5"));
        assert_eq!(schedule.decrypt[1], block("13aa29be9c8faff6f770f58000f7bf03"));
        assert_eq!(schedule.decrypt[10], block("000102030405060708090a0b0c0d0e0f"));
        let schedule = Schedule::expand(&key[..24]);
        assert_eq!(schedule.encrypt[12], block("a4970a331a78dc09c418c271e3a41d5d"));
        let schedule = Schedule::expand(&key);
        assert_eq!(schedule.encrypt[14], block("24fc79ccbf0979e9371ac23c6d68de36"));
    }

    /// The S-box by its definition: a brute-force inverse and FIPS 197's affine map, bit by bit.
    #[test]
    fn substitution_equals_its_definition() {
        for byte in 0..=255u32 {
            let inverse = (0..=255).find(|other| multiply(byte, *other) == 1).unwrap_or(0);
            let bit = |index: u32| (inverse >> (index % 8)) & 1;
            let expected: u32 = (0..8)
                .map(|i| {
                    (bit(i) ^ bit(i + 4) ^ bit(i + 5) ^ bit(i + 6) ^ bit(i + 7) ^ ((0x63 >> i) & 1)) << i
                })
                .sum();
            assert_eq!(substitute(byte * 0x0101_0101), expected * 0x0101_0101);
        }
    }
}
