//! Whirlpool's chain. Each hash covers a digest after the key's block: one compression for the
//! digest and one for the padding.
//!
//! The first of the two starts from a keyed state that stays the
//! same: W's round keys for it are computed once.

use super::chains::{Chain, Chained, Words};
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
use super::x86;
use crate::Cpu;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
use crate::cpu::Feature;
use crate::hash::whirlpool::{PADDING, State, compress, compress_keyed, round_keys};
use zeroize::Zeroizing;

pub(super) struct Whirlpool;

impl Chained for Whirlpool {
    type State = State;
    const DIGEST: usize = 64;

    fn keyed(_: Cpu, block: &[u8]) -> State {
        let mut state = [0; 8];
        compress(&mut state, &State::read(block));
        state
    }

    fn iterate(cpu: Cpu, chains: &mut [Chain<State>], rounds: u32) {
        #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
        if cpu.has(Feature::Gfni) {
            return chains.iter_mut().for_each(|chain| x86::whirlpool(cpu, chain, rounds));
        }
        let _ = cpu;
        chains.iter_mut().for_each(|chain| iterate_one(chain, rounds));
    }
}

fn iterate_one(chain: &mut Chain<State>, rounds: u32) {
    let keys = [&chain.inner, &chain.outer].map(|state| Zeroizing::new(round_keys(state)));
    let padding = State::read(&PADDING);
    for _ in 0..rounds {
        for keys in &keys {
            chain.link = compress_keyed(keys, &chain.link);
            compress(&mut chain.link, &padding);
        }
        chain.sum.iter_mut().zip(&chain.link).for_each(|(sum, word)| *sum ^= word);
    }
}
