//! A vector of bytes, one from each block: the type that [`super::rounds`] is written in.
//!
//! A value exists only where the CPU has the instructions, because every way to make one
//! takes the width's proof; that is why the methods are safe. They are always inlined,
//! into functions compiled for those instructions.

use crate::block_cipher::Block;
use core::ops::{BitAnd, BitOr, BitXor};

/// One byte from each of [`Bytes::BLOCKS`] blocks.
pub(super) trait Bytes:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self>
{
    /// Evidence that the CPU has the instructions of this width.
    type Proof: Copy;

    /// Blocks side by side: sixteen registers of whole blocks.
    const BLOCKS: usize;

    /// Register `index` of sixteen, as it lies in memory.
    fn load(proof: Self::Proof, blocks: &[Block], index: usize) -> Self;

    /// The inverse of [`Bytes::load`].
    fn store(self, blocks: &mut [Block], index: usize);

    /// Four equal bytes in every lane.
    fn splat(proof: Self::Proof, four: u32) -> Self;

    /// SBOX1 to SBOX4 of each byte.
    fn substitute<const BOX: usize>(self) -> Self;

    /// Each byte shifted left by a bit, with the highest bit of the matching byte of `next` shifted
    /// in.
    fn shift_in(self, next: Self) -> Self;

    /// Interleaves the bytes of each 128-bit lane: first of the lower halves, then of the upper
    /// halves.
    fn interleave(self, other: Self) -> (Self, Self);
}
