//! Khazad (Barreto and Rijmen, "The KHAZAD legacy-level block cipher", NESSIE 2001, with the
//! tweaked S-box): 64-bit blocks, 128-bit keys, eight rounds.
//!
//! Its tables are indexed by secrets: on a shared CPU their cache lines can be watched. Kept for
//! reading old volumes.

use super::involution::{SBOX, multiply};
use crate::block_cipher::BlockCipher;
use crate::secret::{Plain, SecretBox};

/// An expanded Khazad key.
pub(crate) struct Khazad(SecretBox<RoundKeys>);

impl Khazad {
    /// The key schedule (section 3.6): a Feistel ladder of the cipher's own round.
    ///
    /// # Panics
    /// If `key` is not 16 bytes long.
    pub(crate) fn new(key: &[u8]) -> Self {
        let key: &[u8; 16] = key.try_into().expect("16 bytes");
        let [mut older, mut newer] = [0, 1].map(|half| u64::from_be_bytes(key.as_chunks().0[half]));
        Self(SecretBox::new_with(|keys: &mut RoundKeys| {
            for (round, key) in keys.encrypt.iter_mut().enumerate() {
                let constant = u64::from_be_bytes(core::array::from_fn(|byte| SBOX[8 * round + byte]));
                *key = mixed(newer) ^ constant ^ older;
                (older, newer) = (newer, *key);
            }
            keys.decrypt[0] = keys.encrypt[ROUNDS];
            keys.decrypt[ROUNDS] = keys.encrypt[0];
            for round in 1..ROUNDS {
                keys.decrypt[round] = diffuse(keys.encrypt[ROUNDS - round]);
            }
        }))
    }
}

impl BlockCipher<8> for Khazad {
    fn encrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        blocks.iter_mut().for_each(|block| rounds(&self.0.encrypt, block));
    }

    fn decrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        blocks.iter_mut().for_each(|block| rounds(&self.0.decrypt, block));
    }
}

/// The cipher is an involution up to its round keys (section 3.7).
fn rounds(keys: &[u64; ROUNDS + 1], block: &mut [u8; 8]) {
    let whitened = u64::from_be_bytes(*block) ^ keys[0];
    let state = keys[1..ROUNDS].iter().fold(whitened, |state, key| mixed(state) ^ key);
    let substituted = state.to_be_bytes().map(|byte| SBOX[byte as usize]);
    *block = (u64::from_be_bytes(substituted) ^ keys[ROUNDS]).to_be_bytes();
}

/// Substitution and diffusion.
fn mixed(state: u64) -> u64 {
    state.to_be_bytes().iter().zip(&TABLES).fold(0, |sum, (byte, table)| sum ^ table[*byte as usize])
}

/// Diffusion alone; the S-box, an involution, cancels the one in the tables.
fn diffuse(state: u64) -> u64 {
    mixed(u64::from_be_bytes(state.to_be_bytes().map(|byte| SBOX[byte as usize])))
}

const ROUNDS: usize = 8;

#[derive(Clone, Copy)]
struct RoundKeys {
    encrypt: [u64; ROUNDS + 1],
    decrypt: [u64; ROUNDS + 1],
}

impl Plain for RoundKeys {
    const EMPTY: Self = Self { encrypt: [0; ROUNDS + 1], decrypt: [0; ROUNDS + 1] };
}

/// The first row of the diffusion's matrix; the other rows permute it by XOR of indices (a Hadamard
/// matrix).
const ROW: [u8; 8] = [1, 3, 4, 5, 6, 8, 11, 7];

static TABLES: [[u64; 256]; 8] = tables();

const fn tables() -> [[u64; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut index = 0;
    while index < 8 * 256 {
        let (row, x) = (index / 256, index % 256);
        let mut bytes = [0; 8];
        let mut column = 0;
        while column < 8 {
            bytes[column] = multiply(SBOX[x], ROW[row ^ column]);
            column += 1;
        }
        tables[row][x] = u64::from_be_bytes(bytes);
        index += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::vectors::{check, hex};

    /// NESSIE, khazad-tweak-test-vectors, sets 1 and 3, as in Linux,
    /// crypto/testmgr.h, khazad_tv_template.
    #[test]
    fn nessie_vectors() {
        check::<8>(&Khazad::new(&hex("80000000000000000000000000000000")), &[0; 8], &hex("49a4ce32ac190e3f"));
        for (byte, ciphertext) in
            [(0x38, "7e8212a1d95be4f9"), (0xa2, "aabec195c5941a9c"), (0x2f, "0474f5705016d3b8")]
        {
            check::<8>(&Khazad::new(&[byte; 16]), &[byte; 8], &hex(ciphertext));
        }
    }
}
