//! POLYVAL (RFC 8452, section 3) over whole sectors, in any width of [`Lanes`].
//!
//! ```text
//! S_0 = 0, S_j = dot(S_{j-1} + X_j, H), dot(a, b) = a · b · x^-128 in GF(2^128) modulo x^128 + x^127 + x^126 + x^121 + 1
//! ```
//!
//! With the key's powers H^32 … H (by dot), a stride of 32 blocks costs 32 products and one
//! reduction. Sectors are whole strides: the message that HCTR2 hashes has as many blocks as the
//! sector, once everything before the last block of the tweak is folded into it.

use super::lanes::Lanes;
use crate::block_cipher::Block;

/// Powers of the key under dot: H^32 first, H last.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Powers(pub(super) [Block; STRIDE]);

/// Multiplies by the key: dot(`block`, H).
#[inline(always)]
pub(super) fn dot<V: Lanes>(proof: V::Proof, powers: &Powers, block: &Block) -> Block {
    let key = V::first(proof, &powers.0[STRIDE - 1]);
    V::reduce(V::first(proof, block).multiply(key)).to_block()
}

/// Fills in the powers of a key.
#[inline(always)]
pub(super) fn raise<V: Lanes>(proof: V::Proof, key: Block, powers: &mut Powers) {
    powers.0[STRIDE - 1] = key;
    for index in (0..STRIDE - 1).rev() {
        powers.0[index] = dot::<V>(proof, powers, &powers.0[index + 1]);
    }
}

/// The hash of each sector with its first block replaced by the
/// sector's element of `heads`, into that element.
#[inline(always)]
pub(super) fn hash<V: Lanes>(
    proof: V::Proof,
    powers: &Powers,
    sector: usize,
    data: &[u8],
    heads: &mut [Block],
) {
    for (head, sector) in heads.iter_mut().zip(data.chunks_exact(sector)) {
        let (strides, _) = sector.as_chunks::<16>().0.as_chunks::<STRIDE>();
        // What is added to a stride's first block: for the first stride, the value that turns that
        // block into the head.
        let mut state = V::first(proof, head);
        if let Some([first, ..]) = strides.first() {
            state = state.xor(V::first(proof, first));
        }
        for stride in strides {
            let mut sum = V::load(proof, stride).xor(state).multiply(V::load(proof, &powers.0));
            for at in (V::BLOCKS..STRIDE).step_by(V::BLOCKS) {
                let factor = V::load(proof, &powers.0[at..]);
                sum = sum.add(V::load(proof, &stride[at..]).multiply(factor));
            }
            state = V::reduce(sum).fold();
        }
        *head = state.to_block();
    }
}

/// Blocks between reductions: a 512-byte sector.
pub(super) const STRIDE: usize = 32;
