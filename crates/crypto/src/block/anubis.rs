//! Anubis (Barreto and Rijmen, "The ANUBIS block cipher", NESSIE 2001, with the tweaked S-box):
//! 128-bit blocks, keys of 128 to 320 bits in steps of 32, 12 to 18 rounds.
//!
//! Its tables are indexed by secrets: on a shared CPU their cache lines can be watched. Kept for
//! reading old volumes.

use super::involution::{SBOX, multiply};
use crate::block_cipher::{Block, BlockCipher, Cipher128};
use crate::secret::{Plain, SecretBox};

/// An expanded Anubis key.
pub(crate) struct Anubis(SecretBox<RoundKeys>);

impl Anubis {
    /// The key schedule, section 3.8: an evolving state of as many words as
    /// the key, from which round keys are selected.
    ///
    /// # Panics
    /// If `key` is not 16 to 40 bytes long in steps of 4.
    pub(crate) fn new(key: &[u8]) -> Self {
        let (key, []) = key.as_chunks::<4>() else { panic!("an Anubis key is whole words") };
        let words = key.len();
        let rounds = 8 + words;
        Self(SecretBox::new_with(|keys: &mut RoundKeys| {
            keys.rounds = rounds;
            let mut state = [0; MAX_WORDS];
            state.iter_mut().zip(key).for_each(|(word, bytes)| *word = u32::from_be_bytes(*bytes));
            for round in 0..=rounds {
                keys.encrypt[round] = select(&state[..words]);
                state = evolve(&state, words, round);
            }
            keys.decrypt[0] = keys.encrypt[rounds];
            keys.decrypt[rounds] = keys.encrypt[0];
            for round in 1..rounds {
                keys.decrypt[round] = keys.encrypt[rounds - round].map(diffuse);
            }
        }))
    }

    /// The cipher is an involution up to its round keys (section 3.9).
    fn rounds(&self, keys: &[[u32; 4]; MAX_ROUNDS + 1], block: &mut Block) {
        let last = self.0.rounds;
        let bytes = block.as_chunks_mut().0;
        let mut state: [u32; 4] =
            core::array::from_fn(|index| u32::from_be_bytes(bytes[index]) ^ keys[0][index]);
        for key in &keys[1..last] {
            state = core::array::from_fn(|column| key[column] ^ mixed(&state, column));
        }
        for (column, bytes) in bytes.iter_mut().enumerate() {
            let substituted = state.map(|word| SBOX[word.to_be_bytes()[column] as usize]);
            *bytes = (u32::from_be_bytes(substituted) ^ keys[last][column]).to_be_bytes();
        }
    }
}

impl BlockCipher for Anubis {
    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        blocks.iter_mut().for_each(|block| self.rounds(&self.0.encrypt, block));
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        blocks.iter_mut().for_each(|block| self.rounds(&self.0.decrypt, block));
    }
}

impl Cipher128 for Anubis {}

/// Substitution, transposition and diffusion of one column.
fn mixed(state: &[u32; 4], column: usize) -> u32 {
    let [b0, b1, b2, b3] = state.map(|word| word.to_be_bytes()[column] as usize);
    TABLES[0][b0] ^ TABLES[1][b1] ^ TABLES[2][b2] ^ TABLES[3][b3]
}

/// Diffusion alone; the S-box, an involution, cancels the one in the tables.
fn diffuse(word: u32) -> u32 {
    let [b0, b1, b2, b3] = word.to_be_bytes().map(|byte| SBOX[byte as usize] as usize);
    TABLES[0][b0] ^ TABLES[1][b1] ^ TABLES[2][b2] ^ TABLES[3][b3]
}

/// A round key (section 3.8.2): byte p of word j is a polynomial in `POINTS[p]` whose coefficients
/// are the substituted bytes j of the state.
fn select(state: &[u32]) -> [u32; 4] {
    core::array::from_fn(|column| {
        u32::from_be_bytes(POINTS.map(|point| {
            state
                .iter()
                .rev()
                .fold(0, |sum, word| multiply(sum, point) ^ SBOX[word.to_be_bytes()[column] as usize])
        }))
    })
}

/// The state of the next round (section 3.8.1): substituted, its bytes shifted between words,
/// diffused, and added to a constant.
fn evolve(state: &[u32; MAX_WORDS], words: usize, round: usize) -> [u32; MAX_WORDS] {
    let mut next = [0; MAX_WORDS];
    for (index, next) in next[..words].iter_mut().enumerate() {
        let byte = |shift: usize| state[(index + words - shift) % words].to_be_bytes()[shift] as usize;
        *next = (0..4).fold(0, |sum, shift| sum ^ TABLES[shift][byte(shift)]);
    }
    next[0] ^= u32::from_be_bytes(core::array::from_fn(|byte| SBOX[4 * round + byte]));
    next
}

const MAX_WORDS: usize = 10;
const MAX_ROUNDS: usize = 8 + MAX_WORDS;

#[derive(Clone, Copy)]
struct RoundKeys {
    rounds: usize,
    encrypt: [[u32; 4]; MAX_ROUNDS + 1],
    decrypt: [[u32; 4]; MAX_ROUNDS + 1],
}

impl Plain for RoundKeys {
    const EMPTY: Self =
        Self { rounds: 0, encrypt: [[0; 4]; MAX_ROUNDS + 1], decrypt: [[0; 4]; MAX_ROUNDS + 1] };
}

/// Where the key selection evaluates its polynomials.
const POINTS: [u8; 4] = [1, 2, 6, 8];

/// The first row of the diffusion's matrix; the other rows permute it by XOR of indices (a Hadamard
/// matrix).
const ROW: [u8; 4] = [1, 2, 4, 6];

static TABLES: [[u32; 256]; 4] = tables();

const fn tables() -> [[u32; 256]; 4] {
    let mut tables = [[0; 256]; 4];
    let mut index = 0;
    while index < 4 * 256 {
        let (row, x) = (index / 256, index % 256);
        let mut bytes = [0; 4];
        let mut column = 0;
        while column < 4 {
            bytes[column] = multiply(SBOX[x], ROW[row ^ column]);
            column += 1;
        }
        tables[row][x] = u32::from_be_bytes(bytes);
        index += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::vectors::{check, hex};

    /// NESSIE, anubis-tweak-test-vectors, set 3 (key and plaintext of one repeated byte), as in
    /// Linux, crypto/testmgr.h, anubis_tv_template.
    #[test]
    fn nessie_vectors() {
        for (key_len, byte, ciphertext) in [
            (16, 0xfe, "6dc5daa2267d626f08b7528e6e6e8690"),
            (20, 0x03, "dbf142f4d18ac74987416f820a9864ae"),
            (28, 0x24, "fd1b4ae3bff0ad3d06d36127fd139ede"),
            (32, 0x25, "1a91fb2bb7786bc417d9ff403b0ee5fe"),
            (40, 0x35, "a52c856f9cbaa0979ec6840f172107ee"),
        ] {
            check::<16>(&Anubis::new(&vec![byte; key_len]), &[byte; 16], &hex(ciphertext));
        }
    }
}
