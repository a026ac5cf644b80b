//! RIPEMD-160 and BLAKE2s-256 as [`Chained`] hashes. Their words are little endian, and chains hold
//! big-endian digests: links and sums are turned around before and after a run.

use super::chains::{Chain, Chained};
use super::lanes::{BLAKE2S_IV, Lanes, MOST_LANES, One, blake2s, blake2s_block, ripemd160, ripemd160_block};
use super::machine;
use crate::Cpu;

pub(super) struct Ripemd160;
pub(super) struct Blake2s256;

impl Chained for Ripemd160 {
    type State = [u32; 5];
    const DIGEST: usize = 20;

    fn keyed(_: Cpu, block: &[u8]) -> Self::State {
        words(ripemd160_block((), &RIPEMD160.map(one), &message(block)))
    }

    fn iterate(cpu: Cpu, chains: &mut [Chain<Self::State>], rounds: u32) {
        let alone = |chain: &mut _| ripemd160::<One>((), core::slice::from_mut(chain), rounds);
        in_turn(chains, |left| machine::ripemd160(cpu, left, rounds), alone);
    }
}

impl Chained for Blake2s256 {
    type State = [u32; 8];
    const DIGEST: usize = 32;

    fn keyed(_: Cpu, block: &[u8]) -> Self::State {
        let mut start = BLAKE2S_IV;
        start[0] ^= PARAMETERS;
        words(blake2s_block((), &start.map(one), &message(block), block.len() as u32, false))
    }

    fn iterate(cpu: Cpu, chains: &mut [Chain<Self::State>], rounds: u32) {
        let alone = |chain: &mut _| blake2s::<One>((), core::slice::from_mut(chain), rounds);
        in_turn(chains, |left| machine::blake2s(cpu, left, rounds), alone);
    }
}

/// Runs all chains: `some` takes as many of the first as it likes; if none, `alone` takes one.
fn in_turn<const N: usize>(
    chains: &mut [Chain<[u32; N]>],
    some: impl Fn(&mut [Chain<[u32; N]>]) -> usize,
    alone: impl Fn(&mut Chain<[u32; N]>),
) {
    turn(chains);
    let mut left = &mut *chains;
    while !left.is_empty() {
        let mut done = some(left);
        if done == 0 {
            alone(&mut left[0]);
            done = 1;
        }
        left = &mut left[done..];
    }
    turn(chains);
}

/// From digests to words, and back.
fn turn<const N: usize>(chains: &mut [Chain<[u32; N]>]) {
    for chain in chains {
        chain.link = chain.link.map(u32::swap_bytes);
        chain.sum = chain.sum.map(u32::swap_bytes);
    }
}

fn one(word: u32) -> One {
    One::splat((), word)
}

fn words<const N: usize>(state: [One; N]) -> [u32; N] {
    state.map(|word| {
        let mut stored = [0; MOST_LANES];
        word.store(&mut stored);
        stored[0]
    })
}

fn message(block: &[u8]) -> [One; 16] {
    let words = block.as_chunks().0;
    core::array::from_fn(|at| one(u32::from_le_bytes(words[at])))
}

/// The state before the first block: SHA-1's.
const RIPEMD160: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
/// RFC 7693, section 2.5: a digest of 32 bytes, no key, one leaf.
const PARAMETERS: u32 = 0x0101_0020;
