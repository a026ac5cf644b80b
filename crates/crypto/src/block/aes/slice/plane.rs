//! A vector of 16 bytes as the functions in [`super`] need it, and the portable one.
//!
//! A value exists only where the CPU has the instructions, because every way to make one takes the
//! vector's proof as an argument.

use crate::block_cipher::Block;

/// Sixteen bytes in the order of an AES state: byte 4c + r is row r of column c.
pub(in crate::block::aes) trait Plane: Copy {
    /// Evidence that the CPU has the instructions.
    type Proof: Copy + Send + Sync;

    fn load(proof: Self::Proof, block: &Block) -> Self;

    fn store(self, block: &mut Block);

    fn and(self, other: Self) -> Self;

    fn xor(self, other: Self) -> Self;

    fn not(self) -> Self;

    /// Each byte and `mask`.
    fn masked(self, mask: u8) -> Self;

    /// Each byte shifted right, then masked with `mask`, which drops the bits that came from the
    /// adjacent byte.
    fn bits_right<const SHIFT: i32>(self, mask: u8) -> Self;

    /// Each byte shifted left; no set bit may leave its byte.
    fn bits_left<const SHIFT: i32>(self) -> Self;

    /// All ones in each byte that has bit `BIT` set, zeros in the others.
    fn spread<const BIT: i32>(self) -> Self;

    /// ShiftRows: row r goes r columns to the left.
    fn shift_rows(self) -> Self;

    /// InvShiftRows.
    fn unshift_rows(self) -> Self;

    /// Row r takes the place of row r - 1 in each column.
    fn turn_columns(self) -> Self;

    /// Row r takes the place of row r - 2.
    fn turn_columns_twice(self) -> Self;
}

/// The portable plane: one integer, the first byte lowest.
#[derive(Clone, Copy)]
pub(in crate::block::aes) struct Word(u128);

impl Word {
    /// Each row rotated left by the given number of columns.
    #[inline(always)]
    fn turn_rows(self, by: [u32; 4]) -> Self {
        let row = |row: usize| self.0.rotate_right(32 * by[row]) & (FIRST_ROW << (8 * row));
        Self(row(0) | row(1) | row(2) | row(3))
    }

    /// Each column rotated up by the given number of rows.
    #[inline(always)]
    fn turn_columns_by(self, rows: u32) -> Self {
        let stay = EACH_COLUMN * u128::from(u32::MAX >> (8 * rows));
        Self(((self.0 >> (8 * rows)) & stay) | ((self.0 << (32 - 8 * rows)) & !stay))
    }
}

impl Plane for Word {
    type Proof = ();

    #[inline(always)]
    fn load((): (), block: &Block) -> Self {
        Self(u128::from_le_bytes(*block))
    }

    #[inline(always)]
    fn store(self, block: &mut Block) {
        *block = self.0.to_le_bytes();
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }

    #[inline(always)]
    fn not(self) -> Self {
        Self(!self.0)
    }

    #[inline(always)]
    fn masked(self, mask: u8) -> Self {
        Self(self.0 & (EACH_BYTE * u128::from(mask)))
    }

    #[inline(always)]
    fn bits_right<const SHIFT: i32>(self, mask: u8) -> Self {
        Self(self.0 >> SHIFT).masked(mask)
    }

    #[inline(always)]
    fn bits_left<const SHIFT: i32>(self) -> Self {
        Self(self.0 << SHIFT)
    }

    #[inline(always)]
    fn spread<const BIT: i32>(self) -> Self {
        let bits = self.bits_right::<BIT>(1).0;
        Self((bits << 8).wrapping_sub(bits))
    }

    #[inline(always)]
    fn shift_rows(self) -> Self {
        self.turn_rows([0, 1, 2, 3])
    }

    #[inline(always)]
    fn unshift_rows(self) -> Self {
        self.turn_rows([0, 3, 2, 1])
    }

    #[inline(always)]
    fn turn_columns(self) -> Self {
        self.turn_columns_by(1)
    }

    #[inline(always)]
    fn turn_columns_twice(self) -> Self {
        self.turn_columns_by(2)
    }
}

/// One in each byte.
const EACH_BYTE: u128 = u128::from_ne_bytes([1; 16]);

/// One in each column of 32 bits.
const EACH_COLUMN: u128 = 0x1_0000_0001_0000_0001_0000_0001;

/// The bytes of row 0.
const FIRST_ROW: u128 = 0xff * EACH_COLUMN;
