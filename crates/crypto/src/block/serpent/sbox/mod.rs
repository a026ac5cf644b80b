//! Serpent's eight S-boxes and their inverses as circuits over whole words: constant time, one bit
//! of every word's nibbles in each of the four words.
//!
//! The circuits are Dag Arne Osvik's ("Speeding up Serpent", third AES candidate
//! conference, 2000), unrolled into single assignments so that a compiler may merge what an
//! instruction set can merge (AVX-512's ternary logic).

mod inverse;

use core::ops::{BitAnd, BitOr, BitXor, Not};

/// What a circuit is made of.
pub(super) trait Gates:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}

impl<W> Gates for W where
    W: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}

/// S-box number `BOX`.
#[inline(always)]
pub(super) fn substitute<W: Gates, const BOX: usize>(words: [W; 4]) -> [W; 4] {
    match BOX {
        0 => s0(words),
        1 => s1(words),
        2 => s2(words),
        3 => s3(words),
        4 => s4(words),
        5 => s5(words),
        6 => s6(words),
        _ => s7(words),
    }
}

/// The inverse of S-box number `BOX`.
#[inline(always)]
pub(super) fn restore<W: Gates, const BOX: usize>(words: [W; 4]) -> [W; 4] {
    match BOX {
        0 => inverse::s0(words),
        1 => inverse::s1(words),
        2 => inverse::s2(words),
        3 => inverse::s3(words),
        4 => inverse::s4(words),
        5 => inverse::s5(words),
        6 => inverse::s6(words),
        _ => inverse::s7(words),
    }
}

/// S0.
#[inline(always)]
fn s0<W: Gates>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let t1 = d | a;
    let t2 = a ^ d;
    let t3 = d ^ c;
    let t4 = !t3;
    let t5 = t1 ^ b;
    let t6 = b & t2;
    let t7 = t6 ^ t4;
    let t8 = c ^ t2;
    let t9 = t2 ^ t5;
    let t10 = t4 | t9;
    let t11 = t9 ^ t8;
    let t12 = t8 & t7;
    let t13 = t5 ^ t12;
    let t14 = t12 ^ t10;
    let t15 = !t7 ^ t14;
    [t14, t15, t13, t11]
}

/// S1.
#[inline(always)]
fn s1<W: Gates>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let t1 = b ^ a;
    let t2 = a ^ d;
    let t3 = b & t1;
    let t4 = t2 | t1;
    let t5 = !d ^ c;
    let t6 = t4 ^ t5;
    let t7 = t1 ^ t5;
    let t8 = t5 ^ t3;
    let t9 = t7 | t3;
    let t10 = t3 ^ c;
    let t11 = c & t6;
    let t12 = t11 ^ t9;
    let t13 = t9 | t6;
    let t14 = !t6 ^ t12;
    let t15 = t10 ^ t13;
    [t15, t12, t8, t14]
}

/// S2.
#[inline(always)]
fn s2<W: Gates>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let t1 = !d;
    let t2 = b ^ a;
    let t3 = a & c;
    let t4 = t3 ^ t1;
    let t5 = t1 | a;
    let t6 = c ^ t2;
    let t7 = t5 ^ t2;
    let t8 = t2 & t4;
    let t9 = t4 ^ t6;
    let t10 = t6 & t7;
    let t11 = t7 | t8;
    let t12 = !t9;
    let t13 = t11 ^ t12;
    let t14 = a ^ t12;
    let t15 = t12 ^ t10;
    let t16 = t8 | t10;
    [t14, t16, t15, t13]
}

/// S3.
#[inline(always)]
fn s3<W: Gates>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let t1 = b ^ d;
    let t2 = d | a;
    let t3 = b & a;
    let t4 = a ^ c;
    let t5 = c ^ t1;
    let t6 = t1 & t2;
    let t7 = t5 ^ t2;
    let t8 = t4 | t3;
    let t9 = t3 ^ t2;
    let t10 = t6 ^ t8;
    let t11 = t8 & t2;
    let t12 = t2 & t9;
    let t13 = t12 ^ t7;
    let t14 = t9 | t10;
    let t15 = t7 & t10;
    let t16 = t14 ^ t13;
    let t17 = t11 ^ t13;
    let t18 = t13 ^ t15;
    [t18, t16, t10, t17]
}

/// S4.
#[inline(always)]
fn s4<W: Gates>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let t1 = d & a;
    let t2 = a ^ d;
    let t3 = t1 ^ c;
    let t4 = c | d;
    let t5 = t2 ^ b;
    let t6 = d ^ t3;
    let t7 = t4 | t5;
    let t8 = t7 ^ b;
    let t9 = b & t5;
    let t10 = t9 ^ t6;
    let t11 = t6 & t8;
    let t12 = t8 ^ t3;
    let t13 = t11 ^ t5;
    let t14 = t3 | t10;
    let t15 = !t10;
    let t16 = t14 ^ t5;
    [t15, t12, t16, t13]
}

/// S5.
#[inline(always)]
fn s5<W: Gates>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let t1 = b | a;
    let t2 = c ^ t1;
    let t3 = !d;
    let t4 = b ^ a;
    let t5 = a ^ t2;
    let t6 = t1 & t4;
    let t7 = t4 | t3;
    let t8 = t7 ^ t5;
    let t9 = t5 & t3;
    let t10 = t6 ^ t3;
    let t11 = t3 ^ t2;
    let t12 = t9 ^ t10;
    let t13 = t2 & t8;
    let t14 = t10 ^ t13;
    let t15 = t13 & t12;
    let t16 = t11 ^ t15;
    [t8, t12, t14, t16]
}

/// S6.
#[inline(always)]
fn s6<W: Gates>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let t1 = d ^ a;
    let t2 = b ^ c;
    let t3 = c ^ a;
    let t4 = a & t1;
    let t5 = t2 | t1;
    let t6 = !b;
    let t7 = t4 ^ t5;
    let t8 = t5 ^ t3;
    let t9 = t1 ^ t6;
    let t10 = t6 ^ t7;
    let t11 = t3 & t7;
    let t12 = t10 ^ t8;
    let t13 = t11 ^ t9;
    let t14 = t9 & t8;
    let t15 = t14 ^ t7;
    let t16 = t8 ^ t13;
    [t13, t12, t16, t15]
}

/// S7.
#[inline(always)]
fn s7<W: Gates>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let t1 = !b;
    let t2 = !a;
    let t3 = t1 & c;
    let t4 = t3 ^ d;
    let t5 = d | t1;
    let t6 = t1 ^ c;
    let t7 = c ^ t5;
    let t8 = t5 ^ t2;
    let t9 = t2 | t4;
    let t10 = t7 & t9;
    let t11 = t9 ^ t6;
    let t12 = t6 ^ t8;
    let t13 = t8 & t11;
    let t14 = t12 ^ t4;
    let t15 = t10 ^ t14;
    let t16 = t13 ^ t4;
    let t17 = t14 | t11;
    let t18 = t17 ^ t4;
    [t18, t15, t16, t11]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of the Serpent paper (Anderson, Biham, Knudsen: "Serpent: A Proposal for the
    /// Advanced Encryption Standard", appendix A.5).
    const TABLES: [[u32; 16]; 8] = [
        [3, 8, 15, 1, 10, 6, 5, 11, 14, 13, 4, 2, 7, 0, 9, 12],
        [15, 12, 2, 7, 9, 0, 5, 10, 1, 11, 14, 8, 6, 13, 3, 4],
        [8, 6, 7, 9, 3, 12, 10, 15, 13, 1, 14, 4, 0, 11, 5, 2],
        [0, 15, 11, 8, 12, 9, 6, 3, 13, 1, 2, 4, 10, 7, 5, 14],
        [1, 15, 8, 3, 12, 0, 11, 6, 2, 5, 4, 10, 9, 14, 7, 13],
        [15, 5, 2, 11, 4, 10, 9, 12, 0, 3, 14, 8, 13, 6, 7, 1],
        [7, 2, 12, 5, 8, 4, 6, 11, 14, 9, 1, 15, 13, 3, 10, 0],
        [1, 13, 15, 0, 14, 8, 2, 11, 7, 4, 12, 10, 9, 3, 5, 6],
    ];

    /// Bit `i` of the four words is the nibble `i`.
    fn sliced(nibbles: impl Iterator<Item = u32>) -> [u32; 4] {
        let mut words = [0; 4];
        for (index, nibble) in nibbles.enumerate() {
            for (bit, word) in words.iter_mut().enumerate() {
                *word |= ((nibble >> bit) & 1) << index;
            }
        }
        words
    }

    #[test]
    fn circuits_equal_the_tables() {
        type Circuit = fn([u32; 4]) -> [u32; 4];
        let circuits: [(Circuit, Circuit); 8] = [
            (s0, inverse::s0),
            (s1, inverse::s1),
            (s2, inverse::s2),
            (s3, inverse::s3),
            (s4, inverse::s4),
            (s5, inverse::s5),
            (s6, inverse::s6),
            (s7, inverse::s7),
        ];
        for (table, (forward, inverse)) in TABLES.iter().zip(circuits) {
            let (inputs, outputs) = (sliced(0..16), sliced(table.iter().copied()));
            assert_eq!(forward(inputs).map(|word| word & 0xffff), outputs);
            assert_eq!(inverse(outputs).map(|word| word & 0xffff), inputs);
        }
    }
}
