//! Encrypted volumes on storage: unlock, read, write, edit, create.
//!
//! A [`Luks`] is a header on storage; [`unlock()`] finds the volume key from it and a passphrase;
//! its [`Layout`] maps plaintext to the bytes of the data device, and [`Volume`] is that plaintext,
//! itself a [`Storage`].
//!
//! Eight rooms, from the top; each imports only from those below it:
//!
//! ```text
//! trust       which volumes may be opened, and what their users may do: admission, policy, facts
//! reencrypt   another key or cipher in place, zone by zone; resumed wherever it was cut
//! data        the plaintext: read, written, built with its content, compared
//! change      all that writes a header: create, edit, seal, convert, back up, repair
//! kind        volumes without a LUKS header: a folder a kind
//! keyslot     from a passphrase to the volume key, and what that costs
//! header      a header on its storage: read, recovered, its layout, its seal
//! device      storage and what it holds, who else uses it, streams over it
//! random error   below all of them
//! ```
#![forbid(unsafe_code)]

pub mod change;
pub mod data;
pub mod device;
pub mod error;
pub mod header;
pub mod keyslot;
pub mod kind;
pub mod random;
pub mod reencrypt;
pub mod trust;

pub use data::unused::Unneeded;
pub use data::volume::{Keys, Volume};
pub use device::address::Address;
pub use device::in_use::InUse;
pub use device::lock::{Locking, holder as lock_holder};
pub use device::storage::Storage;
pub use error::{Error, Refusal, Result};
pub use header::layout::{Layout, MappedSegment, Mapping};
pub use header::luks::{Access, DataCiphers, Header, KeyslotState, Luks};
pub use header::{DataDevice, UnderWay};
pub use keyslot::kdf_cost::{Cost, KdfChoice};
pub use keyslot::tokens::TokenChoice;
pub use keyslot::unlock::{UnlockOptions, Unlocked, unlock, verify_volume_key};
pub use keyslot::unlock_time::UnlockTimes;
pub use kind::plain::PlainVolume;
pub use random::{OsRandom, Random, SeededRandom};
pub use trust::Rights;
pub use trust::admission::{Admitted, Opened, SecondKey, Terms};
