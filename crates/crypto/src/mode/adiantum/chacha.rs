//! XChaCha (draft-irtf-cfrg-xchacha, section 2; ChaCha as in RFC 8439, section 2.3, with a 64-bit
//! block counter) over [`Words`]: every lane holds its own state, so no round waits for another
//! lane.
//!
//! ```text
//! state    constants (4 words)  key (8 words)  counter (2 words)  end of the nonce (2 words)
//! HChaCha  constants            key            first 16 bytes of the nonce
//! ```
//!
//! HChaCha's lanes are sectors: each has its own nonce. ChaCha's lanes are blocks of one sector, or
//! of two where a register holds more states than a sector has blocks.

use super::code::StreamKey;
use super::words::{MOST_LANES, Words};
use crate::block_cipher::Block;

/// Adds to each sector the key stream of its nonce: `nonces` hold the first 16 of 24 bytes, one per
/// sector.
#[inline(always)]
pub(super) fn xor_stream<V: Words>(
    proof: V::Proof,
    key: &StreamKey,
    nonces: &[Block],
    sector: usize,
    data: &mut [u8],
) {
    let subkeys = subkeys::<V>(proof, key, nonces);
    if sector < BLOCK * V::LANES {
        apply_to_pairs::<V>(proof, key, &subkeys, sector, data);
    } else {
        apply::<V>(proof, key, &subkeys, sector, data);
    }
}

/// ChaCha keys of a batch of sectors: word by word, one lane per sector.
struct Subkeys([[u32; MOST_SECTORS]; 8]);

/// The most sectors in a batch: a multiple of every register's lanes.
pub(super) const MOST_SECTORS: usize = 64;

/// HChaCha: the key and the first 16 bytes of each sector's nonce make the sector's ChaCha key.
#[inline(always)]
fn subkeys<V: Words>(proof: V::Proof, key: &StreamKey, nonces: &[Block]) -> Subkeys {
    let mut words = [[0; MOST_SECTORS]; 4];
    for (lane, nonce) in nonces.iter().enumerate() {
        for (word, bytes) in words.iter_mut().zip(nonce.as_chunks().0) {
            word[lane] = u32::from_le_bytes(*bytes);
        }
    }
    let mut subkeys = Subkeys([[0; MOST_SECTORS]; 8]);
    for first in (0..nonces.len()).step_by(V::LANES) {
        let mut state = [V::splat(proof, 0); 16];
        for index in 0..4 {
            state[index] = V::splat(proof, CONSTANTS[index]);
            state[4 + index] = V::splat(proof, key.key[index]);
            state[8 + index] = V::splat(proof, key.key[4 + index]);
            state[12 + index] = V::load(proof, &words[index][first..]);
        }
        permute(&mut state, key.rounds);
        for index in 0..4 {
            state[index].store(&mut subkeys.0[index][first..]);
            state[12 + index].store(&mut subkeys.0[4 + index][first..]);
        }
    }
    subkeys
}

/// ChaCha over sectors of as many blocks as a register has lanes, or a multiple of that.
#[inline(always)]
fn apply<V: Words>(proof: V::Proof, key: &StreamKey, subkeys: &Subkeys, sector: usize, data: &mut [u8]) {
    for (index, sector) in data.chunks_exact_mut(sector).enumerate() {
        let mut subkey = [V::splat(proof, 0); 8];
        for (word, words) in subkey.iter_mut().zip(&subkeys.0) {
            *word = V::splat(proof, words[index]);
        }
        let mut counters = V::load(proof, &COUNTERS);
        for blocks in sector.chunks_exact_mut(BLOCK * V::LANES) {
            V::xor_blocks(stream(proof, key, &subkey, counters), blocks);
            counters = counters.add(V::splat(proof, V::LANES as u32));
        }
    }
}

/// Sectors that fill half the lanes of a register: two side by side.
#[inline(always)]
fn apply_to_pairs<V: Words>(
    proof: V::Proof,
    key: &StreamKey,
    subkeys: &Subkeys,
    sector: usize,
    data: &mut [u8],
) {
    let counters = V::load(proof, &COUNTERS_OF_A_PAIR);
    for (index, pair) in data.chunks_mut(2 * sector).enumerate() {
        let mut subkey = [V::splat(proof, 0); 8];
        for (word, words) in subkey.iter_mut().zip(&subkeys.0) {
            *word = V::halves(proof, words[2 * index], words[2 * index + 1]);
        }
        let stream = stream(proof, key, &subkey, counters);
        if pair.len() == 2 * sector {
            V::xor_blocks(stream, pair);
        } else {
            let mut whole = [0; BLOCK * MOST_LANES];
            whole[..sector].copy_from_slice(pair);
            V::xor_blocks(stream, &mut whole);
            pair.copy_from_slice(&whole[..sector]);
        }
    }
}

/// The key stream of one block per lane.
#[inline(always)]
fn stream<V: Words>(proof: V::Proof, key: &StreamKey, subkey: &[V; 8], counters: V) -> [V; 16] {
    let [c0, c1, c2, c3] = CONSTANTS.map(|word| V::splat(proof, word));
    let [k0, k1, k2, k3, k4, k5, k6, k7] = *subkey;
    let (zero, end) = (V::splat(proof, 0), V::splat(proof, key.nonce_end));
    let start = [c0, c1, c2, c3, k0, k1, k2, k3, k4, k5, k6, k7, counters, zero, end, zero];
    let mut state = start;
    permute(&mut state, key.rounds);
    for (word, start) in state.iter_mut().zip(start) {
        *word = word.add(start);
    }
    state
}

#[inline(always)]
fn permute<V: Words>(state: &mut [V; 16], rounds: u8) {
    for _ in 0..rounds / 2 {
        quarter_round(state, [0, 4, 8, 12]);
        quarter_round(state, [1, 5, 9, 13]);
        quarter_round(state, [2, 6, 10, 14]);
        quarter_round(state, [3, 7, 11, 15]);
        quarter_round(state, [0, 5, 10, 15]);
        quarter_round(state, [1, 6, 11, 12]);
        quarter_round(state, [2, 7, 8, 13]);
        quarter_round(state, [3, 4, 9, 14]);
    }
}

#[inline(always)]
fn quarter_round<V: Words>(state: &mut [V; 16], [a, b, c, d]: [usize; 4]) {
    state[a] = state[a].add(state[b]);
    state[d] = state[d].xor(state[a]).rotate_16();
    state[c] = state[c].add(state[d]);
    state[b] = state[b].xor(state[c]).rotate_12();
    state[a] = state[a].add(state[b]);
    state[d] = state[d].xor(state[a]).rotate_8();
    state[c] = state[c].add(state[d]);
    state[b] = state[b].xor(state[c]).rotate_7();
}

/// Bytes in a ChaCha block.
pub(super) const BLOCK: usize = 64;

/// "expand 32-byte k".
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

const COUNTERS: [u32; MOST_LANES] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

const COUNTERS_OF_A_PAIR: [u32; MOST_LANES] = [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7];
