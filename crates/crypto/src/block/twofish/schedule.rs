//! Twofish's key schedule (the paper, section 4.3): subkeys and key-dependent S-boxes.

use super::boxes::{MDS, MDS_FIELD, Q, RS, RS_FIELD, multiply};
use crate::secret::{Plain, SecretBox};
use zeroize::Zeroize;

/// An expanded key.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Schedule {
    /// The key-dependent S-boxes of g: one per byte of its input.
    pub(super) boxes: [[u8; 256]; 4],
    /// The same S-boxes with their column of the MDS matrix applied.
    pub(super) tables: [[u32; 256]; 4],
    /// K_0 to K_39: input whitening, output whitening, two per round.
    pub(super) subkeys: [u32; 40],
}

impl Plain for Schedule {
    const EMPTY: Self = Self { boxes: [[0; 256]; 4], tables: [[0; 256]; 4], subkeys: [0; 40] };
}

impl Schedule {
    /// Expands a key of 16, 24 or 32 bytes.
    ///
    /// # Panics
    /// For any other length.
    pub(super) fn expand(key: &[u8]) -> SecretBox<Self> {
        assert!(matches!(key.len(), 16 | 24 | 32), "a Twofish key of {} bytes", key.len());
        SecretBox::new_with(|schedule: &mut Self| schedule.fill(key))
    }

    fn fill(&mut self, key: &[u8]) {
        // Words of the key at even and odd positions, and S, in the order in which h uses them.
        let (mut even, mut odd, mut s) = ([[0; 4]; 4], [[0; 4]; 4], [[0; 4]; 4]);
        let length = key.len() / 8;
        for (index, part) in key.as_chunks::<8>().0.iter().enumerate() {
            even[index].copy_from_slice(&part[..4]);
            odd[index].copy_from_slice(&part[4..]);
            s[length - 1 - index] =
                RS.map(|row| row.iter().zip(part).fold(0, |sum, (a, b)| sum ^ multiply(*a, *b, RS_FIELD)));
        }
        for (byte, (bytes, table)) in self.boxes.iter_mut().zip(&mut self.tables).enumerate() {
            for (x, (value, entry)) in bytes.iter_mut().zip(table).enumerate() {
                *value = substitute(x as u8, byte, &s[..length]);
                *entry = column(*value, byte);
            }
        }
        for (index, pair) in self.subkeys.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let a = h(2 * index as u8, &even[..length]);
            let b = h(2 * index as u8 + 1, &odd[..length]).rotate_left(8);
            *pair = [a.wrapping_add(b), a.wrapping_add(b.wrapping_mul(2)).rotate_left(9)];
        }
        even.zeroize();
        odd.zeroize();
        s.zeroize();
    }
}

/// The function h of a word made of four equal bytes.
fn h(byte: u8, words: &[[u8; 4]]) -> u32 {
    (0..4).fold(0, |sum, place| sum ^ column(substitute(byte, place, words), place))
}

/// The byte at `place` as h takes it through q0, q1 and the words of the list, up to the MDS
/// matrix.
fn substitute(byte: u8, place: usize, words: &[[u8; 4]]) -> u8 {
    let order = &ORDER[place];
    let keyed = words
        .iter()
        .zip(order)
        .rev()
        .fold(byte, |byte, (word, which)| Q[*which][byte as usize] ^ word[place]);
    Q[LAST[place]][keyed as usize]
}

/// A byte times its column of the MDS matrix.
fn column(byte: u8, place: usize) -> u32 {
    u32::from_le_bytes(MDS.map(|row| multiply(row[place], byte, MDS_FIELD)))
}

/// Which permutation comes before the list's words 0 to 3, for each
/// byte of a word (the paper, figure 2).
const ORDER: [[usize; 4]; 4] = [[0, 0, 1, 1], [0, 1, 1, 0], [1, 0, 0, 0], [1, 1, 0, 1]];

/// Which permutation comes last.
const LAST: [usize; 4] = [1, 0, 1, 0];
