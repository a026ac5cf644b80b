//! The IV of a sector, from its number, as dm-crypt makes it (drivers/md/dm-crypt.c, the comment on IV generation).
//!
//! | name     | bytes of the IV                                              |
//! |----------|--------------------------------------------------------------|
//! | null     | zeros                                                        |
//! | plain    | number modulo 2^32, little endian, zeros                     |
//! | plain64  | number, little endian 64 bits, zeros                         |
//! | plain64be| zeros, number, big endian 64 bits                            |
//! | benbi    | zeros, number of the sector's first cipher block counted from 1, big endian 64 bits |
//! | essiv    | plain64, encrypted under the hash of the whole key           |

use crate::block::aes::Aes;
use crate::block::{Block, BlockCipher};

/// Makes 128-bit IVs for a run of sectors.
pub(crate) enum IvGenerator {
    Null,
    Plain,
    Plain64,
    Plain64be,
    Benbi,
    Essiv(Aes),
}

impl IvGenerator {
    /// The IVs of sectors `first`, `first + step`, … one for each element of `ivs`.
    pub(crate) fn fill(&self, first: u64, step: u64, ivs: &mut [Block]) {
        let number = |index: usize| first.wrapping_add(step.wrapping_mul(index as u64));
        for (index, iv) in ivs.iter_mut().enumerate() {
            let number = number(index);
            let value = match self {
                Self::Null => 0,
                Self::Plain => u128::from(number as u32),
                Self::Plain64 | Self::Essiv(_) => u128::from(number),
                Self::Plain64be => u128::from(number).swap_bytes(),
                Self::Benbi => u128::from((number << BLOCKS_A_UNIT_LOG2).wrapping_add(1)).swap_bytes(),
            };
            *iv = value.to_le_bytes();
        }
        if let Self::Essiv(cipher) = self {
            cipher.encrypt_blocks(ivs);
        }
    }
}

/// A 512-byte unit holds 2^5 cipher blocks of 128 bits.
const BLOCKS_A_UNIT_LOG2: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn two(generator: &IvGenerator, first: u64, step: u64) -> [[u8; 16]; 2] {
        let mut ivs = [[0xee; 16]; 2];
        generator.fill(first, step, &mut ivs);
        ivs
    }

    #[test]
    fn plain_wraps_at_32_bits_and_plain64_does_not() {
        let [last, wrapped] = two(&IvGenerator::Plain, 0xffff_ffff, 1);
        assert_eq!(last, [255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(wrapped, [0; 16]);
        let [_, next] = two(&IvGenerator::Plain64, 0xffff_ffff, 8);
        assert_eq!(next, [7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let [_, wrapped] = two(&IvGenerator::Plain64, u64::MAX, 1);
        assert_eq!(wrapped, [0; 16]);
    }

    #[test]
    fn big_endian_ivs() {
        let [iv, _] = two(&IvGenerator::Plain64be, 0x0102, 1);
        assert_eq!(iv, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        let [first, second] = two(&IvGenerator::Benbi, 0, 1);
        assert_eq!(first, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(second, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 33]);
        assert_eq!(two(&IvGenerator::Null, 9, 1), [[0; 16]; 2]);
    }
}
