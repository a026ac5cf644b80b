//! The IV of a sector, from its number, as dm-crypt computes it (drivers/md/dm-crypt.c, the comment
//! on IV generation).
//!
//! | name     | bytes of the IV                                              |
//! |----------|--------------------------------------------------------------|
//! | null     | zeros                                                        |
//! | plain    | number modulo 2^32, little endian, zeros                     |
//! | plain64  | number, little endian 64 bits, zeros                         |
//! | plain64be| zeros, number, big endian 64 bits                            |
//! | benbi    | zeros, number of the sector's first cipher block counted from 1, big endian 64 bits |
//! | essiv    | plain64, encrypted under the hash of the whole key           |
//! | eboiv    | the sector's offset in bytes, little endian 64 bits, zeros: a block of zeros encrypted with this for its IV |
//! | tcw      | a secret seed, plus the number, little endian 64 bits, on either half; and more, see `tcw` |
//! | elephant | as eboiv; and more, see `elephant`                           |
//! | lmk      | depends on the data, see `lmk`                               |

mod elephant;
mod lmk;
mod tcw;

use crate::block_cipher::BlockCipher;
use crate::engine::{Engine, Run};
use crate::secret::SecretBox;
use alloc::boxed::Box;
pub(crate) use elephant::Elephant;
pub(crate) use lmk::Lmk;
pub(crate) use tcw::{WHITENING, Whitened};

/// Makes IVs of `N` bytes (8, 16 or 32) for a run of sectors, from their numbers alone.
pub(crate) enum IvGenerator<const N: usize> {
    Null,
    Plain,
    Plain64,
    Plain64be,
    /// `shift`: log2 of the cipher blocks in a 512-byte unit.
    Benbi {
        shift: u32,
    },
    Essiv(Box<dyn BlockCipher<N>>),
    /// eboiv, in modes whose first block is E(plaintext + IV).
    ByteOffset(Box<dyn BlockCipher<N>>),
    /// eboiv, in other modes: the mode itself, with plain64 IVs.
    ByteOffsetInMode(Box<dyn Engine>),
    /// tcw.
    Seeded(SecretBox<[u8; N]>),
}

impl<const N: usize> IvGenerator<N> {
    /// The generator for tcw, from its seed.
    pub(crate) fn seeded(seed: &[u8; N]) -> Self {
        Self::Seeded(SecretBox::new_with(|secret: &mut [u8; N]| secret.copy_from_slice(seed)))
    }

    /// The IVs of the first `bytes` bytes of a run, in the elements of `ivs` that it needs.
    pub(crate) fn fill<'a>(&self, run: &Run, bytes: usize, ivs: &'a mut [[u8; N]]) -> &'a mut [[u8; N]] {
        let ivs = &mut ivs[..bytes / run.sector];
        // One loop per kind: choosing per sector would cost small sectors a tenth of their speed.
        match self {
            Self::Null => ivs.fill([0; N]),
            Self::Plain => numbers(run, ivs, |number| at_start(u64::from(number as u32))),
            Self::Plain64 | Self::Essiv(_) => numbers(run, ivs, at_start),
            Self::Plain64be => numbers(run, ivs, at_end),
            Self::Benbi { shift } => numbers(run, ivs, |number| at_end((number << shift).wrapping_add(1))),
            Self::ByteOffset(_) => {
                (0..).zip(&mut *ivs).for_each(|(index, iv)| *iv = at_start(run.byte_offset(index)));
            }
            Self::ByteOffsetInMode(mode) => {
                let ivs = (0..).zip(&mut *ivs);
                ivs.for_each(|(index, iv)| *iv = first_of_zeros(&**mode, run.byte_offset(index)));
            }
            Self::Seeded(seed) => numbers(run, ivs, |number| added(seed, number)),
        }
        if let Self::Essiv(cipher) | Self::ByteOffset(cipher) = self {
            cipher.encrypt_blocks(ivs);
        }
        ivs
    }
}

/// Each sector's IV from its number.
fn numbers<const N: usize>(run: &Run, ivs: &mut [[u8; N]], make: impl Fn(u64) -> [u8; N]) {
    for (index, iv) in ivs.iter_mut().enumerate() {
        *iv = make(run.iv(index));
    }
}

/// The number, little endian, at the start of an IV.
fn at_start<const N: usize>(number: u64) -> [u8; N] {
    let mut iv = [0; N];
    iv[..8].copy_from_slice(&number.to_le_bytes());
    iv
}

/// A block of zeros encrypted by a mode with plain64 IVs in sector `number`.
fn first_of_zeros<const N: usize>(mode: &dyn Engine, number: u64) -> [u8; N] {
    let mut sector = [0; 512];
    mode.encrypt(&Run { first: number, sector: sector.len(), large_ivs: false }, &mut sector);
    *sector.first_chunk().expect("a sector is longer than a block")
}

/// The number, little endian, added to every eight bytes of a seed.
fn added<const N: usize>(seed: &[u8; N], number: u64) -> [u8; N] {
    let number = number.to_le_bytes();
    core::array::from_fn(|index| seed[index] ^ number[index % 8])
}

/// The number, big endian, at the end of an IV.
fn at_end<const N: usize>(number: u64) -> [u8; N] {
    let mut iv = [0; N];
    iv[N - 8..].copy_from_slice(&number.to_be_bytes());
    iv
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two<const N: usize>(generator: &IvGenerator<N>, first: u64, step: u64) -> [[u8; N]; 2] {
        let run = Run { first, sector: 512 * step as usize, large_ivs: false };
        let mut ivs = [[0xee; N]; 2];
        generator.fill(&run, 2 * run.sector, &mut ivs);
        ivs
    }

    #[test]
    fn plain_wraps_at_32_bits_and_plain64_does_not() {
        let [last, wrapped] = two(&IvGenerator::<16>::Plain, 0xffff_ffff, 1);
        assert_eq!(last, [255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(wrapped, [0; 16]);
        let [_, next] = two(&IvGenerator::<16>::Plain64, 0xffff_ffff, 8);
        assert_eq!(next, [7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let [_, wrapped] = two(&IvGenerator::<16>::Plain64, u64::MAX, 1);
        assert_eq!(wrapped, [0; 16]);
    }

    #[test]
    fn big_endian_ivs() {
        let [iv, _] = two(&IvGenerator::<16>::Plain64be, 0x0102, 1);
        assert_eq!(iv, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        let [first, second] = two(&IvGenerator::<16>::Benbi { shift: 5 }, 0, 1);
        assert_eq!(first, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(second, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 33]);
        assert_eq!(two(&IvGenerator::<16>::Null, 9, 1), [[0; 16]; 2]);
    }

    #[test]
    fn other_sizes_keep_numbers_at_their_ends() {
        assert_eq!(two(&IvGenerator::<8>::Plain64be, 0x0102, 1)[0], [0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(two(&IvGenerator::<8>::Benbi { shift: 6 }, 1, 1)[0], [0, 0, 0, 0, 0, 0, 0, 65]);
        let [iv, _] = two(&IvGenerator::<32>::Plain64, 0x0102, 1);
        assert_eq!((iv[0], iv[1], iv[31]), (2, 1, 0));
        assert_eq!(two(&IvGenerator::<32>::Plain64be, 0x0102, 1)[0][30..], [1, 2]);
    }
}
