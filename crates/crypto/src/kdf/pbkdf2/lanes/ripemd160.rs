//! RIPEMD-160 in lanes (Dobbertin, Bosselaers, Preneel: "RIPEMD-160: A Strengthened Version of
//! RIPEMD", 1996, appendix A).

use super::super::chains::Chain;
use super::{Compress, Lanes, iterate, sixteen, xor_3};

/// Iterates chains.
#[inline(always)]
pub(in super::super) fn ripemd160<V: Lanes<Word = u32>>(
    proof: V::Proof,
    chains: &mut [Chain<[u32; 5]>],
    rounds: u32,
) {
    iterate::<V, Ripemd160, 5>(proof, chains, rounds);
}

/// The states after a block.
#[inline(always)]
pub(in super::super) fn ripemd160_block<V: Lanes<Word = u32>>(
    proof: V::Proof,
    start: &[V; 5],
    message: &[V; 16],
) -> [V; 5] {
    let (mut left, mut right) = (*start, *start);
    sixteen!(step::<V, 0>(proof, &mut left, &mut right, message));
    sixteen!(step::<V, 16>(proof, &mut left, &mut right, message));
    sixteen!(step::<V, 32>(proof, &mut left, &mut right, message));
    sixteen!(step::<V, 48>(proof, &mut left, &mut right, message));
    sixteen!(step::<V, 64>(proof, &mut left, &mut right, message));
    core::array::from_fn(|at| start[(at + 1) % 5].add(left[(at + 2) % 5]).add(right[(at + 3) % 5]))
}

struct Ripemd160;

impl<V: Lanes<Word = u32>> Compress<V, 5> for Ripemd160 {
    #[inline(always)]
    fn compress(proof: V::Proof, start: &[V; 5], digest: &[V; 5]) -> [V; 5] {
        let mut message = [V::splat(proof, 0); 16];
        message[..5].copy_from_slice(digest);
        message[5] = V::splat(proof, 0x80);
        message[14] = V::splat(proof, 8 * 84);
        ripemd160_block(proof, start, &message)
    }
}

/// Step `FIRST` + `STEP` of both lines.
#[inline(always)]
fn step<V: Lanes<Word = u32>, const FIRST: usize, const STEP: usize>(
    proof: V::Proof,
    left: &mut [V; 5],
    right: &mut [V; 5],
    message: &[V; 16],
) {
    let (step, round) = (FIRST + STEP, FIRST / 16);
    line(proof, left, step, round, LEFT[round], message[LEFT_WORDS[step]], LEFT_SHIFTS[step]);
    line(proof, right, step, 4 - round, RIGHT[round], message[RIGHT_WORDS[step]], RIGHT_SHIFTS[step]);
}

/// A step of a line. The state's words stay where they are: a is at index -`step` modulo 5.
#[inline(always)]
fn line<V: Lanes<Word = u32>>(
    proof: V::Proof,
    state: &mut [V; 5],
    step: usize,
    function: usize,
    constant: u32,
    word: V,
    shift: u32,
) {
    let place = 80 - step;
    let (b, c, d) = (state[(place + 1) % 5], state[(place + 2) % 5], state[(place + 3) % 5]);
    let ones = V::splat(proof, !0);
    let mixed = match function {
        0 => xor_3(b, c, d),
        1 => b.choose(c, d),
        2 => c.choose(b, ones).xor(d),
        3 => d.choose(b, c),
        _ => d.choose(c, ones).xor(b),
    };
    let ready = word.add(V::splat(proof, constant));
    let sum = state[place % 5].add(mixed).add(ready);
    state[place % 5] = rotate_left(sum, shift).add(state[(place + 4) % 5]);
    state[(place + 2) % 5] = c.rotate_right::<22>();
}

/// The amount is known to the compiler wherever this is inlined.
#[inline(always)]
fn rotate_left<V: Lanes>(word: V, bits: u32) -> V {
    match bits {
        5 => word.rotate_right::<27>(),
        6 => word.rotate_right::<26>(),
        7 => word.rotate_right::<25>(),
        8 => word.rotate_right::<24>(),
        9 => word.rotate_right::<23>(),
        11 => word.rotate_right::<21>(),
        12 => word.rotate_right::<20>(),
        13 => word.rotate_right::<19>(),
        14 => word.rotate_right::<18>(),
        _ => word.rotate_right::<17>(),
    }
}

const LEFT: [u32; 5] = [0, 0x5a82_7999, 0x6ed9_eba1, 0x8f1b_bcdc, 0xa953_fd4e];
const RIGHT: [u32; 5] = [0x50a2_8be6, 0x5c4d_d124, 0x6d70_3ef3, 0x7a6d_76e9, 0];
#[rustfmt::skip]
const LEFT_WORDS: [usize; 80] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
    7, 4, 13, 1, 10, 6, 15, 3, 12, 0, 9, 5, 2, 14, 11, 8,
    3, 10, 14, 4, 9, 15, 8, 1, 2, 7, 0, 6, 13, 11, 5, 12,
    1, 9, 11, 10, 0, 8, 12, 4, 13, 3, 7, 15, 14, 5, 6, 2,
    4, 0, 5, 9, 7, 12, 2, 10, 14, 1, 3, 8, 11, 6, 15, 13,
];
#[rustfmt::skip]
const RIGHT_WORDS: [usize; 80] = [
    5, 14, 7, 0, 9, 2, 11, 4, 13, 6, 15, 8, 1, 10, 3, 12,
    6, 11, 3, 7, 0, 13, 5, 10, 14, 15, 8, 12, 4, 9, 1, 2,
    15, 5, 1, 3, 7, 14, 6, 9, 11, 8, 12, 2, 10, 0, 4, 13,
    8, 6, 4, 1, 3, 11, 15, 0, 5, 12, 2, 13, 9, 7, 10, 14,
    12, 15, 10, 4, 1, 5, 8, 7, 6, 2, 13, 14, 0, 3, 9, 11,
];
#[rustfmt::skip]
const LEFT_SHIFTS: [u32; 80] = [
    11, 14, 15, 12, 5, 8, 7, 9, 11, 13, 14, 15, 6, 7, 9, 8,
    7, 6, 8, 13, 11, 9, 7, 15, 7, 12, 15, 9, 11, 7, 13, 12,
    11, 13, 6, 7, 14, 9, 13, 15, 14, 8, 13, 6, 5, 12, 7, 5,
    11, 12, 14, 15, 14, 15, 9, 8, 9, 14, 5, 6, 8, 6, 5, 12,
    9, 15, 5, 11, 6, 8, 13, 12, 5, 12, 13, 14, 11, 8, 5, 6,
];
#[rustfmt::skip]
const RIGHT_SHIFTS: [u32; 80] = [
    8, 9, 9, 11, 13, 15, 15, 5, 7, 7, 8, 11, 14, 14, 12, 6,
    9, 13, 15, 7, 12, 8, 9, 11, 7, 7, 12, 7, 6, 15, 13, 11,
    9, 7, 15, 11, 8, 6, 6, 14, 12, 13, 5, 14, 13, 13, 7, 5,
    15, 5, 8, 11, 14, 14, 6, 14, 6, 9, 12, 9, 12, 5, 15, 8,
    8, 5, 12, 9, 12, 5, 14, 6, 8, 13, 6, 5, 15, 13, 11, 11,
];
