//! Serpent's 32 rounds over [`Words`]: one implementation for every vector width and for the
//! portable code.

use super::schedule::Schedule;
use super::words::Words;
use crate::block_cipher::Block;

/// Encrypts or decrypts blocks, `V::BLOCKS` at a time; the last blocks form a batch padded with
/// zeros.
#[inline(always)]
pub(super) fn blocks<V: Words, const ENCRYPT: bool>(
    proof: V::Proof,
    schedule: &Schedule,
    blocks: &mut [Block],
) {
    let mut batches = blocks.chunks_exact_mut(V::BLOCKS);
    for batch in &mut batches {
        run::<V, ENCRYPT>(proof, schedule, batch);
    }
    let rest = batches.into_remainder();
    if !rest.is_empty() {
        let mut batch = [[0; 16]; MOST_BLOCKS];
        batch[..rest.len()].copy_from_slice(rest);
        run::<V, ENCRYPT>(proof, schedule, &mut batch);
        rest.copy_from_slice(&batch[..rest.len()]);
    }
}

#[inline(always)]
fn run<V: Words, const ENCRYPT: bool>(proof: V::Proof, schedule: &Schedule, batch: &mut [Block]) {
    let state = V::load(proof, batch);
    let state = if ENCRYPT { encrypt(proof, schedule, state) } else { decrypt(proof, schedule, state) };
    V::store(state, batch);
}

/// A round: round key, S-box, linear transformation. The last one has a second key instead of the
/// transformation.
#[inline(always)]
fn encrypt<V: Words>(proof: V::Proof, schedule: &Schedule, mut state: [V; 4]) -> [V; 4] {
    let (eights, last) = schedule.0.as_chunks::<8>();
    for (eight, keys) in eights.iter().enumerate() {
        state = mix(V::substitute::<0>(add(proof, state, &keys[0])));
        state = mix(V::substitute::<1>(add(proof, state, &keys[1])));
        state = mix(V::substitute::<2>(add(proof, state, &keys[2])));
        state = mix(V::substitute::<3>(add(proof, state, &keys[3])));
        state = mix(V::substitute::<4>(add(proof, state, &keys[4])));
        state = mix(V::substitute::<5>(add(proof, state, &keys[5])));
        state = mix(V::substitute::<6>(add(proof, state, &keys[6])));
        state = V::substitute::<7>(add(proof, state, &keys[7]));
        if eight < 3 {
            state = mix(state);
        }
    }
    add(proof, state, &last[0])
}

/// The inverse of [`encrypt`].
#[inline(always)]
fn decrypt<V: Words>(proof: V::Proof, schedule: &Schedule, state: [V; 4]) -> [V; 4] {
    let (eights, last) = schedule.0.as_chunks::<8>();
    let mut state = add(proof, state, &last[0]);
    for (eight, keys) in eights.iter().enumerate().rev() {
        if eight < 3 {
            state = unmix(state);
        }
        state = add(proof, V::restore::<7>(state), &keys[7]);
        state = add(proof, V::restore::<6>(unmix(state)), &keys[6]);
        state = add(proof, V::restore::<5>(unmix(state)), &keys[5]);
        state = add(proof, V::restore::<4>(unmix(state)), &keys[4]);
        state = add(proof, V::restore::<3>(unmix(state)), &keys[3]);
        state = add(proof, V::restore::<2>(unmix(state)), &keys[2]);
        state = add(proof, V::restore::<1>(unmix(state)), &keys[1]);
        state = add(proof, V::restore::<0>(unmix(state)), &keys[0]);
    }
    state
}

#[inline(always)]
fn add<V: Words>(proof: V::Proof, [a, b, c, d]: [V; 4], key: &[u32; 4]) -> [V; 4] {
    [
        a ^ V::splat(proof, key[0]),
        b ^ V::splat(proof, key[1]),
        c ^ V::splat(proof, key[2]),
        d ^ V::splat(proof, key[3]),
    ]
}

/// The linear transformation.
#[inline(always)]
fn mix<V: Words>([a, b, c, d]: [V; 4]) -> [V; 4] {
    let (a, c) = (a.rotate::<13, 19>(), c.rotate::<3, 29>());
    let (b, d) = ((b ^ a ^ c).rotate::<1, 31>(), (d ^ c ^ a.shift::<3>()).rotate::<7, 25>());
    let (a, c) = (a ^ b ^ d, c ^ d ^ b.shift::<7>());
    [a.rotate::<5, 27>(), b, c.rotate::<22, 10>(), d]
}

/// The inverse of [`mix`].
#[inline(always)]
fn unmix<V: Words>([a, b, c, d]: [V; 4]) -> [V; 4] {
    let (a, c) = (a.rotate::<27, 5>(), c.rotate::<10, 22>());
    let (a, c) = (a ^ b ^ d, c ^ d ^ b.shift::<7>());
    let (b, d) = (b.rotate::<31, 1>(), d.rotate::<25, 7>());
    let (b, d) = (b ^ a ^ c, d ^ c ^ a.shift::<3>());
    [a.rotate::<19, 13>(), b, c.rotate::<29, 3>(), d]
}

/// Blocks of the widest batch.
const MOST_BLOCKS: usize = 32;
