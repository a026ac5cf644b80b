//! Linux disk encryption without root, as a library: LUKS volumes are created, opened, read,
//! written and edited in user space, byte for byte as cryptsetup and the kernel do it.
//!
//! Five verbs: **open** a location, **probe** what is there, **unlock** it, and then **do**
//! something with the **volume**.
//!
//! ```
//! use keyway::{Create, Device, Key, Probe};
//! # use keyway::NewKdf;
//! # let directory = std::env::temp_dir().join(format!("keyway-lib-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! # let path = directory.join("disk.luks");
//! # Create::luks2().kdf(NewKdf::pbkdf2(1000)).size(1 << 20).create(&path, &Key::passphrase("correct horse"))?;
//!
//! let device = Device::open(&path)?;
//! if device.probe()? == Probe::Luks2 {
//!     let volume = device.unlock(&Key::passphrase("correct horse"))?;
//!     let mut sector = [0; 512];
//!     volume.read_at(&mut sector, 0)?;
//! }
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to … | start at |
//! |------|----------|
//! | look at a header, add, change and remove keys, back up, convert, seal | [`Device::header`], [`Header`] |
//! | show all that a header says, and what deserves attention | [`facts`] |
//! | ask for one key after the other to add or change one | [`Header::try_key`], [`Header::add_key_with`] |
//! | change the volume key or the cipher in place; encrypt or decrypt what is there | [`Device::begin_reencryption`], [`Reencryption`] |
//! | learn what that would do, and how long it takes | [`estimate`] |
//! | repair a header, restore one | [`Device::repair`], [`Device::diagnose`], [`Device::restore_header`] |
//! | read and write the plaintext | [`Device::unlock`], [`Volume`] |
//! | open a plain dm-crypt, TrueCrypt, VeraCrypt, BitLocker, FileVault or loop-AES volume | [`Device::unlock_as`], [`Plain`], [`Tcrypt`], [`Bitlk`], [`Fvault2`], [`LoopAes`] |
//! | ask a person for the passphrase, more than once | [`Device::admit`] |
//! | demand something of a volume; take one that is refused | [`Unlock`] |
//! | bound what unlocking may cost; watch and end long work | [`Limits`], [`Progress`], [`Cancel`] |
//! | make a volume, empty or with its content; copy one | [`Create`], [`Create::build`], [`Volume::copy_to_file`] |
//! | make a VeraCrypt volume, or hide one in another | [`NewVeracrypt`] |
//! | change what opens a TrueCrypt or VeraCrypt volume, back up and restore its header | [`TcryptHeader`], [`TcryptRestore`] |
//! | hand the plaintext to other programs | `Volume::serve_nbd`, `Volume::mount`, `Volume::add_ublk`, `Admitted::map` (features) |
//! | find, suspend, resize, re-encrypt and remove what the kernel has mapped | `Mapping` (feature) |
//! | learn how long a keyslot takes, here, on a board, in GRUB | [`Header::unlock_time`], `Device::predict` (feature) |
//! | see which devices there are, what is on them, who holds them | [`devices`] |
//! | run on storage of your own | [`storage`] |
//!
//! # Safe by default
//!
//! A LUKS header is not authenticated, and other programs may be using the same device. Every way
//! to the plaintext goes through [`Device::admit`]. It claims the device against mounts, mappings,
//! QEMU and other Keyways; reads the header once, under the lock that cryptsetup honours; and
//! refuses volumes that nobody intended. Every option that lifts one of these checks says so in its
//! name: [`Unlock::shared`], [`Unlock::weak_ciphers`], [`DeviceOptions::without_header_lock`] …
//! Header edits are written in an order such that an interruption at any byte leaves a header that
//! opens.
//!
//! Keys and passphrases are kept in memory that is locked, left out of core dumps and wiped.
//!
//! # Features
//!
//! `default = []` is the core: no TLS, no network, no FUSE, no C.
//!
//! | feature | what it adds |
//! |---------|--------------|
//! | `nbd` | `Volume::serve_nbd`; volumes on exports of NBD servers (`nbd://`, `nbd+unix://`) |
//! | `tls` | `nbds://`, `nbds+unix://` |
//! | `fuse` | `Volume::mount`: the plaintext as a file |
//! | `ublk` | `Volume::add_ublk`: the plaintext as a block device |
//! | `dm` | `Admitted::map`: a dm-crypt mapping of the kernel's, for root |
//! | `keyring` | `Key::Token`: passphrases that a header's tokens name in the kernel's keyring |
//! | `predict` | `Device::predict`: the time to unlock on other machines, and what GRUB makes of a volume |
//! | `parts` | what a volume consists of, in `keyway-volume`'s types, for storage, keys and front ends of your own |
//! | `remote` | volumes behind HTTP and in S3-compatible stores (`https://`, `s3://`), to be read |
//!
//! # Stability
//!
//! Until 1.0 a minor version may introduce breaking changes that the compiler detects; a patch
//! version breaks nothing. Enums that may grow are `#[non_exhaustive]`. The minimum supported Rust
//! version is in `Cargo.toml`; a minor version may raise it.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod admitted;
#[cfg(any(feature = "nbd", feature = "fuse", feature = "ublk"))]
mod attach;
mod create;
mod device;
pub mod devices;
mod error;
pub mod estimate;
pub mod facts;
mod header;
mod kdf;
#[cfg(feature = "parts")]
pub mod kdf_cost;
mod key;
#[cfg(feature = "parts")]
pub mod key_file;
mod kind;
mod limits;
mod location;
#[cfg(feature = "dm")]
mod mapping;
mod opened;
#[cfg(feature = "parts")]
pub mod parts;
mod plaintext;
#[cfg(feature = "predict")]
mod predict;
mod prepared;
mod probe;
mod reencrypt;
pub mod storage;
#[cfg(feature = "parts")]
pub mod stream;
mod token;
#[cfg(feature = "parts")]
pub mod trust;
mod unlock;
mod users;
mod version;
mod volume;
mod volume_key;

pub use admitted::Admitted;
#[cfg(any(feature = "nbd", feature = "fuse", feature = "ublk"))]
pub use attach::Attached;
#[cfg(feature = "parts")]
pub use create::{Building, Built, NotBuilt, OuterVolume};
pub use create::{Content, Create, NewBitlk, NewVeracrypt};
pub use device::{Device, DeviceOptions};
pub use error::{Error, ErrorKind, Result};
pub use header::{Header, Keyslot, LastKeyslot, NewKeyslot, NewToken, Priority, Segment, StoredToken};
pub use kdf::{Kdf, NewKdf};
pub use key::{Key, KeyFile};
/// Bytes that are locked in memory, left out of core dumps, and wiped on drop; never copied, never
/// printed. See [`Key`] for an example.
pub use keyway_crypto::Secret;
/// What a file, a device or a header is opened for, by a program that opens it itself (feature `parts`). See
/// [`Header::luks`] for a header that is open.
#[cfg(feature = "parts")]
pub use keyway_volume::Access;
/// See [`Header::keyslots`] for an example.
pub use keyway_volume::KeyslotState;
/// Whether a header's lock is taken, and how long it is waited for: ten seconds unless told otherwise (feature
/// `parts`). See [`DeviceOptions::without_header_lock`] for the choice.
#[cfg(feature = "parts")]
pub use keyway_volume::Locking;
pub use kind::{
    Bitlk, BitlkProtectors, Fvault2, Kind, LoopAes, NewTcryptKey, Plain, RecoveryPassword, Tcrypt,
    TcryptHeader, TcryptRestore,
};
pub use limits::{Cancel, Limits, Progress};
pub use location::Location;
#[cfg(all(feature = "dm", feature = "parts"))]
pub use mapping::LinkedKeys;
#[cfg(feature = "dm")]
pub use mapping::{
    KeyLink, KeyLinks, LeftSuspended, MapOptions, MappedKey, Mapping, MappingFlag, MappingStatus,
    MappingStep, Reopened, Unchanged, Unlinkable, WatchMapping,
};
#[cfg(feature = "parts")]
pub use opened::Parts;
#[cfg(feature = "predict")]
pub use predict::{Finding, GrubVersion, Machine, Outcome, PredictedKeyslot, Prediction};
pub use prepared::{Repair, Restore};
pub use probe::{Probe, Signature, SignatureKind};
pub use reencrypt::{
    FirstBoot, Luks1Change, Luks1Files, PossibleLengths, Reencrypt, Reencryption, Resilience, Unused,
};
#[cfg(feature = "keyring")]
pub use token::Token;
#[cfg(all(feature = "keyring", feature = "parts"))]
pub use token::Watch;
pub use unlock::Unlock;
pub use version::Version;
pub use volume::Volume;
pub use volume_key::VolumeKey;

/// What a repair finds: see [`Device::repair`] and [`Device::diagnose`].
pub mod repair {
    pub use keyway_volume::change::repair::{Found, KeyslotArea, State};
}

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
