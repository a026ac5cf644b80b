//! A vector of 32-bit words, one from each block: the type that [`super::rounds`] and
//! [`super::sbox`] are written in.
//!
//! A value exists only where the CPU has the instructions, because every way to make one
//! takes the width's proof; that is why the methods are safe. They are always inlined,
//! into functions compiled for those instructions.

use super::sbox::{self, Gates};
use crate::block_cipher::Block;

/// One word from each of [`Words::BLOCKS`] blocks.
pub(super) trait Words: Gates {
    /// Evidence that the CPU has the instructions of this width.
    type Proof: Copy;

    /// Blocks side by side.
    const BLOCKS: usize;

    /// The four little-endian words of the first [`Words::BLOCKS`]
    /// blocks; lanes may be in any order.
    fn load(proof: Self::Proof, blocks: &[Block]) -> [Self; 4];

    /// The inverse of [`Words::load`].
    fn store(words: [Self; 4], blocks: &mut [Block]);

    /// The same word in every lane.
    fn splat(proof: Self::Proof, word: u32) -> Self;

    /// Rotates each word left by `BY`, where `REST` is 32 - `BY`.
    fn rotate<const BY: i32, const REST: i32>(self) -> Self;

    /// Shifts each word left.
    fn shift<const BY: i32>(self) -> Self;

    /// S-box number `BOX`: the word with each nibble's lowest bit comes first.
    #[inline(always)]
    fn substitute<const BOX: usize>(words: [Self; 4]) -> [Self; 4] {
        sbox::substitute::<Self, BOX>(words)
    }

    /// The inverse of [`Words::substitute`].
    #[inline(always)]
    fn restore<const BOX: usize>(words: [Self; 4]) -> [Self; 4] {
        sbox::restore::<Self, BOX>(words)
    }
}

/// One block: the portable code.
impl Words for u32 {
    type Proof = ();
    const BLOCKS: usize = 1;

    #[inline(always)]
    fn load((): (), blocks: &[Block]) -> [Self; 4] {
        let words = blocks[0].as_chunks().0;
        [0, 1, 2, 3].map(|index| Self::from_le_bytes(words[index]))
    }

    #[inline(always)]
    fn store(words: [Self; 4], blocks: &mut [Block]) {
        for (bytes, word) in blocks[0].as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
    }

    #[inline(always)]
    fn splat((): (), word: u32) -> Self {
        word
    }

    #[inline(always)]
    fn rotate<const BY: i32, const REST: i32>(self) -> Self {
        self.rotate_left(BY as u32)
    }

    #[inline(always)]
    fn shift<const BY: i32>(self) -> Self {
        self << BY
    }
}

/// Two vectors side by side: their instructions interleave, which hides latency.
#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
#[derive(Clone, Copy)]
pub(super) struct Pair<V>(V, V);

#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
impl<V: Words> Words for Pair<V> {
    type Proof = V::Proof;
    const BLOCKS: usize = 2 * V::BLOCKS;

    #[inline(always)]
    fn load(proof: V::Proof, blocks: &[Block]) -> [Self; 4] {
        Self::join(V::load(proof, blocks), V::load(proof, &blocks[V::BLOCKS..]))
    }

    #[inline(always)]
    fn store(words: [Self; 4], blocks: &mut [Block]) {
        V::store(words.map(|pair| pair.0), blocks);
        V::store(words.map(|pair| pair.1), &mut blocks[V::BLOCKS..]);
    }

    #[inline(always)]
    fn splat(proof: V::Proof, word: u32) -> Self {
        let word = V::splat(proof, word);
        Self(word, word)
    }

    #[inline(always)]
    fn rotate<const BY: i32, const REST: i32>(self) -> Self {
        Self(self.0.rotate::<BY, REST>(), self.1.rotate::<BY, REST>())
    }

    #[inline(always)]
    fn shift<const BY: i32>(self) -> Self {
        Self(self.0.shift::<BY>(), self.1.shift::<BY>())
    }

    #[inline(always)]
    fn substitute<const BOX: usize>([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        let first = V::substitute::<BOX>([a.0, b.0, c.0, d.0]);
        Self::join(first, V::substitute::<BOX>([a.1, b.1, c.1, d.1]))
    }

    #[inline(always)]
    fn restore<const BOX: usize>([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        let first = V::restore::<BOX>([a.0, b.0, c.0, d.0]);
        Self::join(first, V::restore::<BOX>([a.1, b.1, c.1, d.1]))
    }
}

#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
impl<V: Copy> Pair<V> {
    #[inline(always)]
    fn join([a, b, c, d]: [V; 4], [e, f, g, h]: [V; 4]) -> [Self; 4] {
        [Self(a, e), Self(b, f), Self(c, g), Self(d, h)]
    }
}

#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
mod pair {
    use super::{Pair, Words};
    use core::ops::{BitAnd, BitOr, BitXor, Not};

    impl<V: Words> BitAnd for Pair<V> {
        type Output = Self;

        #[inline(always)]
        fn bitand(self, other: Self) -> Self {
            Self(self.0 & other.0, self.1 & other.1)
        }
    }

    impl<V: Words> BitOr for Pair<V> {
        type Output = Self;

        #[inline(always)]
        fn bitor(self, other: Self) -> Self {
            Self(self.0 | other.0, self.1 | other.1)
        }
    }

    impl<V: Words> BitXor for Pair<V> {
        type Output = Self;

        #[inline(always)]
        fn bitxor(self, other: Self) -> Self {
            Self(self.0 ^ other.0, self.1 ^ other.1)
        }
    }

    impl<V: Words> Not for Pair<V> {
        type Output = Self;

        #[inline(always)]
        fn not(self) -> Self {
            Self(!self.0, !self.1)
        }
    }
}
