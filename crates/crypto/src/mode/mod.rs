//! Modes of operation over runs of sectors, in portable code over any
//! [`crate::block::BlockCipher`].
//!
//! A mode's file holds its body, which takes one IV (for XTS: one encrypted tweak) per sector.
//! [`by_iv`] makes most bodies an [`crate::engine::Engine`]; modes with more keys implement the
//! trait themselves. A cipher's vector code replaces a body where it is faster.

#[cfg(feature = "alloc")]
pub(crate) mod adiantum;
#[cfg(feature = "alloc")]
pub(crate) mod by_iv;
pub(crate) mod cbc;
#[cfg(feature = "alloc")]
pub(crate) mod cfb;
pub(crate) mod ctr;
#[cfg(feature = "alloc")]
pub(crate) mod ecb;
#[cfg(feature = "alloc")]
pub(crate) mod hctr2;
#[cfg(feature = "alloc")]
pub(crate) mod lrw;
#[cfg(feature = "alloc")]
pub(crate) mod ofb;
#[cfg(feature = "alloc")]
pub(crate) mod pcbc;
#[cfg(feature = "alloc")]
pub(crate) mod wide;
pub(crate) mod xts;

/// `block ^= mask`.
fn xor<const N: usize>(block: &mut [u8; N], mask: &[u8; N]) {
    block.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
}

/// Sectors whose IVs are computed and encrypted together: enough to keep a vector unit busy, few
/// enough for the stack.
pub(crate) const BATCH: usize = 64;
