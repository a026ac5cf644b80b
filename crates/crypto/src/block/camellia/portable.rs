//! Camellia over tables: each S-box together with the function P, eight lookups a round.

use super::boxes::f;
use super::schedule::Subkeys;
use crate::block_cipher::Block;

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
