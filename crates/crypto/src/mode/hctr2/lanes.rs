//! A vector of elements of POLYVAL's field, whatever its width: the type that the hash is written
//! in.
//!
//! A value exists only where the CPU has the instructions, because every way to make one
//! takes the width's proof; that is why the methods are safe. They are always inlined,
//! into functions compiled for those instructions.

use crate::block_cipher::Block;

/// [`Lanes::BLOCKS`] field elements in one register.
pub(super) trait Lanes: Copy {
    /// Evidence that the CPU has the instructions of this width.
    type Proof: Copy;

    /// Elements per register.
    const BLOCKS: usize;

    /// The first [`Lanes::BLOCKS`] blocks of `blocks`.
    fn load(proof: Self::Proof, blocks: &[Block]) -> Self;

    /// `block` in the first lane, zeros in the others.
    fn first(proof: Self::Proof, block: &Block) -> Self;

    fn xor(self, other: Self) -> Self;

    /// Each lane's carry-less product, 256 bits, not reduced.
    fn multiply(self, other: Self) -> Product<Self>;

    /// Each lane's product times x^-128, modulo x^128 + x^127 + x^126 + x^121 + 1.
    fn reduce(product: Product<Self>) -> Self;

    /// The sum of all lanes in the first, zeros in the others.
    fn fold(self) -> Self;

    /// The block in the first lane.
    fn to_block(self) -> Block;
}

/// Products of 128-bit polynomials in three parts: `low + middle · x^64 + high · x^128`.
#[derive(Clone, Copy)]
pub(super) struct Product<V> {
    pub(super) low: V,
    pub(super) middle: V,
    pub(super) high: V,
}

impl<V: Lanes> Product<V> {
    #[inline(always)]
    pub(super) fn add(self, other: Self) -> Self {
        Self {
            low: self.low.xor(other.low),
            middle: self.middle.xor(other.middle),
            high: self.high.xor(other.high),
        }
    }
}
