//! LUKS1 and LUKS2 headers: bytes to types and back. No I/O, no clock, no randomness, no panic.
#![forbid(unsafe_code)]
#![no_std]

extern crate alloc;

pub mod af;
pub mod error;
pub mod luks1;
pub mod luks2;
pub mod units;

pub use error::{Error, Place};
pub use units::{Bytes, Sectors};
