//! LUKS volumes on storage: unlock, read, write, edit, create.
//!
//! A [`Luks`] is a header on storage; [`unlock()`] finds the volume key from it and a passphrase;
//! its [`Layout`] maps plaintext to the bytes of the data device, and [`Volume`] is that plaintext,
//! itself a [`Storage`].
//!
//! ```text
//! storage         trait Storage (read, write, flush, discard, length, what to lock); File, Memory,
//!                 Faulty; NewFile, readable for nobody who could not read its source, at a Place
//! luks            a header on its storage: read, recover; luks1_disk, luks2_disk write; lock locks
//! admission       which headers may be opened: judged once, on the copy that everything then uses
//! unlock          passphrase → volume key: candidate keyslots side by side, within limits
//! tokens          which tokens are asked, and which keyslots their passphrases are tried on
//! key_file        passphrases and volume keys from files and pipes
//! create edit convert backup repair   all that writes a header, in an order that survives a kill
//! build           a volume made together with its content in one pass, its header last
//! reencrypt       another key or cipher in place, zone by zone; resumed wherever it was cut
//! rekey           the mark of an image whose clones get a volume key each at their first boot
//! compare         whether a volume holds what an image holds
//! rights          what the users of a volume may do with it: every door and gate asks the same value
//! volume          Volume: the plaintext of an unlocked volume, a Storage itself
//! stream          whole volumes through all cores in constant memory
//! partitions      GPT and MBR: where the partitions of a disk or its image are
//! unused          which holes of an image are free space and may stay holes
//! facts           what a header says about its volume, and what in it deserves attention
//! probe           what a device holds: one table of signatures, a row per format, for luksFormat's
//!                 warnings and wiping, LUKS2's recovery, build, bench and the ramdisk's mounts
//! layers          what a block device is built of: dm-crypt, LVM, md …
//! address         Address: a URL that prints without password, signature and query
//! policy seal     demands on a volume (TOML), judged on the header alone; a MAC over the header, keyed
//!                 from the volume key; admission asks both, before and after it has the key
//! in_use          who else has the image open: QEMU's locks, which are not the header's
//! kdf_cost unlock_time   what a new keyslot should cost; how long an existing one takes here
//! kdf_rate             how fast this machine derives keys, for both
//! ```
#![forbid(unsafe_code)]

mod address;
pub mod admission;
mod area_cipher;
pub mod backup;
pub mod block_devices;
pub mod build;
pub mod compare;
pub mod convert;
pub mod create;
mod digest;
pub mod edit;
pub mod error;
pub mod facts;
pub mod in_use;
pub mod kdf_cost;
pub mod kdf_rate;
pub mod key_file;
mod keyslot;
pub mod layers;
pub mod layout;
pub mod lock;
pub mod luks;
mod luks1_disk;
mod luks2_disk;
mod memory;
pub mod mounts;
pub mod partitions;
pub mod plain;
pub mod policy;
pub mod probe;
pub mod random;
mod range_lock;
pub mod reencrypt;
pub mod rekey;
pub mod repair;
mod rights;
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
pub use admission::{Admitted, DataDevice, Opened, SecondKey, Terms};
pub use error::{Error, Refusal, Result};
pub use in_use::InUse;
pub use kdf_cost::{Cost, KdfChoice};
pub use layout::{Layout, MappedSegment, Mapping};
pub use lock::{Locking, holder as lock_holder};
pub use luks::{Access, DataCiphers, Header, KeyslotState, Luks};
pub use plain::PlainVolume;
pub use random::{OsRandom, Random, SeededRandom};
pub use rights::Rights;
pub use storage::Storage;
pub use tokens::TokenChoice;
pub use unlock::{UnlockOptions, Unlocked, unlock, verify_volume_key};
pub use unlock_time::UnlockTimes;
pub use unused::Unneeded;
pub use volume::{Keys, Volume};
