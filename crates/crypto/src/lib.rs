//! Ciphers, modes, IVs, hashes and KDFs of dm-crypt and LUKS.
//!
//! Everything that runs on whole sectors goes through [`SectorCipher`]; everything that turns a passphrase into a
//! key goes through [`kdf`]. What the CPU can do is decided once, in [`Cpu`], and handed down as a value.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

pub mod cpu;
pub mod error;
pub mod hash;
pub mod kdf;
pub mod secret;
pub mod sector;
pub mod spec;

pub use cpu::Cpu;
pub use error::Error;
pub use hash::Hash;
pub use kdf::Stop;
pub use secret::Secret;
pub use sector::{SectorCipher, SectorSize};
pub use spec::CipherSpec;
