//! Ciphers, modes, IVs, hashes and KDFs of dm-crypt and LUKS.
//!
//! Everything that runs on whole sectors goes through [`SectorCipher`]; everything that turns a passphrase into a
//! key goes through [`kdf`]. What the CPU can do is decided once, in [`Cpu`], and handed down as a value.
#![cfg_attr(not(any(feature = "std", test)), no_std)]

extern crate alloc;

mod block;
pub mod cascade;
pub mod cpu;
mod engine;
pub mod error;
pub mod hash;
mod iv;
pub mod kdf;
mod mode;
pub mod secret;
pub mod sector;
pub mod spec;
mod sys;

pub use cascade::{Cascade, CascadeMode};
pub use cpu::Cpu;
pub use error::Error;
pub use hash::Hash;
pub use kdf::Stop;
pub use secret::Secret;
pub use sector::{SectorCipher, SectorSize};
pub use spec::CipherSpec;
