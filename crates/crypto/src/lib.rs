//! Ciphers, modes, IVs, hashes and KDFs of dm-crypt and LUKS.
//!
//! Everything that runs on whole sectors goes through [`SectorCipher`]; everything that turns a
//! passphrase into a key goes through [`kdf`]. The CPU's features are detected once, in [`Cpu`],
//! and passed down as a value.
//!
//! # Without an allocator
//! A boot loader that turns off every feature can unlock LUKS with the rest: [`kdf`]
//! ([`kdf::argon2_in`] over memory that it provides), [`AesXts`] for the keyslot area and for
//! sectors, and `keyway-format`'s AF merge between the two. `bare/` in the repository is such a
//! program.
#![cfg_attr(not(any(feature = "std", test)), no_std)]
// Ciphers and modes that need allocated engines are left out; some code that they share remains.
#![cfg_attr(not(feature = "alloc"), allow(dead_code, reason = "shared with what needs an allocator"))]

#[cfg(feature = "alloc")]
extern crate alloc;

mod aes_ccm;
#[cfg(feature = "alloc")]
mod aes_wrap;
mod aes_xts;
mod block;
mod block_cipher;
#[cfg(feature = "alloc")]
pub mod cascade;
mod chaining;
#[cfg(feature = "alloc")]
mod choice;
pub mod cpu;
#[cfg(feature = "alloc")]
mod engine;
pub mod error;
pub mod hash;
#[cfg(feature = "alloc")]
mod iv;
pub mod kdf;
#[cfg(feature = "alloc")]
mod mode;
pub mod secret;
pub mod sector;
mod sector_size;
mod simd;
#[cfg(feature = "alloc")]
pub mod spec;
mod sys;

pub use aes_ccm::AesCcm;
#[cfg(feature = "alloc")]
pub use aes_wrap::AesWrap;
pub use aes_xts::AesXts;
#[cfg(feature = "alloc")]
pub use cascade::{Cascade, CascadeMode, Layer};
pub use cpu::Cpu;
pub use error::Error;
pub use hash::Hash;
pub use kdf::Stop;
pub use secret::Secret;
#[cfg(feature = "alloc")]
pub use sector::SectorCipher;
pub use sector_size::SectorSize;
#[cfg(feature = "alloc")]
pub use spec::{CipherSpec, Weakness};
