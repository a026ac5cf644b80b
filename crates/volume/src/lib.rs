//! LUKS volumes on storage: unlock, read, write, edit, create.
//!
//! A [`Luks`] is a header on storage; [`unlock()`] finds the volume key from it and a passphrase;
//! its [`Layout`] maps plaintext to the bytes of the data device, and [`Volume`] is that plaintext,
//! itself a [`Storage`].
#![forbid(unsafe_code)]

mod address;
pub mod admission;
mod area_cipher;
pub mod backup;
pub mod build;
pub mod convert;
pub mod create;
mod digest;
pub mod edit;
pub mod error;
pub mod in_use;
pub mod kdf_cost;
pub mod key_file;
mod keyslot;
pub mod layout;
pub mod lock;
pub mod luks;
mod luks1_disk;
mod luks2_disk;
mod memory;
pub mod mounts;
pub mod plain;
pub mod policy;
pub mod probe;
pub mod random;
mod range_lock;
pub mod repair;
pub mod seal;
mod spread;
pub mod storage;
pub mod stream;
pub mod tokens;
pub mod unlock;
mod unlock_lanes;
pub mod unlock_time;
pub mod unused;
pub mod volume;

pub use address::Address;
pub use admission::{Admitted, DataDevice, Opened, Terms};
pub use error::{Error, Refusal, Result};
pub use in_use::InUse;
pub use kdf_cost::{Cost, KdfChoice};
pub use layout::{Layout, MappedSegment, Mapping};
pub use lock::Locking;
pub use luks::{Access, DataCiphers, Header, KeyslotState, Luks};
pub use plain::PlainVolume;
pub use random::{OsRandom, Random, SeededRandom};
pub use storage::Storage;
pub use tokens::TokenChoice;
pub use unlock::{UnlockOptions, Unlocked, unlock, verify_volume_key};
pub use unlock_time::UnlockTimes;
pub use unused::Unneeded;
pub use volume::Volume;
