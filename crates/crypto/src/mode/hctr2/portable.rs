//! One element in two words: the portable reference, constant time
//! wherever integer multiplication is.
//!
//! A carry-less product is built from ordinary products: each factor is split into five, with four
//! zeros after every bit, so at most 13 bits add up at one position and their carries end before
//! the next position in use.

use super::code::Code;
use super::lanes::{Lanes, Product};
use super::polyval;
use crate::block_cipher::Block;

/// The readable reference, for every CPU.
pub(super) static PORTABLE: Code = Code {
    raise: |key, powers| polyval::raise::<Pair>((), key, powers),
    dot: |powers, blocks| {
        for block in blocks {
            *block = polyval::dot::<Pair>((), powers, block);
        }
    },
    hash: |powers, sector, data, heads| polyval::hash::<Pair>((), powers, sector, data, heads),
};

/// The lower and the upper 64 coefficients.
#[derive(Clone, Copy)]
pub(super) struct Pair([u64; 2]);

impl Lanes for Pair {
    type Proof = ();
    const BLOCKS: usize = 1;

    #[inline(always)]
    fn load((): (), blocks: &[Block]) -> Self {
        Self::from_number(u128::from_le_bytes(blocks[0]))
    }

    #[inline(always)]
    fn first((): (), block: &Block) -> Self {
        Self::from_number(u128::from_le_bytes(*block))
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self([self.0[0] ^ other.0[0], self.0[1] ^ other.0[1]])
    }

    #[inline(always)]
    fn multiply(self, other: Self) -> Product<Self> {
        let ([a0, a1], [b0, b1]) = (self.0, other.0);
        let (low, high) = (without_carries(a0, b0), without_carries(a1, b1));
        // Karatsuba: three products instead of four.
        let middle = without_carries(a0 ^ a1, b0 ^ b1) ^ low ^ high;
        Product {
            low: Self::from_number(low),
            middle: Self::from_number(middle),
            high: Self::from_number(high),
        }
    }

    #[inline(always)]
    fn reduce(product: Product<Self>) -> Self {
        let ([x0, low], [m0, m1], [high, x3]) = (product.low.0, product.middle.0, product.high.0);
        let (x1, x2) = (low ^ m0, high ^ m1);
        // The modulus is 1 + x^64 · (x^57 + x^62 + x^63 + x^64):
        // times a word, it cancels that word.
        let cancel = |word: u64| {
            let lower = (word << 57) ^ (word << 62) ^ (word << 63);
            let upper = (word >> 7) ^ (word >> 2) ^ (word >> 1) ^ word;
            (lower, upper)
        };
        let (lower, upper) = cancel(x0);
        let (x1, x2) = (x1 ^ lower, x2 ^ upper);
        let (lower, upper) = cancel(x1);
        Self([x2 ^ lower, x3 ^ upper])
    }

    #[inline(always)]
    fn fold(self) -> Self {
        self
    }

    #[inline(always)]
    fn to_block(self) -> Block {
        (u128::from(self.0[1]) << 64 | u128::from(self.0[0])).to_le_bytes()
    }
}

impl Pair {
    #[inline(always)]
    fn from_number(number: u128) -> Self {
        Self([number as u64, (number >> 64) as u64])
    }
}

/// The product of two polynomials of 64 coefficients.
#[inline(always)]
fn without_carries(a: u64, b: u64) -> u128 {
    let cut = |word: u64| [0, 1, 2, 3, 4].map(|class| word & (EVERY_FIFTH << class) as u64);
    let ([a0, a1, a2, a3, a4], [b0, b1, b2, b3, b4]) = (cut(a), cut(b));
    let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let classes = [
        product(a0, b0) ^ product(a1, b4) ^ product(a2, b3) ^ product(a3, b2) ^ product(a4, b1),
        product(a0, b1) ^ product(a1, b0) ^ product(a2, b4) ^ product(a3, b3) ^ product(a4, b2),
        product(a0, b2) ^ product(a1, b1) ^ product(a2, b0) ^ product(a3, b4) ^ product(a4, b3),
        product(a0, b3) ^ product(a1, b2) ^ product(a2, b1) ^ product(a3, b0) ^ product(a4, b4),
        product(a0, b4) ^ product(a1, b3) ^ product(a2, b2) ^ product(a3, b1) ^ product(a4, b0),
    ];
    let masked = (0..).zip(classes).map(|(class, sum)| sum & (EVERY_FIFTH << class));
    masked.fold(0, |product, class| product | class)
}

/// Bits 0, 5, 10, ….
const EVERY_FIFTH: u128 = 0x2108_4210_8421_0842_1084_2108_4210_8421;
