//! BLAKE2s-256 in lanes (RFC 7693, section 3).

use super::super::chains::Chain;
use super::{Compress, Lanes, iterate};

/// Iterates chains.
#[inline(always)]
pub(in super::super) fn blake2s<V: Lanes<Word = u32>>(
    proof: V::Proof,
    chains: &mut [Chain<[u32; 8]>],
    rounds: u32,
) {
    iterate::<V, Blake2s, 8>(proof, chains, rounds);
}

/// The states after a block that ends `len` bytes into the message.
#[inline(always)]
pub(in super::super) fn blake2s_block<V: Lanes<Word = u32>>(
    proof: V::Proof,
    start: &[V; 8],
    message: &[V; 16],
    len: u32,
    is_last: bool,
) -> [V; 8] {
    let mut work = [V::splat(proof, 0); 16];
    work[..8].copy_from_slice(start);
    for (word, constant) in work[8..].iter_mut().zip(IV) {
        *word = V::splat(proof, constant);
    }
    work[12] = V::splat(proof, IV[4] ^ len);
    work[14] = V::splat(proof, if is_last { !IV[6] } else { IV[6] });
    for order in &SIGMA {
        let word = |at: usize| message[order[at]];
        mix(&mut work, [0, 4, 8, 12], word(0), word(1));
        mix(&mut work, [1, 5, 9, 13], word(2), word(3));
        mix(&mut work, [2, 6, 10, 14], word(4), word(5));
        mix(&mut work, [3, 7, 11, 15], word(6), word(7));
        mix(&mut work, [0, 5, 10, 15], word(8), word(9));
        mix(&mut work, [1, 6, 11, 12], word(10), word(11));
        mix(&mut work, [2, 7, 8, 13], word(12), word(13));
        mix(&mut work, [3, 4, 9, 14], word(14), word(15));
    }
    let mut state = *start;
    for at in 0..8 {
        state[at] = state[at].xor(work[at]).xor(work[at + 8]);
    }
    state
}

struct Blake2s;

impl<V: Lanes<Word = u32>> Compress<V, 8> for Blake2s {
    #[inline(always)]
    fn compress(proof: V::Proof, start: &[V; 8], digest: &[V; 8]) -> [V; 8] {
        let mut message = [V::splat(proof, 0); 16];
        message[..8].copy_from_slice(digest);
        blake2s_block(proof, start, &message, 96, true)
    }
}

/// G of the RFC.
#[inline(always)]
fn mix<V: Lanes>(work: &mut [V; 16], [a, b, c, d]: [usize; 4], x: V, y: V) {
    work[a] = work[a].add(work[b]).add(x);
    work[d] = work[d].xor(work[a]).rotate_right::<16>();
    work[c] = work[c].add(work[d]);
    work[b] = work[b].xor(work[c]).rotate_right::<12>();
    work[a] = work[a].add(work[b]).add(y);
    work[d] = work[d].xor(work[a]).rotate_right::<8>();
    work[c] = work[c].add(work[d]);
    work[b] = work[b].xor(work[c]).rotate_right::<7>();
}

/// RFC 7693, section 2.6; SHA-256's initial state.
pub(in super::super) const IV: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];
/// RFC 7693, section 2.7.
const SIGMA: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];
