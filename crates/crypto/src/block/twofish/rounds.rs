//! Twofish's sixteen rounds over tables of 4 KiB, which lie in the first-level cache: two blocks
//! side by side, so that the lookups of one hide the latency of the other.

use super::schedule::Schedule;
use crate::block_cipher::Block;

/// Encrypts or decrypts blocks.
pub(super) fn blocks<const ENCRYPT: bool>(schedule: &Schedule, blocks: &mut [Block]) {
    let (pairs, last) = blocks.as_chunks_mut();
    pairs.iter_mut().for_each(|pair| run::<2, ENCRYPT>(schedule, pair));
    last.as_chunks_mut().0.iter_mut().for_each(|block| run::<1, ENCRYPT>(schedule, block));
}

/// `N` blocks side by side.
#[inline(always)]
fn run<const N: usize, const ENCRYPT: bool>(schedule: &Schedule, blocks: &mut [Block; N]) {
    let (whitening, rounds) = schedule.subkeys.as_chunks::<4>().0.split_at(2);
    let (first, last) = if ENCRYPT { (0, 1) } else { (1, 0) };
    let mut state = blocks.map(|block| {
        let words = block.as_chunks().0;
        [0, 1, 2, 3].map(|index| u32::from_le_bytes(words[index]) ^ whitening[first][index])
    });
    // Two rounds per step: the halves swap roles, not places.
    if ENCRYPT {
        for keys in rounds {
            for words in &mut state {
                let [a, b, c, d] = *words;
                let (c, d) = encrypt_round(schedule, [keys[0], keys[1]], [a, b], [c, d]);
                let (a, b) = encrypt_round(schedule, [keys[2], keys[3]], [c, d], [a, b]);
                *words = [a, b, c, d];
            }
        }
    } else {
        for keys in rounds.iter().rev() {
            for words in &mut state {
                let [a, b, c, d] = *words;
                let (c, d) = decrypt_round(schedule, [keys[2], keys[3]], [a, b], [c, d]);
                let (a, b) = decrypt_round(schedule, [keys[0], keys[1]], [c, d], [a, b]);
                *words = [a, b, c, d];
            }
        }
    }
    for (block, [a, b, c, d]) in blocks.iter_mut().zip(state) {
        for ((bytes, word), key) in block.as_chunks_mut().0.iter_mut().zip([c, d, a, b]).zip(&whitening[last])
        {
            *bytes = (word ^ key).to_le_bytes();
        }
    }
}

#[inline(always)]
fn encrypt_round(schedule: &Schedule, keys: [u32; 2], left: [u32; 2], [c, d]: [u32; 2]) -> (u32, u32) {
    let (f0, f1) = f(schedule, keys, left);
    ((c ^ f0).rotate_right(1), d.rotate_left(1) ^ f1)
}

#[inline(always)]
fn decrypt_round(schedule: &Schedule, keys: [u32; 2], left: [u32; 2], [c, d]: [u32; 2]) -> (u32, u32) {
    let (f0, f1) = f(schedule, keys, left);
    (c.rotate_left(1) ^ f0, (d ^ f1).rotate_right(1))
}

/// The function F.
#[inline(always)]
fn f(schedule: &Schedule, keys: [u32; 2], [a, b]: [u32; 2]) -> (u32, u32) {
    let (a, b) = (g(schedule, a), g(schedule, b.rotate_left(8)));
    let sum = a.wrapping_add(b);
    (sum.wrapping_add(keys[0]), sum.wrapping_add(b).wrapping_add(keys[1]))
}

/// The function g: the key-dependent S-boxes and the MDS matrix.
#[inline(always)]
fn g(schedule: &Schedule, word: u32) -> u32 {
    let bytes = word.to_le_bytes().map(usize::from);
    let tables = &schedule.tables;
    tables[0][bytes[0]] ^ tables[1][bytes[1]] ^ tables[2][bytes[2]] ^ tables[3][bytes[3]]
}
