//! Chains of HMACs on compression functions: SHA-1 and SHA-2.
//!
//! In PBKDF2 each HMAC is of one digest, so its two hashes are one compression each: the states after the key's inner
//! and outer block are computed once, and the message block is a digest with padding that never changes. Output blocks
//! are chains of their own and go side by side where that is faster.

use super::super::Stop;
use super::super::hmac::Hmac;
use super::ROUNDS_A_LOOK;
use crate::{Cpu, Error};
use zeroize::Zeroize;

/// A hash of the SHA-1 and SHA-2 family by its compression function.
pub(super) trait Compression {
    /// The chaining words; a digest is the first [`Compression::DIGEST`] bytes of them, big endian.
    type State: Copy + Zeroize;
    /// A message block.
    type Block: AsMut<[u8]> + Copy;

    /// Bytes a digest.
    const DIGEST: usize;
    /// The state before the first block.
    const START: Self::State;
    /// A block of zeros.
    const BLANK: Self::Block;
    /// Chains that go side by side at most.
    const SIDE_BY_SIDE: usize;

    fn compress(state: &mut Self::State, block: &Self::Block);

    /// Writes the digest.
    fn write(state: &Self::State, digest: &mut [u8]);

    /// The words of a digest; what is not in it is zero.
    fn read(digest: &[u8]) -> Self::State;

    /// `sum ^= link`.
    fn add(sum: &mut Self::State, link: &Self::State);

    /// Runs `rounds` iterations of each chain: a link becomes its HMAC and is added to its sum.
    fn iterate(_cpu: Cpu, key: &Keyed<Self::State>, chains: &mut [Chain<Self::State>], rounds: u32) {
        for chain in chains {
            iterate_one::<Self>(key, chain, rounds);
        }
    }
}

/// The states after the key's two blocks.
pub(super) struct Keyed<S> {
    pub(super) inner: S,
    pub(super) outer: S,
}

/// One output block: U_i and the sum of all U so far.
#[derive(Clone, Copy)]
pub(super) struct Chain<S> {
    pub(super) link: S,
    pub(super) sum: S,
}

/// Turns the first HMACs (U_1) in `blocks` into PBKDF2's output blocks, `rounds` iterations on.
pub(super) fn run<C: Compression>(
    cpu: Cpu,
    hmac: &Hmac,
    rounds: u32,
    blocks: &mut [u8],
    stop: &Stop,
) -> Result<(), Error> {
    let keyed = |bytes: &[u8]| {
        let (mut state, mut block) = (C::START, C::BLANK);
        block.as_mut().copy_from_slice(bytes);
        C::compress(&mut state, &block);
        state
    };
    let mut key = Keyed { inner: keyed(hmac.inner_block()), outer: keyed(hmac.outer_block()) };
    let mut chains = [Chain { link: C::START, sum: C::START }; MOST_SIDE_BY_SIDE];
    let result = blocks.chunks_mut(C::DIGEST * C::SIDE_BY_SIDE).try_for_each(|group| {
        let chains = &mut chains[..group.len() / C::DIGEST];
        for (chain, digest) in chains.iter_mut().zip(group.chunks(C::DIGEST)) {
            chain.link = C::read(digest);
            chain.sum = chain.link;
        }
        in_steps(rounds, stop, |now| C::iterate(cpu, &key, chains, now))?;
        for (chain, digest) in chains.iter().zip(group.chunks_mut(C::DIGEST)) {
            C::write(&chain.sum, digest);
        }
        Ok(())
    });
    // The states after the key's blocks are as good as the password.
    key.inner.zeroize();
    key.outer.zeroize();
    for chain in &mut chains {
        chain.link.zeroize();
        chain.sum.zeroize();
    }
    result
}

/// Runs `iterate` until `rounds` are done, with a look at `stop` before each step.
pub(super) fn in_steps(rounds: u32, stop: &Stop, mut iterate: impl FnMut(u32)) -> Result<(), Error> {
    let mut left = rounds;
    while left > 0 {
        if stop.is_stopped() {
            return Err(Error::Stopped);
        }
        let now = left.min(ROUNDS_A_LOOK);
        iterate(now);
        left -= now;
    }
    Ok(())
}

/// One chain over [`Compression::compress`].
pub(super) fn iterate_one<C: Compression + ?Sized>(
    key: &Keyed<C::State>,
    chain: &mut Chain<C::State>,
    rounds: u32,
) {
    let mut block = C::BLANK;
    pad(block.as_mut(), C::DIGEST);
    for _ in 0..rounds {
        for start in [&key.inner, &key.outer] {
            C::write(&chain.link, &mut block.as_mut()[..C::DIGEST]);
            chain.link = *start;
            C::compress(&mut chain.link, &block);
        }
        C::add(&mut chain.sum, &chain.link);
    }
}

/// FIPS 180-4's padding of a message that is one block (the key's) and a digest long.
fn pad(block: &mut [u8], digest: usize) {
    let length = block.len();
    block[digest] = 0x80;
    block[length - 8..].copy_from_slice(&(8 * (length + digest) as u64).to_be_bytes());
}

/// The widest [`Compression::SIDE_BY_SIDE`].
const MOST_SIDE_BY_SIDE: usize = 4;
