//! SBOX1 as AES sees it: Camellia's S-boxes are inversions in GF(2^8)
//! between maps that are linear over bits.
//!
//! SBOX1(x) = OUTPUT · (INPUT · (x ^ 0xc5))⁻¹ ^ 0x6e, with the inversion in AES's field,
//! zero for zero. Camellia's specification (section 4.4) inverts in another
//! representation of the field; the change of basis is in the two maps. They are one of
//! eight such pairs, found by matching the table.

/// A map of bytes that is linear over bits: the images of the bits, the lowest bit's first.
pub(super) type Linear = [u8; 8];

/// Before the inversion.
pub(super) const INPUT: Linear = [0x01, 0x19, 0xb1, 0xab, 0xa7, 0x93, 0x61, 0xd9];

/// After the inversion.
pub(super) const OUTPUT: Linear = [0xf1, 0xbb, 0x8e, 0x09, 0xfa, 0xd7, 0x21, 0xe1];

/// What is added before [`INPUT`].
pub(super) const BEFORE: u8 = 0xc5;

/// What is added after [`OUTPUT`].
pub(super) const AFTER: u8 = 0x6e;

/// The image of a byte.
pub(super) const fn apply(map: &Linear, byte: u8) -> u8 {
    let mut image = 0;
    let mut bit = 0;
    while bit < 8 {
        image ^= map[bit] * ((byte >> bit) & 1);
        bit += 1;
    }
    image
}

/// The map, then a rotation left (SBOX2, and by 7 SBOX3).
pub(super) const fn then_rotate(map: &Linear, by: u32) -> Linear {
    let mut rotated = [0; 8];
    let mut bit = 0;
    while bit < 8 {
        rotated[bit] = map[bit].rotate_left(by);
        bit += 1;
    }
    rotated
}

/// A rotation left by one bit, then the map (SBOX4).
pub(super) const fn rotate_then(map: &Linear) -> Linear {
    let mut rotated = [0; 8];
    let mut bit = 0;
    while bit < 8 {
        rotated[bit] = map[(bit + 1) % 8];
        bit += 1;
    }
    rotated
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::camellia::boxes::substitute;

    /// The product in AES's field.
    fn multiply(a: u8, b: u8) -> u8 {
        (0..8).rev().fold(0, |sum: u8, bit| (sum << 1) ^ ((sum >> 7) * 0x1b) ^ (a * ((b >> bit) & 1)))
    }

    #[test]
    fn the_maps_make_the_boxes() {
        for byte in 0..=255 {
            let inverse = |byte| (0..=255).find(|other| multiply(byte, *other) == 1).unwrap_or(0);
            let middle = inverse(apply(&INPUT, byte ^ BEFORE));
            assert_eq!(apply(&OUTPUT, middle) ^ AFTER, substitute(1, byte));
            assert_eq!(apply(&then_rotate(&OUTPUT, 1), middle) ^ AFTER.rotate_left(1), substitute(2, byte));
            assert_eq!(apply(&then_rotate(&OUTPUT, 7), middle) ^ AFTER.rotate_left(7), substitute(3, byte));
            let middle = inverse(apply(&rotate_then(&INPUT), byte) ^ apply(&INPUT, BEFORE));
            assert_eq!(apply(&OUTPUT, middle) ^ AFTER, substitute(4, byte));
        }
    }
}
