//! Chains of HMACs on compression functions.
//!
//! In PBKDF2 the message of each HMAC is one digest, so each of its two hashes takes one
//! compression (two for Whirlpool, whose padding takes a separate block): the states after the
//! key's inner and outer block are computed once, and the message block is a digest with padding
//! that never changes. Each output block of each password is a separate chain, and chains run side
//! by side where that is faster.

use super::super::Stop;
use super::super::hmac::{Hmac, LONGEST_DIGEST};
use super::ROUNDS_A_LOOK;
use crate::{Cpu, Error, Hash};
use zeroize::{Zeroize, Zeroizing};

/// A hash used through its compression function.
pub(super) trait Chained {
    /// The chaining words; a digest is the first [`Chained::DIGEST`] bytes of them, big endian.
    type State: Words;

    /// Bytes per digest.
    const DIGEST: usize;

    /// The state after a key's block.
    fn keyed(cpu: Cpu, block: &[u8]) -> Self::State;

    /// Runs `rounds` iterations of each chain: a link becomes its HMAC and is added to its sum.
    /// Uses the fastest code that `cpu` has for that many chains.
    fn iterate(cpu: Cpu, chains: &mut [Chain<Self::State>], rounds: u32);
}

/// A state: up to eight words.
pub(super) trait Words: Copy + Zeroize {
    const ZERO: Self;

    /// Writes the words big endian, truncated to the length of `digest`.
    fn write(&self, digest: &mut [u8]);

    /// The words of a digest; words beyond the digest are zero.
    fn read(digest: &[u8]) -> Self;

    /// The words as 64 bits each, followed by zeros.
    #[cfg(feature = "std")]
    fn widen(&self) -> [u64; 8];

    /// The reverse of [`Words::widen`].
    #[cfg(feature = "std")]
    fn narrow(words: &[u64; 8]) -> Self;
}

macro_rules! words {
    ($word:ty, $count:literal) => {
        impl Words for [$word; $count] {
            const ZERO: Self = [0; $count];

            fn write(&self, digest: &mut [u8]) {
                for (bytes, word) in digest.chunks_mut(size_of::<$word>()).zip(self) {
                    bytes.copy_from_slice(&word.to_be_bytes()[..bytes.len()]);
                }
            }

            fn read(digest: &[u8]) -> Self {
                let mut state = Self::ZERO;
                for (word, bytes) in state.iter_mut().zip(digest.as_chunks().0) {
                    *word = <$word>::from_be_bytes(*bytes);
                }
                state
            }

            #[cfg(feature = "std")]
            fn widen(&self) -> [u64; 8] {
                let mut words = [0; 8];
                words.iter_mut().zip(self).for_each(|(wide, word)| *wide = u64::from(*word));
                words
            }

            #[cfg(feature = "std")]
            fn narrow(words: &[u64; 8]) -> Self {
                let mut state = Self::ZERO;
                state.iter_mut().zip(words).for_each(|(word, wide)| *word = *wide as $word);
                state
            }
        }
    };
}
words!(u32, 5);
words!(u32, 8);
words!(u64, 8);

/// One output block in progress.
#[derive(Clone, Copy)]
pub(super) struct Chain<S> {
    /// The states after the key's two blocks.
    pub(super) inner: S,
    pub(super) outer: S,
    /// U_i, and the sum of all U so far.
    pub(super) link: S,
    pub(super) sum: S,
}

impl<S: Words> Chain<S> {
    pub(super) const BLANK: Self = Self { inner: S::ZERO, outer: S::ZERO, link: S::ZERO, sum: S::ZERO };
}

/// The keyed states are as sensitive as the password.
impl<S: Zeroize> Zeroize for Chain<S> {
    fn zeroize(&mut self) {
        self.inner.zeroize();
        self.outer.zeroize();
        self.link.zeroize();
        self.sum.zeroize();
    }
}

/// The chain of output block `index`, at U_1.
pub(super) fn start<C: Chained>(cpu: Cpu, hmac: &Hmac, salt: &[u8], index: u32) -> Chain<C::State> {
    let mut first = Zeroizing::new([0; LONGEST_DIGEST]);
    hmac.mac([salt, &index.to_be_bytes()], &mut first[..C::DIGEST]);
    let link = C::State::read(&first[..C::DIGEST]);
    let [inner, outer] = [hmac.inner_block(), hmac.outer_block()].map(|block| C::keyed(cpu, block));
    Chain { inner, outer, link, sum: link }
}

/// PBKDF2 into `out`, from digest `before` + 1 on.
pub(super) fn derive<C: Chained>(
    cpu: Cpu,
    before: u32,
    hash: Hash,
    inputs: [&[u8]; 2],
    iterations: u32,
    out: &mut [u8],
    stop: &Stop,
) -> Result<(), Error> {
    let [password, salt] = inputs;
    let hmac = Hmac::new(hash, password);
    let mut chains = Zeroizing::new([Chain::<C::State>::BLANK; MOST_SIDE_BY_SIDE]);
    let mut index = before;
    for group in out.chunks_mut(C::DIGEST * MOST_SIDE_BY_SIDE) {
        let chains = &mut chains[..group.len().div_ceil(C::DIGEST)];
        for chain in &mut *chains {
            index += 1;
            *chain = start::<C>(cpu, &hmac, salt, index);
        }
        in_steps(iterations - 1, stop, |now| C::iterate(cpu, chains, now))?;
        for (chain, digest) in chains.iter().zip(group.chunks_mut(C::DIGEST)) {
            chain.sum.write(digest);
        }
    }
    Ok(())
}

/// Runs `iterate` until `rounds` are done, checking `stop` before each step.
fn in_steps(rounds: u32, stop: &Stop, mut iterate: impl FnMut(u32)) -> Result<(), Error> {
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

/// The most chains that [`Chained::iterate`] can run side by side.
pub(super) const MOST_SIDE_BY_SIDE: usize = 16;
