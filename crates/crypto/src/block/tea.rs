//! TEA, XTEA, and XETA, the kernel's XTEA with its additions in the
//! wrong order (Linux, crypto/tea.c).
//!
//! Wheeler and Needham, "TEA, a Tiny Encryption Algorithm" (1994) and "Tea extensions" (1997):
//! 64-bit blocks, 128-bit keys, 32 cycles of two Feistel rounds. The papers work on words; the
//! kernel reads words of keys and blocks little endian. No tables and no branches on secrets.
//! [`LANES`] blocks are processed side by side, which compilers turn into vector code.

use crate::block_cipher::BlockCipher;
use crate::secret::{Plain, SecretBox};
use core::marker::PhantomData;

/// A cipher of the family under one key.
pub(crate) struct Tea<F: Family> {
    keys: SecretBox<RoundKeys>,
    family: PhantomData<F>,
}

/// What the ciphers of the family differ in.
pub(crate) trait Family: Send + Sync {
    /// What a round uses of the key and of the running sum.
    fn round_key(key: &[u32; 4], round: u32) -> RoundKey;

    /// The round function: what one half adds to the other.
    fn f(half: u32, key: RoundKey) -> u32;
}

type RoundKey = [u32; 3];

/// "tea".
pub(crate) struct Original;

impl Family for Original {
    fn round_key(key: &[u32; 4], round: u32) -> RoundKey {
        let [left, right] = if round.is_multiple_of(2) { [key[0], key[1]] } else { [key[2], key[3]] };
        [left, right, DELTA.wrapping_mul(round / 2 + 1)]
    }

    fn f(half: u32, [left, right, sum]: RoundKey) -> u32 {
        (half << 4).wrapping_add(left) ^ half.wrapping_add(sum) ^ (half >> 5).wrapping_add(right)
    }
}

/// "xtea".
pub(crate) struct Extended;

impl Family for Extended {
    fn round_key(key: &[u32; 4], round: u32) -> RoundKey {
        let (word, sum) = extended_round(key, round);
        [word.wrapping_add(sum), 0, 0]
    }

    fn f(half: u32, [key, ..]: RoundKey) -> u32 {
        ((half << 4) ^ (half >> 5)).wrapping_add(half) ^ key
    }
}

/// "xeta": XTEA as it was widely misread, kept for what was written with it.
pub(crate) struct Misread;

impl Family for Misread {
    fn round_key(key: &[u32; 4], round: u32) -> RoundKey {
        let (word, sum) = extended_round(key, round);
        [word, sum, 0]
    }

    fn f(half: u32, [key, sum, _]: RoundKey) -> u32 {
        ((half << 4) ^ (half >> 5)).wrapping_add(half ^ sum).wrapping_add(key)
    }
}

/// XTEA's word of the key for a round, chosen by the running sum, and that sum.
fn extended_round(key: &[u32; 4], round: u32) -> (u32, u32) {
    let sum = DELTA.wrapping_mul(round.div_ceil(2));
    let word = if round.is_multiple_of(2) { sum & 3 } else { (sum >> 11) & 3 };
    (key[word as usize], sum)
}

impl<F: Family> Tea<F> {
    /// # Panics
    /// If `key` is not 16 bytes long.
    pub(crate) fn new(key: &[u8]) -> Self {
        let words = core::array::from_fn(|index| {
            u32::from_le_bytes(key[4 * index..][..4].try_into().expect("four bytes"))
        });
        let keys = SecretBox::new_with(|keys: &mut RoundKeys| {
            (0..).zip(&mut keys.0).for_each(|(round, key)| *key = F::round_key(&words, round));
        });
        Self { keys, family: PhantomData }
    }

    fn encrypt<const L: usize>(&self, blocks: &mut [[u8; 8]; L]) {
        let (mut left, mut right) = halves(blocks);
        for pair in self.keys.0.as_chunks::<2>().0 {
            left.iter_mut().zip(&right).for_each(|(to, from)| *to = to.wrapping_add(F::f(*from, pair[0])));
            right.iter_mut().zip(&left).for_each(|(to, from)| *to = to.wrapping_add(F::f(*from, pair[1])));
        }
        join(left, right, blocks);
    }

    fn decrypt<const L: usize>(&self, blocks: &mut [[u8; 8]; L]) {
        let (mut left, mut right) = halves(blocks);
        for pair in self.keys.0.as_chunks::<2>().0.iter().rev() {
            right.iter_mut().zip(&left).for_each(|(to, from)| *to = to.wrapping_sub(F::f(*from, pair[1])));
            left.iter_mut().zip(&right).for_each(|(to, from)| *to = to.wrapping_sub(F::f(*from, pair[0])));
        }
        join(left, right, blocks);
    }
}

impl<F: Family> BlockCipher<8> for Tea<F> {
    fn encrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        let (groups, rest) = blocks.as_chunks_mut::<LANES>();
        groups.iter_mut().for_each(|group| self.encrypt(group));
        rest.as_chunks_mut::<1>().0.iter_mut().for_each(|block| self.encrypt(block));
    }

    fn decrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        let (groups, rest) = blocks.as_chunks_mut::<LANES>();
        groups.iter_mut().for_each(|group| self.decrypt(group));
        rest.as_chunks_mut::<1>().0.iter_mut().for_each(|block| self.decrypt(block));
    }

    fn parallel(&self) -> usize {
        LANES
    }
}

/// The left and the right words of some blocks.
fn halves<const L: usize>(blocks: &[[u8; 8]; L]) -> ([u32; L], [u32; L]) {
    let word = |block: &[u8; 8], at: usize| {
        u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
    };
    (blocks.each_ref().map(|block| word(block, 0)), blocks.each_ref().map(|block| word(block, 4)))
}

/// The inverse of [`halves`].
fn join<const L: usize>(left: [u32; L], right: [u32; L], blocks: &mut [[u8; 8]; L]) {
    for (block, (left, right)) in blocks.iter_mut().zip(left.into_iter().zip(right)) {
        *block = (u64::from(left) | u64::from(right) << 32).to_le_bytes();
    }
}

#[derive(Clone, Copy)]
struct RoundKeys([RoundKey; ROUNDS]);

impl Plain for RoundKeys {
    const EMPTY: Self = Self([[0; 3]; ROUNDS]);
}

/// Feistel rounds; a cycle is two.
const ROUNDS: usize = 64;

/// 2^32 divided by the golden ratio.
const DELTA: u32 = 0x9e37_79b9;

/// Blocks side by side: a 128-byte group.
const LANES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::vectors::{check, hex};

    /// Linux, crypto/testmgr.h: the first two vectors each of
    /// tea_tv_template, xtea_tv_template and xeta_tv_template.
    #[test]
    fn kernel_vectors() {
        let key = hex("2b02056806144976775d0e266c287843");
        let plaintext = hex("74657374206d652e");
        check::<8>(&Tea::<Original>::new(&[0; 16]), &[0; 8], &hex("0a3aea4140a9ba94"));
        check::<8>(&Tea::<Original>::new(&key), &plaintext, &hex("775d2a6af6ce9209"));
        check::<8>(&Tea::<Extended>::new(&[0; 16]), &[0; 8], &hex("d8d4e9ded91e13f7"));
        check::<8>(&Tea::<Extended>::new(&key), &plaintext, &hex("94ebc896846a49a8"));
        check::<8>(&Tea::<Misread>::new(&[0; 16]), &[0; 8], &hex("aa2296e56c61f345"));
        check::<8>(&Tea::<Misread>::new(&key), &plaintext, &hex("823eeb35dcddd9c3"));
    }
}
