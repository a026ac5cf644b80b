//! Chains in the lanes of vectors: SHA-1, SHA-2, RIPEMD-160 and BLAKE2s as safe code over
//! a vector of words, whatever its width. [`One`] is one lane, without vectors.
//!
//! A value exists only where the CPU has the instructions, because every way to make one
//! takes the width's proof; that is why the methods are safe. They are always inlined,
//! into functions compiled for those instructions.
//!
//! Message words after the digest are padding that never changes:
//! they enter the schedule as constants.

mod blake2s;
mod one;
mod ripemd160;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod sha1;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod sha2;

use super::chains::Chain;
pub(super) use blake2s::{IV as BLAKE2S_IV, blake2s, blake2s_block};
pub(super) use one::One;
pub(super) use ripemd160::{ripemd160, ripemd160_block};
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub(super) use sha1::sha1;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub(super) use sha2::{sha256, sha256_pieces, sha512};

/// [`Lanes::LANES`] words in one register.
#[cfg_attr(
    not(all(target_arch = "x86_64", target_feature = "sse2")),
    allow(dead_code, reason = "SHA-1 and SHA-2 are in lanes on x86-64 alone")
)]
pub(super) trait Lanes: Copy {
    /// Evidence that the CPU has the instructions of this width.
    type Proof: Copy;

    /// `u32` or `u64`.
    type Word: Copy + Default;

    /// Words per register.
    const LANES: usize;

    /// The first [`Lanes::LANES`] words of `words`.
    fn load(proof: Self::Proof, words: &[Self::Word; MOST_LANES]) -> Self;

    /// Writes the words to the start of `words`.
    fn store(self, words: &mut [Self::Word; MOST_LANES]);

    /// The same word in every lane.
    fn splat(proof: Self::Proof, word: Self::Word) -> Self;

    fn add(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;

    /// Bits of `yes` where `self` has ones, of `no` where it has zeros.
    fn choose(self, yes: Self, no: Self) -> Self;

    /// The bits set in at least two of the three.
    fn majority(self, second: Self, third: Self) -> Self;

    fn rotate_right<const BITS: i32>(self) -> Self;
    fn shift_right<const BITS: i32>(self) -> Self;
}

/// Words of the widest register.
pub(super) const MOST_LANES: usize = 16;

/// A hash's compression in lanes. (Not a closure: only code that is always inlined is compiled with
/// the caller's instruction set.)
trait Compress<V: Lanes, const N: usize> {
    /// The states after a block that consists of a digest, padding, and the length of a key's block
    /// plus a digest.
    fn compress(proof: V::Proof, start: &[V; N], digest: &[V; N]) -> [V; N];
}

/// Iterates up to [`Lanes::LANES`] chains.
#[inline(always)]
fn iterate<V: Lanes, C: Compress<V, N>, const N: usize>(
    proof: V::Proof,
    chains: &mut [Chain<[V::Word; N]>],
    rounds: u32,
) {
    let many = chains.len();
    assert!(many <= V::LANES);
    let blank = [V::splat(proof, V::Word::default()); N];
    let (mut inner, mut outer, mut link, mut sum) = (blank, blank, blank, blank);
    for at in 0..N {
        let mut words = [[V::Word::default(); MOST_LANES]; 4];
        for lane in 0..many {
            let Chain { inner, outer, link, sum } = &chains[lane];
            [words[0][lane], words[1][lane], words[2][lane], words[3][lane]] =
                [inner[at], outer[at], link[at], sum[at]];
        }
        inner[at] = V::load(proof, &words[0]);
        outer[at] = V::load(proof, &words[1]);
        link[at] = V::load(proof, &words[2]);
        sum[at] = V::load(proof, &words[3]);
    }
    for _ in 0..rounds {
        link = C::compress(proof, &inner, &link);
        link = C::compress(proof, &outer, &link);
        for at in 0..N {
            sum[at] = sum[at].xor(link[at]);
        }
    }
    for at in 0..N {
        let mut words = [[V::Word::default(); MOST_LANES]; 2];
        link[at].store(&mut words[0]);
        sum[at].store(&mut words[1]);
        for lane in 0..many {
            (chains[lane].link[at], chains[lane].sum[at]) = (words[0][lane], words[1][lane]);
        }
    }
}

/// The exclusive or of three.
#[inline(always)]
fn xor_3<V: Lanes>(a: V, b: V, c: V) -> V {
    a.xor(b).xor(c)
}

/// Calls `$step::<$generic, …, 0 to 15>($arguments)`.
macro_rules! sixteen {
    ($step:ident::<$lanes:ident $(, $first:literal)?>$arguments:tt) => {{
        $step::<$lanes $(, $first)?, 0>$arguments;
        $step::<$lanes $(, $first)?, 1>$arguments;
        $step::<$lanes $(, $first)?, 2>$arguments;
        $step::<$lanes $(, $first)?, 3>$arguments;
        $step::<$lanes $(, $first)?, 4>$arguments;
        $step::<$lanes $(, $first)?, 5>$arguments;
        $step::<$lanes $(, $first)?, 6>$arguments;
        $step::<$lanes $(, $first)?, 7>$arguments;
        $step::<$lanes $(, $first)?, 8>$arguments;
        $step::<$lanes $(, $first)?, 9>$arguments;
        $step::<$lanes $(, $first)?, 10>$arguments;
        $step::<$lanes $(, $first)?, 11>$arguments;
        $step::<$lanes $(, $first)?, 12>$arguments;
        $step::<$lanes $(, $first)?, 13>$arguments;
        $step::<$lanes $(, $first)?, 14>$arguments;
        $step::<$lanes $(, $first)?, 15>$arguments;
    }};
}
use sixteen;
