//! AES in bit slices: constant time without special instructions, on
//! any vector that has and, xor and byte moves.
//!
//! Eight blocks become eight [`Plane`]s: plane k holds bit k of all 128 bytes, a byte's position in
//! the state is its position in the plane, and each bit of it belongs to one block. SubBytes is
//! then a circuit (`sbox`), ShiftRows moves bytes, and MixColumns rotates columns. A round key is
//! the same for all blocks, so its planes are bytes of all ones or all zeros.

mod plane;
mod sbox;

pub(super) use plane::{Plane, Word};

use super::schedule::Schedule;
use crate::block_cipher::{Block, BlockCipher, Cipher128};
use core::marker::PhantomData;

/// An expanded key, run in slices of `P`.
pub(super) struct Sliced<'a, P: Plane> {
    schedule: &'a Schedule,
    proof: P::Proof,
    plane: PhantomData<fn() -> P>,
}

impl<'a, P: Plane> Sliced<'a, P> {
    #[inline(always)]
    pub(super) fn new(proof: P::Proof, schedule: &'a Schedule) -> Self {
        Self { schedule, proof, plane: PhantomData }
    }

    /// Runs `cipher` over eight blocks at a time.
    #[inline(always)]
    fn eight_at_a_time(&self, blocks: &mut [Block], cipher: impl Fn(&mut [Block; 8])) {
        let (eights, rest) = blocks.as_chunks_mut();
        eights.iter_mut().for_each(&cipher);
        if !rest.is_empty() {
            let mut eight = [[0; 16]; 8];
            eight[..rest.len()].copy_from_slice(rest);
            cipher(&mut eight);
            rest.copy_from_slice(&eight[..rest.len()]);
        }
    }
}

impl<P: Plane> BlockCipher for Sliced<'_, P> {
    #[inline(always)]
    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        self.eight_at_a_time(blocks, |eight| encrypt::<P>(self.proof, self.schedule, eight));
    }

    #[inline(always)]
    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        self.eight_at_a_time(blocks, |eight| decrypt::<P>(self.proof, self.schedule, eight));
    }
}

impl<P: Plane> Cipher128 for Sliced<'_, P> {}

/// The cipher (FIPS 197, 5.1).
#[inline(always)]
fn encrypt<P: Plane>(proof: P::Proof, schedule: &Schedule, blocks: &mut [Block; 8]) {
    let rounds = schedule.rounds.min(14);
    let keys = &schedule.encrypt;
    let mut state = transposed(blocks.each_ref().map(|block| P::load(proof, block)));
    state = add_key(proof, state, &keys[0]);
    for key in &keys[1..rounds] {
        state = sbox::forward(state).map(P::shift_rows);
        state = add_key(proof, mix_columns(state), key);
    }
    state = sbox::forward(state).map(P::shift_rows);
    state = add_key(proof, state, &keys[rounds]);
    store(state, blocks);
}

/// The equivalent inverse cipher (FIPS 197, 5.3.5).
#[inline(always)]
fn decrypt<P: Plane>(proof: P::Proof, schedule: &Schedule, blocks: &mut [Block; 8]) {
    let rounds = schedule.rounds.min(14);
    let keys = &schedule.decrypt;
    let mut state = transposed(blocks.each_ref().map(|block| P::load(proof, block)));
    state = add_key(proof, state, &keys[0]);
    for key in &keys[1..rounds] {
        state = sbox::inverse(state).map(P::unshift_rows);
        state = add_key(proof, unmix_columns(state), key);
    }
    state = sbox::inverse(state).map(P::unshift_rows);
    state = add_key(proof, state, &keys[rounds]);
    store(state, blocks);
}

#[inline(always)]
fn store<P: Plane>(state: [P; 8], blocks: &mut [Block; 8]) {
    for (block, vector) in blocks.iter_mut().zip(transposed(state)) {
        vector.store(block);
    }
}

/// Blocks to planes and back: at each byte position, an 8 × 8 matrix of bits is transposed.
#[inline(always)]
fn transposed<P: Plane>(mut v: [P; 8]) -> [P; 8] {
    for (low, high) in [(0, 1), (2, 3), (4, 5), (6, 7)] {
        (v[low], v[high]) = swap::<P, 1>(v[low], v[high], 0x55);
    }
    for (low, high) in [(0, 2), (1, 3), (4, 6), (5, 7)] {
        (v[low], v[high]) = swap::<P, 2>(v[low], v[high], 0x33);
    }
    for (low, high) in [(0, 4), (1, 5), (2, 6), (3, 7)] {
        (v[low], v[high]) = swap::<P, 4>(v[low], v[high], 0x0f);
    }
    v
}

/// Exchanges the bits of `low` above `mask` with those of `high` below it.
#[inline(always)]
fn swap<P: Plane, const SHIFT: i32>(low: P, high: P, mask: u8) -> (P, P) {
    let difference = low.bits_right::<SHIFT>(mask).xor(high.masked(mask));
    (low.xor(difference.bits_left::<SHIFT>()), high.xor(difference))
}

#[inline(always)]
fn add_key<P: Plane>(proof: P::Proof, state: [P; 8], key: &Block) -> [P; 8] {
    let key = P::load(proof, key);
    let mut sum = state;
    sum[0] = state[0].xor(key.spread::<0>());
    sum[1] = state[1].xor(key.spread::<1>());
    sum[2] = state[2].xor(key.spread::<2>());
    sum[3] = state[3].xor(key.spread::<3>());
    sum[4] = state[4].xor(key.spread::<4>());
    sum[5] = state[5].xor(key.spread::<5>());
    sum[6] = state[6].xor(key.spread::<6>());
    sum[7] = state[7].xor(key.spread::<7>());
    sum
}

/// MixColumns (FIPS 197, 5.1.3): 2·(a + a') + a' + (a + a')'' where '
/// is the column turned by one byte.
#[inline(always)]
fn mix_columns<P: Plane>(a: [P; 8]) -> [P; 8] {
    let next = a.map(P::turn_columns);
    let sum = zip(a, next, P::xor);
    zip(zip(times_two(sum), next, P::xor), sum.map(P::turn_columns_twice), P::xor)
}

/// InvMixColumns (5.3.3): the matrix (0e 0b 0d 09) is that of MixColumns times (05 00 04 00).
#[inline(always)]
fn unmix_columns<P: Plane>(a: [P; 8]) -> [P; 8] {
    let sum = zip(a, a.map(P::turn_columns_twice), P::xor);
    mix_columns(zip(a, times_two(times_two(sum)), P::xor))
}

/// Each byte times x modulo x^8 + x^4 + x^3 + x + 1.
#[inline(always)]
fn times_two<P: Plane>(a: [P; 8]) -> [P; 8] {
    [a[7], a[0].xor(a[7]), a[1], a[2].xor(a[7]), a[3].xor(a[7]), a[4], a[5], a[6]]
}

#[inline(always)]
fn zip<P: Plane>(a: [P; 8], b: [P; 8], with: impl Fn(P, P) -> P) -> [P; 8] {
    core::array::from_fn(|index| with(a[index], b[index]))
}
