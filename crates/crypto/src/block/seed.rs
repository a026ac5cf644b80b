//! SEED (RFC 4269): 128-bit blocks and keys, sixteen Feistel rounds
//! over S-boxes of inversion-like powers in GF(2^8).
//!
//! Its tables are indexed by secrets: on a shared CPU their cache lines can be watched. Kept for
//! reading old volumes.

use crate::block_cipher::{Block, BlockCipher, Cipher128};
use crate::secret::{Plain, SecretBox};

/// An expanded SEED key.
pub(crate) struct Seed(SecretBox<RoundKeys>);

impl Seed {
    /// RFC 4269, section 2.3.
    ///
    /// # Panics
    /// If `key` is not 16 bytes long.
    pub(crate) fn new(key: &[u8]) -> Self {
        let [mut a, mut b, mut c, mut d] = words(key.try_into().expect("16 bytes"));
        Self(SecretBox::new_with(|keys: &mut RoundKeys| {
            for (round, key) in (0..).zip(&mut keys.0) {
                let constant = GOLDEN.rotate_left(round);
                *key = [
                    g(a.wrapping_add(c).wrapping_sub(constant)),
                    g(b.wrapping_sub(d).wrapping_add(constant)),
                ];
                if round % 2 == 0 {
                    (a, b) = pair((u64::from(a) << 32 | u64::from(b)).rotate_right(8));
                } else {
                    (c, d) = pair((u64::from(c) << 32 | u64::from(d)).rotate_left(8));
                }
            }
        }))
    }

    /// Sixteen rounds under keys in either order.
    fn rounds<'a>(block: &mut Block, keys: impl Iterator<Item = &'a [u32; 2]>) {
        let [mut l0, mut l1, mut r0, mut r1] = words(block);
        for key in keys {
            let (f0, f1) = f(r0, r1, key);
            (l0, l1, r0, r1) = (r0, r1, l0 ^ f0, l1 ^ f1);
        }
        for (bytes, word) in block.as_chunks_mut().0.iter_mut().zip([r0, r1, l0, l1]) {
            *bytes = word.to_be_bytes();
        }
    }
}

impl BlockCipher for Seed {
    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        blocks.iter_mut().for_each(|block| Self::rounds(block, self.0.0.iter()));
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        blocks.iter_mut().for_each(|block| Self::rounds(block, self.0.0.iter().rev()));
    }
}

impl Cipher128 for Seed {}

/// The round function (section 2.1).
fn f(r0: u32, r1: u32, key: &[u32; 2]) -> (u32, u32) {
    let (c, d) = (r0 ^ key[0], r1 ^ key[1]);
    let mixed = g(c ^ d);
    let left = g(mixed.wrapping_add(c));
    let right = g(left.wrapping_add(mixed));
    (right.wrapping_add(left), right)
}

/// The function G (section 2.2): four S-boxes and a mixing of their bits, as four tables.
fn g(word: u32) -> u32 {
    let [x0, x1, x2, x3] = word.to_le_bytes().map(usize::from);
    TABLES[0][x0] ^ TABLES[1][x1] ^ TABLES[2][x2] ^ TABLES[3][x3]
}

fn words(block: &Block) -> [u32; 4] {
    core::array::from_fn(|index| u32::from_be_bytes(block.as_chunks().0[index]))
}

fn pair(both: u64) -> (u32, u32) {
    ((both >> 32) as u32, both as u32)
}

#[derive(Clone, Copy)]
struct RoundKeys([[u32; 2]; 16]);

impl Plain for RoundKeys {
    const EMPTY: Self = Self([[0; 2]; 16]);
}

/// KC_0: 2^32 divided by the golden ratio; KC_i is its rotation by i.
const GOLDEN: u32 = 0x9e37_79b9;

/// Output byte j of G takes from input byte i the bits in mask (j + i) mod 4 (section 2.2).
const MASKS: [u8; 4] = [0xfc, 0xf3, 0xcf, 0x3f];

static TABLES: [[u32; 256]; 4] = tables();

const fn tables() -> [[u32; 256]; 4] {
    let mut tables = [[0; 256]; 4];
    let mut x = 0;
    while x < 256 {
        let s1 = affine(&A1, power(x as u8, 247)) ^ 169;
        let s2 = affine(&A2, power(x as u8, 251)) ^ 56;
        let mut byte = 0;
        while byte < 4 {
            let s = if byte % 2 == 0 { s1 } else { s2 };
            tables[byte][x] = u32::from_le_bytes([
                s & MASKS[byte],
                s & MASKS[(byte + 1) % 4],
                s & MASKS[(byte + 2) % 4],
                s & MASKS[(byte + 3) % 4],
            ]);
            byte += 1;
        }
        x += 1;
    }
    tables
}

/// The matrices of S1 and S2 (section 2.2), one byte per row, first row
/// and first column for the highest bit.
const A1: [u8; 8] = [0x8a, 0xfe, 0x85, 0x42, 0x45, 0x21, 0x88, 0x14];
const A2: [u8; 8] = [0x45, 0x85, 0xfe, 0x21, 0x8a, 0x88, 0x42, 0x14];

const fn affine(matrix: &[u8; 8], x: u8) -> u8 {
    let mut y = 0;
    let mut row = 0;
    while row < 8 {
        y = y << 1 | ((matrix[row] & x).count_ones() & 1) as u8;
        row += 1;
    }
    y
}

/// x^n in GF(2^8) modulo x^8 + x^6 + x^5 + x + 1.
const fn power(x: u8, n: u32) -> u8 {
    let mut result = 1;
    let mut count = 0;
    while count < n {
        result = multiply(result, x);
        count += 1;
    }
    result
}

const fn multiply(a: u8, b: u8) -> u8 {
    let mut product: u16 = 0;
    let mut bit = 8;
    while bit > 0 {
        bit -= 1;
        product <<= 1;
        if product & 0x100 != 0 {
            product ^= 0x163;
        }
        if b >> bit & 1 == 1 {
            product ^= a as u16;
        }
    }
    product as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::vectors::{check, hex};

    /// RFC 4269, appendix B: all four vectors.
    #[test]
    fn rfc_4269_appendix_b() {
        for (key, plaintext, ciphertext) in [
            (
                "00000000000000000000000000000000",
                "000102030405060708090a0b0c0d0e0f",
                "5ebac6e0054e166819aff1cc6d346cdb",
            ),
            (
                "000102030405060708090a0b0c0d0e0f",
                "00000000000000000000000000000000",
                "c11f22f20140505084483597e4370f43",
            ),
            (
                "4706480851e61be85d74bfb3fd956185",
                "83a2f8a288641fb9a4e9a5cc2f131c7d",
                "ee54d13ebcae706d226bc3142cd40d4a",
            ),
            (
                "28dbc3bc49ffd87dcfa509b11d422be7",
                "b41e6be2eba84a148e2eed84593c5ec7",
                "9b9b7bfcd1813cb95d0b3618f40f5122",
            ),
        ] {
            check::<16>(&Seed::new(&hex(key)), &hex(plaintext), &hex(ciphertext));
        }
    }
}
