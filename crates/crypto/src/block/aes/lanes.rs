//! A vector of AES blocks, whatever its width: what the bodies in [`super::wide`] are written in.
//!
//! A value exists only where the CPU has the instructions, because every way to make one
//! takes the width's proof; that is why the methods are safe. They are always inlined,
//! into functions compiled for those instructions.

use crate::block_cipher::Block;

/// Blocks in the widest register.
pub(super) const WIDEST: usize = 4;

/// [`Lanes::BLOCKS`] blocks in one register.
pub(super) trait Lanes: Copy {
    /// Evidence that the CPU has the instructions of this width.
    type Proof: Copy;

    /// Blocks per register.
    const BLOCKS: usize;

    /// The first [`Lanes::BLOCKS`] blocks of `blocks`.
    fn load(proof: Self::Proof, blocks: &[Block]) -> Self;

    /// Writes the blocks to the start of `blocks`.
    fn store(self, blocks: &mut [Block]);

    /// The same block in every lane.
    fn broadcast(proof: Self::Proof, block: &Block) -> Self;

    fn xor(self, other: Self) -> Self;

    /// One round: ShiftRows, SubBytes, MixColumns, AddRoundKey.
    fn encrypt_round(self, key: Self) -> Self;

    /// The last round, without MixColumns.
    fn encrypt_last(self, key: Self) -> Self;

    /// One round of the equivalent inverse cipher.
    fn decrypt_round(self, key: Self) -> Self;

    /// The last round of the equivalent inverse cipher.
    fn decrypt_last(self, key: Self) -> Self;

    /// Lane i of register j becomes lane j of register i, among the
    /// first [`Lanes::BLOCKS`] registers.
    fn transpose(registers: [Self; WIDEST]) -> [Self; WIDEST];

    /// An XTS tweak T as the masks of the first blocks: T, T·x, T·x^2, …
    fn powers(proof: Self::Proof, tweak: &Block) -> Self;

    /// Each lane times x^`exponent`, for exponents below 64 (XTS's field).
    fn times_x(self, exponent: usize) -> Self;

    /// Each lane times x^8: shifted by a byte.
    fn times_x8(self) -> Self;

    /// Each lane times x^(8 · BLOCKS): the masks eight registers on.
    fn eight_registers_on(self) -> Self;
}
