//! Modes of operation over runs of sectors, in portable code over any
//! [`crate::block_cipher::BlockCipher`].
//!
//! A mode's file holds its body, which takes one IV (for XTS: one encrypted tweak) per sector;
//! those that ciphers may have code of their own for stand in [`crate::chaining`]. [`by_iv`] makes
//! most bodies an [`crate::engine::Engine`]; modes with more keys implement the trait themselves.

pub(crate) mod adiantum;
pub(crate) mod by_iv;
pub(crate) mod cfb;
pub(crate) mod ecb;
pub(crate) mod hctr2;
pub(crate) mod lrw;
pub(crate) mod ofb;
pub(crate) mod pcbc;
pub(crate) mod wide;
pub(crate) mod xts;
