//! One lane without vectors: the portable code of hashes that are written in lanes alone.

use super::{Lanes, MOST_LANES};

/// A word.
#[derive(Clone, Copy)]
pub(in super::super) struct One(u32);

impl Lanes for One {
    type Proof = ();
    type Word = u32;
    const LANES: usize = 1;

    #[inline(always)]
    fn load((): (), words: &[u32; MOST_LANES]) -> Self {
        Self(words[0])
    }

    #[inline(always)]
    fn store(self, words: &mut [u32; MOST_LANES]) {
        words[0] = self.0;
    }

    #[inline(always)]
    fn splat((): (), word: u32) -> Self {
        Self(word)
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }

    #[inline(always)]
    fn choose(self, yes: Self, no: Self) -> Self {
        Self(no.0 ^ (self.0 & (yes.0 ^ no.0)))
    }

    #[inline(always)]
    fn majority(self, second: Self, third: Self) -> Self {
        Self((self.0 & second.0) | (third.0 & (self.0 | second.0)))
    }

    #[inline(always)]
    fn rotate_right<const BITS: i32>(self) -> Self {
        Self(self.0.rotate_right(BITS as u32))
    }

    #[inline(always)]
    fn shift_right<const BITS: i32>(self) -> Self {
        Self(self.0 >> BITS)
    }
}
