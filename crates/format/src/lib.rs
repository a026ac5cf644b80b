//! Headers of LUKS1, LUKS2, TrueCrypt, VeraCrypt and BitLocker: converts bytes to types and back;
//! and derives the keys of plain volumes, which have no header. No I/O, no clock, no randomness, no
//! panic.
//!
//! A header is stored as the bytes it was read from plus a typed view of them. The view is
//! read-only: every edit changes the bytes (or the JSON document) and parses them again. So a
//! header value is always valid, and everything this crate does not understand is preserved.
//!
//! Without the feature `alloc`, only [`af`] is available.
#![forbid(unsafe_code)]
#![no_std]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod af;
#[cfg(feature = "alloc")]
pub mod base64;
#[cfg(feature = "alloc")]
pub mod bitlk;
#[cfg(feature = "alloc")]
pub mod crc32;
#[cfg(feature = "alloc")]
pub mod error;
#[cfg(feature = "alloc")]
pub mod fvault2;
#[cfg(feature = "alloc")]
pub mod interval;
#[cfg(feature = "alloc")]
pub mod json;
#[cfg(feature = "alloc")]
mod le;
#[cfg(feature = "alloc")]
pub mod luks1;
#[cfg(feature = "alloc")]
pub mod luks2;
#[cfg(feature = "alloc")]
pub mod plain;
#[cfg(feature = "alloc")]
mod shown;
#[cfg(feature = "alloc")]
pub mod tcrypt;
#[cfg(feature = "alloc")]
pub mod text;
#[cfg(feature = "alloc")]
pub mod units;

#[cfg(feature = "alloc")]
pub use error::{Error, Place};
#[cfg(feature = "alloc")]
pub use units::{Bytes, Sectors};
