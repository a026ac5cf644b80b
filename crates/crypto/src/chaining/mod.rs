//! The modes that a cipher may have code of its own for, in portable code: how the blocks of a
//! sector are chained.
//!
//! The cipher is a function over many blocks, and sectors come with one IV (for XTS: one encrypted
//! tweak) each. [`crate::block_cipher`] makes these the provided methods of its traits, which
//! vector code replaces where it is faster.

pub(crate) mod cbc;
pub(crate) mod ctr;
pub(crate) mod xts;

/// The blocks of most ciphers: 128 bits.
pub(crate) type Block = [u8; 16];

/// `block ^= mask`. In words, because compilers go byte by byte where they cannot tell that the two
/// do not overlap.
#[inline(always)]
pub(crate) fn xor<const N: usize>(block: &mut [u8; N], mask: &[u8; N]) {
    const { assert!(N.is_multiple_of(8)) };
    for (word, mask) in block.as_chunks_mut().0.iter_mut().zip(mask.as_chunks().0) {
        *word = (u64::from_ne_bytes(*word) ^ u64::from_ne_bytes(*mask)).to_ne_bytes();
    }
}

/// Sectors whose IVs are computed and encrypted together: enough to keep a vector unit busy, few
/// enough for the stack.
pub(crate) const BATCH: usize = 64;
