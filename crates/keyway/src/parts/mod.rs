//! What a volume consists of (feature `parts`): the types of `keyway-volume` that functions of this crate take or return,
//! for programs that bring storage, keys or front ends of their own.
//!
//! ```
//! # use keyway::*;
//! use keyway::parts::Luks;
//!
//! fn is_detachable(header: &Luks) -> bool {
//!     header.version() == 2
//! }
//!
//! # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &Key::passphrase("correct horse"))?;
//! assert!(is_detachable(device.header()?.luks()));
//! # Ok::<(), keyway::Error>(())
//! ```

mod keyslots;
mod methods;
mod rules;

pub use keyslots::{Turn, unlock, verify_volume_key, wait_for_turn};

#[cfg(feature = "dm")]
pub use crate::mapping::set_mapping_flags;
/// A LUKS volume that was judged: from [`Admitted::judged`](crate::Admitted::judged).
pub use keyway_volume::Admitted;
/// The error behind one of this crate's: from [`Error::into_volume_error`](crate::Error::into_volume_error).
pub use keyway_volume::Error;
/// What a LUKS header says, by its version: from [`Luks::header`].
pub use keyway_volume::Header;
/// A key derivation with its costs: becomes a [`NewKdf`](crate::NewKdf).
pub use keyway_volume::KdfChoice;
/// Where the plaintext is on the data device: from [`Parts::layout`](crate::Parts::layout).
pub use keyway_volume::Layout;
/// A LUKS header on its storage: from [`Header::luks`](crate::Header::luks).
pub use keyway_volume::Luks;
/// A LUKS volume that its key has opened, for [`Mapping::reopen_with`](crate::Mapping::reopen_with).
#[cfg(feature = "dm")]
pub use keyway_volume::Opened;
/// Why an [`Error::Refused`] was refused.
pub use keyway_volume::Refusal;
/// The key that replaces the volume key: from [`Parts::second_key`](crate::Parts::second_key).
pub use keyway_volume::SecondKey;
/// What is demanded of a volume and tolerated in it, for [`Unlock::with_terms`](crate::Unlock::with_terms).
pub use keyway_volume::Terms;
/// A re-encryption that is under way, as the header says: from [`Header::under_way`](crate::Header::under_way).
pub use keyway_volume::UnderWay;
/// How keyslots are tried, for [`Admitted::find_key`](crate::Admitted::find_key).
pub use keyway_volume::UnlockOptions;
/// The volume key and what led to it, for [`Admitted::find_key`](crate::Admitted::find_key).
pub use keyway_volume::Unlocked;
/// What a new volume is filled with, for [`Create::begin`](crate::Create::begin).
pub use keyway_volume::data::build::Content;
/// Where a new volume is made, for [`Create::begin`](crate::Create::begin).
pub use keyway_volume::data::build::Target;
/// What becomes of zeros that are copied: a field of [`CopyOptions`].
pub use keyway_volume::device::stream::Holes;
/// Who watches a copy, for [`Building::complete`](crate::Building::complete).
pub use keyway_volume::device::stream::Meter;
/// How bytes are copied, for [`Building::complete`](crate::Building::complete).
pub use keyway_volume::device::stream::Options as CopyOptions;
/// Where the bytes of a new volume's content come from: a field of [`Content`].
pub use keyway_volume::device::stream::Source;
/// Why no token opened a keyslot: from [`Token::find_in`](crate::Token::find_in).
#[cfg(feature = "keyring")]
pub use keyway_volume::keyslot::tokens::Miss;
/// A kind of volume without a LUKS header, for [`Device::admit_described`](crate::Device::admit_described).
pub use keyway_volume::kind::Kind;
/// What is known of such a volume without its key: from [`Kind::known`].
pub use keyway_volume::kind::Known;
/// What its user gives: a field of [`Way`].
pub use keyway_volume::kind::Takes;
/// What may open it: a field of [`Known`].
pub use keyway_volume::kind::Way;
/// What is computed from that: a field of [`Way`].
pub use keyway_volume::kind::WayCost;
/// The volume keys of a re-encryption: from [`Device::prepare_reencryption`](crate::Device::prepare_reencryption).
pub use keyway_volume::reencrypt::VolumeKeys;
