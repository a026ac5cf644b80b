//! AES modes over [`Lanes`]: one implementation for every vector width.
//!
//! Eight registers are in flight, which covers the latency of a round on every CPU with AES
//! instructions. Sectors are multiples of 512 bytes, and so of eight registers of any width up to
//! 512 bits: there is no tail within a sector.
//!
//! XTS is compiled for each number of rounds, so that AVX-512 keeps all round
//! keys in registers (15 keys, 8 blocks, 8 masks, 1 constant: all 32). The other
//! modes read each round key once for eight registers.

mod cbc;

pub(super) use cbc::{cbc_decrypt, cbc_encrypt};

use super::lanes::Lanes;
use super::schedule::Schedule;
use crate::block_cipher::Block;
use crate::simd::eight;

/// XTS (IEEE 1619) under encrypted tweaks, one per sector of `sector` bytes.
#[inline(always)]
pub(super) fn xts<V: Lanes, const ROUNDS: usize, const ENCRYPT: bool>(
    proof: V::Proof,
    schedule: &Schedule,
    tweaks: &[Block],
    sector: usize,
    data: &mut [u8],
) {
    let narrow = round_keys::<ENCRYPT>(schedule);
    let mut keys = [V::broadcast(proof, &narrow[0]); 15];
    for (key, narrow) in keys[..=ROUNDS].iter_mut().zip(narrow) {
        *key = V::broadcast(proof, narrow);
    }
    let Some((first, mut later)) = tweaks.split_first() else { return };
    let batches_a_sector = sector / (IN_FLIGHT * V::BLOCKS * size_of::<Block>());
    let mut left = batches_a_sector;
    let mut masks = masks_of::<V>(proof, first);
    for batch in data.as_chunks_mut().0.chunks_exact_mut(IN_FLIGHT * V::BLOCKS) {
        // The next batch's masks are computed before this batch's rounds, so that their latency
        // hides behind the rounds.
        left -= 1;
        let mut next = masks;
        if left > 0 {
            next = eight!(I => masks[I].eight_registers_on());
        } else if let Some((tweak, after)) = later.split_first() {
            next = masks_of::<V>(proof, tweak);
            (later, left) = (after, batches_a_sector);
        }
        let mut state = eight!(I => V::load(proof, &batch[I * V::BLOCKS..]).xor(masks[I]).xor(keys[0]));
        for key in &keys[1..ROUNDS] {
            state = eight!(I => round::<V, ENCRYPT>(state[I], *key));
        }
        for index in 0..IN_FLIGHT {
            // The last round's key and the mask are both added: adding them to each other first
            // takes one step off the dependency chain.
            let key = keys[ROUNDS].xor(masks[index]);
            last_round::<V, ENCRYPT>(state[index], key).store(&mut batch[index * V::BLOCKS..]);
        }
        masks = next;
    }
}

/// The masks of a sector's first eight registers.
#[inline(always)]
fn masks_of<V: Lanes>(proof: V::Proof, tweak: &Block) -> [V; IN_FLIGHT] {
    let first = V::powers(proof, tweak);
    let mut masks = [first; IN_FLIGHT];
    let registers_a_byte = 8 / V::BLOCKS;
    for index in 1..IN_FLIGHT {
        // Byte shifts do not occupy the unit that runs AES rounds; bit shifts do (Intel, 512 bits).
        masks[index] = match index.checked_sub(registers_a_byte) {
            None => first.times_x(index * V::BLOCKS),
            Some(before) => masks[before].times_x8(),
        };
    }
    masks
}

/// XCTR from block 0 on, one start value per sector of at most 4096 bytes.
#[inline(always)]
pub(super) fn xctr<V: Lanes, const ROUNDS: usize>(
    proof: V::Proof,
    schedule: &Schedule,
    starts: &[Block],
    sector: usize,
    data: &mut [u8],
) {
    let narrow = round_keys::<true>(schedule);
    let mut keys = [V::broadcast(proof, &narrow[0]); 15];
    for (key, narrow) in keys[..=ROUNDS].iter_mut().zip(narrow) {
        *key = V::broadcast(proof, narrow);
    }
    for (start, sector) in starts.iter().zip(data.chunks_exact_mut(sector)) {
        let start = V::broadcast(proof, start).xor(keys[0]);
        let batches = sector.as_chunks_mut().0.chunks_exact_mut(IN_FLIGHT * V::BLOCKS);
        for (batch, counters) in batches.zip(COUNTERS.chunks_exact(IN_FLIGHT * V::BLOCKS)) {
            let mut state = eight!(I => V::load(proof, &counters[I * V::BLOCKS..]).xor(start));
            for key in &keys[1..ROUNDS] {
                state = eight!(I => state[I].encrypt_round(*key));
            }
            for index in 0..IN_FLIGHT {
                // The last round's key and the data are both added: adding them to each other first
                // takes one step off the dependency chain.
                let data = V::load(proof, &batch[index * V::BLOCKS..]).xor(keys[ROUNDS]);
                state[index].encrypt_last(data).store(&mut batch[index * V::BLOCKS..]);
            }
        }
    }
}

/// Each block on its own (ECB).
#[inline(always)]
pub(super) fn ecb<V: Lanes, N: Lanes, const ENCRYPT: bool>(
    proof: V::Proof,
    narrow: N::Proof,
    schedule: &Schedule,
    blocks: &mut [Block],
) {
    let (batches, rest) = blocks.split_at_mut(blocks.len() - blocks.len() % (IN_FLIGHT * V::BLOCKS));
    for batch in batches.chunks_exact_mut(IN_FLIGHT * V::BLOCKS) {
        registers::<V, IN_FLIGHT, ENCRYPT>(proof, schedule, batch);
    }
    let mut single = rest.chunks_exact_mut(V::BLOCKS);
    for register in &mut single {
        registers::<V, 1, ENCRYPT>(proof, schedule, register);
    }
    for block in single.into_remainder().chunks_exact_mut(N::BLOCKS) {
        registers::<N, 1, ENCRYPT>(narrow, schedule, block);
    }
}

#[inline(always)]
fn registers<V: Lanes, const COUNT: usize, const ENCRYPT: bool>(
    proof: V::Proof,
    schedule: &Schedule,
    blocks: &mut [Block],
) {
    let mut state = [V::load(proof, blocks); COUNT];
    for index in 1..COUNT {
        state[index] = V::load(proof, &blocks[index * V::BLOCKS..]);
    }
    cipher::<V, COUNT, ENCRYPT>(proof, schedule, &mut state);
    for index in 0..COUNT {
        state[index].store(&mut blocks[index * V::BLOCKS..]);
    }
}

/// The whole cipher over `COUNT` registers.
#[inline(always)]
fn cipher<V: Lanes, const COUNT: usize, const ENCRYPT: bool>(
    proof: V::Proof,
    schedule: &Schedule,
    state: &mut [V; COUNT],
) {
    let keys = round_keys::<ENCRYPT>(schedule);
    let rounds = schedule.rounds.min(14);
    let first = V::broadcast(proof, &keys[0]);
    for block in &mut *state {
        *block = block.xor(first);
    }
    for key in &keys[1..rounds] {
        let key = V::broadcast(proof, key);
        for block in &mut *state {
            *block = round::<V, ENCRYPT>(*block, key);
        }
    }
    let last = V::broadcast(proof, &keys[rounds]);
    for block in &mut *state {
        *block = last_round::<V, ENCRYPT>(*block, last);
    }
}

#[inline(always)]
fn round<V: Lanes, const ENCRYPT: bool>(block: V, key: V) -> V {
    if ENCRYPT { block.encrypt_round(key) } else { block.decrypt_round(key) }
}

#[inline(always)]
fn last_round<V: Lanes, const ENCRYPT: bool>(block: V, key: V) -> V {
    if ENCRYPT { block.encrypt_last(key) } else { block.decrypt_last(key) }
}

#[inline(always)]
fn round_keys<const ENCRYPT: bool>(schedule: &Schedule) -> &[Block; 15] {
    if ENCRYPT { &schedule.encrypt } else { &schedule.decrypt }
}

/// The numbers of a sector's blocks, little endian.
static COUNTERS: [Block; 256] = {
    let mut counters = [[0; 16]; 256];
    let mut index = 0;
    while index < counters.len() {
        counters[index][0] = index as u8;
        index += 1;
    }
    counters
};

/// Registers in flight.
const IN_FLIGHT: usize = 8;
