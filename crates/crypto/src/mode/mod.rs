//! Modes of operation over runs of sectors, in portable code over any [`crate::block::BlockCipher`].
//!
//! Each takes one IV (for XTS: one encrypted tweak) a sector. Vector code of a cipher replaces them where it is faster.

pub(crate) mod cbc;
pub(crate) mod xts;

use crate::block::Block;

/// `block ^= mask`.
fn xor(block: &mut Block, mask: &Block) {
    *block = (u128::from_ne_bytes(*block) ^ u128::from_ne_bytes(*mask)).to_ne_bytes();
}
