//! LUKS1 and LUKS2 headers: bytes to types and back. No I/O, no clock, no randomness, no panic.
//!
//! A header is held as the bytes it was read from plus a typed view of them. The view can be read, not written:
//! every edit changes the bytes (or the JSON document) and parses them again, so an invalid header cannot be held,
//! and whatever this crate does not understand survives.
#![forbid(unsafe_code)]
#![no_std]

extern crate alloc;

pub mod af;
pub mod base64;
pub mod error;
pub mod json;
pub mod luks1;
pub mod luks2;
mod text;
pub mod units;

pub use error::{Error, Place};
pub use units::{Bytes, Sectors};
