//! Camellia over [`Bytes`]: one implementation for every vector width.

use super::bytes::Bytes;
use super::schedule::{SpreadKey, Subkeys};
use crate::block_cipher::Block;
use crate::simd::eight;

/// Half a block: eight bytes, the first one first.
type Half<V> = [V; 8];

/// Encrypts blocks, or decrypts them under reversed subkeys; the last blocks form a batch padded
/// with zeros.
#[inline(always)]
pub(super) fn blocks<V: Bytes>(proof: V::Proof, keys: &Subkeys, blocks: &mut [Block]) {
    let mut batches = blocks.chunks_exact_mut(V::BLOCKS);
    for batch in &mut batches {
        run::<V>(proof, keys, batch);
    }
    let rest = batches.into_remainder();
    if !rest.is_empty() {
        let mut batch = [[0; 16]; MOST_BLOCKS];
        batch[..rest.len()].copy_from_slice(rest);
        run::<V>(proof, keys, &mut batch[..V::BLOCKS]);
        rest.copy_from_slice(&batch[..rest.len()]);
    }
}

#[inline(always)]
fn run<V: Bytes>(proof: V::Proof, keys: &Subkeys, batch: &mut [Block]) {
    let keys_of = &keys.spread;
    let low = eight!(I => V::load(proof, batch, I));
    let high = eight!(I => V::load(proof, batch, 8 + I));
    let (left, right) = transpose(low, high);
    let mut left = add(proof, left, &keys_of.whitening[0]);
    let mut right = add(proof, right, &keys_of.whitening[1]);
    for (group, rounds) in keys_of.rounds.as_chunks::<6>().0[..=keys.layer_count].iter().enumerate() {
        if let Some(layer) = group.checked_sub(1) {
            left = fl(proof, left, &keys_of.layers[2 * layer]);
            right = fl_inverse(proof, right, &keys_of.layers[2 * layer + 1]);
        }
        for pair in rounds.as_chunks::<2>().0 {
            right = round(proof, left, right, &pair[0]);
            left = round(proof, right, left, &pair[1]);
        }
    }
    let right = add(proof, right, &keys_of.whitening[2]);
    let left = add(proof, left, &keys_of.whitening[3]);
    let (low, high) = transpose(right, left);
    eight!(I => low[I].store(batch, I));
    eight!(I => high[I].store(batch, 8 + I));
}

#[inline(always)]
fn add<V: Bytes>(proof: V::Proof, half: Half<V>, key: &SpreadKey) -> Half<V> {
    eight!(I => half[I] ^ V::splat(proof, key[I]))
}

/// The function F of one half, added to the other.
#[inline(always)]
fn round<V: Bytes>(proof: V::Proof, half: Half<V>, other: Half<V>, key: &SpreadKey) -> Half<V> {
    let keyed = add(proof, half, key);
    let (a, b, c, d) = (
        keyed[0].substitute::<1>(),
        keyed[1].substitute::<2>(),
        keyed[2].substitute::<3>(),
        keyed[3].substitute::<4>(),
    );
    let (e, f, g, h) = (
        keyed[4].substitute::<2>(),
        keyed[5].substitute::<3>(),
        keyed[6].substitute::<4>(),
        keyed[7].substitute::<1>(),
    );
    // The function P in four layers (the specification, section 4.3,
    // figure 4): each sum serves two outputs.
    let (a, b, c, d) = (a ^ f, b ^ g, c ^ h, d ^ e);
    let (e, f, g, h) = (e ^ c, f ^ d, g ^ a, h ^ b);
    let (a, b, c, d) = (a ^ h, b ^ e, c ^ f, d ^ g);
    let sums = [e ^ d, f ^ a, g ^ b, h ^ c, a, b, c, d];
    eight!(I => other[I] ^ sums[I])
}

/// The function FL.
#[inline(always)]
fn fl<V: Bytes>(proof: V::Proof, half: Half<V>, key: &SpreadKey) -> Half<V> {
    fl_left(proof, fl_right(proof, half, key), key)
}

/// The inverse of the function FL.
#[inline(always)]
fn fl_inverse<V: Bytes>(proof: V::Proof, half: Half<V>, key: &SpreadKey) -> Half<V> {
    fl_right(proof, fl_left(proof, half, key), key)
}

/// The right word takes the left one, masked with the key and rotated by a bit.
#[inline(always)]
fn fl_right<V: Bytes>(proof: V::Proof, [a, b, c, d, e, f, g, h]: Half<V>, key: &SpreadKey) -> Half<V> {
    let (i, j) = (a & V::splat(proof, key[0]), b & V::splat(proof, key[1]));
    let (k, l) = (c & V::splat(proof, key[2]), d & V::splat(proof, key[3]));
    [a, b, c, d, e ^ i.shift_in(j), f ^ j.shift_in(k), g ^ k.shift_in(l), h ^ l.shift_in(i)]
}

/// The left word takes the right one with the key's bits set.
#[inline(always)]
fn fl_left<V: Bytes>(proof: V::Proof, [a, b, c, d, e, f, g, h]: Half<V>, key: &SpreadKey) -> Half<V> {
    let (i, j) = (e | V::splat(proof, key[4]), f | V::splat(proof, key[5]));
    let (k, l) = (g | V::splat(proof, key[6]), h | V::splat(proof, key[7]));
    [a ^ i, b ^ j, c ^ k, d ^ l, e, f, g, h]
}

/// Transposes the 16×16 bytes that the registers have in each 128-bit lane: blocks to bytes of the
/// same position, and back.
///
/// A byte's address is its register's number and its position in the register, eight bits in all;
/// each step rotates the addresses by one bit.
#[inline(always)]
fn transpose<V: Bytes>(low: Half<V>, high: Half<V>) -> (Half<V>, Half<V>) {
    let (low, high) = interleave(low, high);
    let (low, high) = interleave(low, high);
    let (low, high) = interleave(low, high);
    interleave(low, high)
}

#[inline(always)]
fn interleave<V: Bytes>(low: Half<V>, high: Half<V>) -> (Half<V>, Half<V>) {
    let [(a, b), (c, d), (e, f), (g, h), (i, j), (k, l), (m, n), (o, p)] =
        eight!(I => low[I].interleave(high[I]));
    ([a, b, c, d, e, f, g, h], [i, j, k, l, m, n, o, p])
}

/// Blocks of the widest batch.
const MOST_BLOCKS: usize = 64;
