//! LUKS volumes on storage: unlock, read, write, edit, create.
//!
//! A [`Luks`] is a header on storage; [`unlock`] turns it and a passphrase into a volume key; a [`Volume`] is the
//! plaintext, and is a [`Storage`] itself.
#![forbid(unsafe_code)]

pub mod error;
pub mod storage;

pub use error::{Error, Result};
pub use storage::Storage;
