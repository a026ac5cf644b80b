//! Camellia over tables: each S-box together with the function P, eight lookups a round.

use super::boxes::{ORDER, TARGETS, substitute};
use super::schedule::Subkeys;
use crate::block::Block;

/// Encrypts blocks, or decrypts them under reversed subkeys.
pub(super) fn blocks(keys: &Subkeys, blocks: &mut [Block]) {
    let (pairs, last) = blocks.as_chunks_mut();
    pairs.iter_mut().for_each(|pair| run::<2>(keys, pair));
    last.as_chunks_mut().0.iter_mut().for_each(|block| run::<1>(keys, block));
}

/// `N` blocks side by side: the lookups of one hide the latency of the other.
#[inline(always)]
fn run<const N: usize>(keys: &Subkeys, blocks: &mut [Block; N]) {
    let [first, second, third, fourth] = keys.whitening;
    let mut state = blocks.map(|block| {
        let block = u128::from_be_bytes(block);
        ((block >> 64) as u64 ^ first, block as u64 ^ second)
    });
    for (group, rounds) in keys.rounds.as_chunks::<6>().0[..=keys.layer_count].iter().enumerate() {
        if let Some(layer) = group.checked_sub(1) {
            for (left, right) in &mut state {
                *left = fl(*left, keys.layers[2 * layer]);
                *right = fl_inverse(*right, keys.layers[2 * layer + 1]);
            }
        }
        for pair in rounds.as_chunks::<2>().0 {
            for (left, right) in &mut state {
                *right ^= f(*left, pair[0]);
                *left ^= f(*right, pair[1]);
            }
        }
    }
    for (block, (left, right)) in blocks.iter_mut().zip(state) {
        *block = (u128::from(right ^ third) << 64 | u128::from(left ^ fourth)).to_be_bytes();
    }
}

/// The function F.
#[inline(always)]
pub(super) fn f(half: u64, key: u64) -> u64 {
    let bytes = (half ^ key).to_be_bytes();
    (0..8).fold(0, |sum, index| sum ^ TABLES[index][bytes[index] as usize])
}

/// The function FL.
fn fl(half: u64, key: u64) -> u64 {
    let (left, right) = ((half >> 32) as u32, half as u32);
    let right = right ^ (left & (key >> 32) as u32).rotate_left(1);
    let left = left ^ (right | key as u32);
    u64::from(left) << 32 | u64::from(right)
}

/// The inverse of [`fl`].
fn fl_inverse(half: u64, key: u64) -> u64 {
    let (left, right) = ((half >> 32) as u32, half as u32);
    let left = left ^ (right | key as u32);
    let right = right ^ (left & (key >> 32) as u32).rotate_left(1);
    u64::from(left) << 32 | u64::from(right)
}

/// What a byte of F's input adds to its output: 16 KiB.
static TABLES: [[u64; 256]; 8] = tables();

const fn tables() -> [[u64; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut place = 0;
    while place < 8 {
        // A byte 0x01 for each target.
        let mut targets = 0;
        let mut bit = 0;
        while bit < 8 {
            targets |= ((TARGETS[place] >> bit) as u64 & 1) << (8 * bit);
            bit += 1;
        }
        let mut byte = 0;
        while byte < 256 {
            tables[place][byte] = targets * substitute(ORDER[place], byte as u8) as u64;
            byte += 1;
        }
        place += 1;
    }
    tables
}
