//! G (RFC 9106, section 3.5) over vectors of words: one safe body for every width.
//!
//! Columns need no shuffling: each 128 bits of a register hold the word pair of a column, and only
//! the diagonals move words between the two registers of a state row. Rows do as the width allows.
//!
//! A value exists only where the CPU has the instructions, because every way to make one
//! takes the width's proof; that is why the methods are safe. They are always inlined,
//! into functions compiled for those instructions.

use super::compress::Block;
use crate::simd::eight;

/// [`Lanes::WORDS`] words in one register.
pub(super) trait Lanes: Copy {
    /// Evidence that the CPU has the instructions of this width.
    type Proof: Copy;

    /// Words per register: two, four or eight.
    const WORDS: usize;

    /// The first [`Lanes::WORDS`] words.
    fn load(proof: Self::Proof, words: &[u64]) -> Self;

    /// Writes the words to the start of `words`.
    fn store(self, words: &mut [u64]);

    /// The first word.
    fn first(self) -> u64;

    fn add(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;

    /// The product of each two words' low halves.
    fn multiply(self, other: Self) -> Self;

    fn right_32(self) -> Self;
    fn right_24(self) -> Self;
    fn right_16(self) -> Self;
    fn right_63(self) -> Self;

    /// In each pair: the second word of `self`, then the first of `next`.
    fn slide(self, next: Self) -> Self;

    /// P on the rows that eight registers hold one after the other.
    fn permute_rows(rows: [Self; 8]) -> [Self; 8];
}

/// [`super::compress::Compress::compress`]; a block has `REGISTERS` registers.
#[inline(always)]
pub(super) fn compress<V: Lanes, const REGISTERS: usize>(
    proof: V::Proof,
    previous: &Block,
    reference: &Block,
    out: &mut Block,
    add: bool,
    early: impl FnOnce(u64),
) {
    const { assert!(REGISTERS * V::WORDS == 128) };
    let mut state = [V::load(proof, &previous.0); REGISTERS];
    for (index, words) in state.iter_mut().enumerate() {
        let at = index * V::WORDS;
        *words = V::load(proof, &previous.0[at..]).xor(V::load(proof, &reference.0[at..]));
        let sum = if add { words.xor(V::load(proof, &out.0[at..])) } else { *words };
        sum.store(&mut out.0[at..]);
    }
    for rows in state.as_chunks_mut().0 {
        *rows = V::permute_rows(*rows);
    }
    // The first columns give the first word; the others hide the next reference's latency.
    let mut early = Some(early);
    let row_len = REGISTERS / 8;
    for columns in 0..row_len {
        let pairs = permute_pairs(eight!(ROW => state[ROW * row_len + columns]));
        eight!(ROW => {
            let place = &mut out.0[(ROW * row_len + columns) * V::WORDS..];
            let sum = V::load(proof, place).xor(pairs[ROW]);
            sum.store(place);
            if ROW == 0
                && let Some(early) = early.take()
            {
                early(sum.first());
            }
        });
    }
}

/// P on states whose word pairs are spread over eight registers, a state in each 128 bits.
#[inline(always)]
pub(super) fn permute_pairs<V: Lanes>(
    [mut a, mut e, mut b, mut f, mut c, mut g, mut d, mut h]: [V; 8],
) -> [V; 8] {
    mix(&mut a, &mut b, &mut c, &mut d);
    mix(&mut e, &mut f, &mut g, &mut h);
    (b, f) = (b.slide(f), f.slide(b));
    (c, g) = (g, c);
    (d, h) = (h.slide(d), d.slide(h));
    mix(&mut a, &mut b, &mut c, &mut d);
    mix(&mut e, &mut f, &mut g, &mut h);
    (b, f) = (f.slide(b), b.slide(f));
    (c, g) = (g, c);
    (d, h) = (d.slide(h), h.slide(d));
    [a, e, b, f, c, g, d, h]
}

/// Vectors in which a group of four words is a state's row.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub(super) trait Fours: Lanes {
    /// In each group of four: rotated left by one, two or three words.
    fn turn_1(self) -> Self;
    fn turn_2(self) -> Self;
    fn turn_3(self) -> Self;
}

/// P on states whose rows of four words lie in four registers.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline(always)]
pub(super) fn permute_fours<V: Fours>([mut a, mut b, mut c, mut d]: [V; 4]) -> [V; 4] {
    mix(&mut a, &mut b, &mut c, &mut d);
    (b, c, d) = (b.turn_1(), c.turn_2(), d.turn_3());
    mix(&mut a, &mut b, &mut c, &mut d);
    [a, b.turn_3(), c.turn_2(), d.turn_1()]
}

/// GB on every lane (RFC 9106, 3.6).
#[inline(always)]
fn mix<V: Lanes>(a: &mut V, b: &mut V, c: &mut V, d: &mut V) {
    *a = multiply_add(*a, *b);
    *d = d.xor(*a).right_32();
    *c = multiply_add(*c, *d);
    *b = b.xor(*c).right_24();
    *a = multiply_add(*a, *b);
    *d = d.xor(*a).right_16();
    *c = multiply_add(*c, *d);
    *b = b.xor(*c).right_63();
}

/// x + y + 2 · low half of x · low half of y.
#[inline(always)]
fn multiply_add<V: Lanes>(x: V, y: V) -> V {
    let product = x.multiply(y);
    x.add(y).add(product.add(product))
}
