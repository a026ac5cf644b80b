//! Kinds of volume that have no LUKS header: a folder and a row of [`KINDS`] each.
//!
//! A [`Kind`] is what the user says of a volume; [`Kind::judge`] reads what is on the device and refuses what cannot
//! be opened, before a key is asked for; [`Judged::open`] finds the volume key. All of them end in a [`Found`]: from
//! there on, no other room knows kinds apart. docs/FORMATS.md is how one is added.

use crate::{Layout, Refusal, Result, Storage, UnlockOptions};
use keyway_crypto::Secret;
use std::fmt;
use std::sync::Arc;

pub mod bitlk;
mod cost;
pub mod fvault2;
mod key_text;
mod known;
pub mod loopaes;
mod noise;
pub mod plain;
pub mod tcrypt;
mod written;

pub use known::{Known, Takes, Way, WayCost};

/// A kind of volume, with what its users say of one.
pub trait Kind: fmt::Debug + Send + Sync {
    /// Which kind it is.
    fn row(&self) -> &'static Row;

    /// Makes all checks that need no key.
    ///
    /// # Errors
    /// There is no such volume; it cannot be opened; it would be opened over something else.
    fn judge(&self, on: &Subject<'_>) -> Result<Box<dyn Judged>>;

    /// What is known of the volume on `data` without its key, whether it can be opened here or not.
    ///
    /// # Errors
    /// There is no such volume.
    fn known(&self, data: &dyn Storage) -> Result<Known>;

    /// What is known without its key of how the volume on `data` becomes LUKS2 in place.
    ///
    /// # Errors
    /// [`Refusal::NotConvertible`]: such a volume never does; there is no such volume, or it cannot be opened.
    fn convertible(&self, _data: &Arc<dyn Storage>) -> Result<Convertible> {
        let why = "Only TrueCrypt, VeraCrypt and BitLocker volumes can be converted to LUKS2 in place.";
        Err(Refusal::NotConvertible.because(why))
    }
}

/// What becomes LUKS2 in place, as far as that is known without its key.
#[derive(Debug, Clone)]
pub struct Convertible {
    /// Where its data is, for each cipher that it may have, the likeliest first.
    pub layouts: Vec<Layout>,
    /// The length of its volume key in bytes.
    pub key_len: usize,
}

/// What is the same for all volumes of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// As the command line names it: `--type plain`.
    pub name: &'static str,
    /// As cryptsetup's messages and the UUIDs of its mappings name it: "PLAIN".
    pub title: &'static str,
}

/// Every kind.
pub const KINDS: &[&Row] = &[&plain::ROW, &tcrypt::ROW, &bitlk::ROW, &fvault2::ROW, &loopaes::ROW];

/// The device that is to hold such a volume, and what its user permits.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The device.
    pub data: &'a Arc<dyn Storage>,
    /// What messages call it.
    pub device: &'a str,
    /// The volume is to be written, too.
    pub writes: bool,
    /// Ciphers that hide little or nothing are accepted.
    pub weak_ciphers: bool,
}

/// A volume that can be opened, without its key.
pub trait Judged: Send + Sync {
    /// The UUID that its header gives it.
    fn uuid(&self) -> Option<&str> {
        None
    }

    /// The length of the volume key in bytes, where it is known by now.
    fn volume_key_len(&self) -> Option<usize> {
        None
    }

    /// How much of a key file is read, in bytes; `None`: all of it.
    fn key_file_len(&self) -> Option<usize> {
        None
    }

    /// Refuses what must not become LUKS2 in place, as nothing proves where its data is.
    ///
    /// # Errors
    /// [`Refusal::NotConvertible`].
    fn check_convertible(&self) -> Result<()> {
        Ok(())
    }

    /// Finds the volume key.
    ///
    /// # Errors
    /// [`Error::WrongPassphrase`](crate::Error::WrongPassphrase),
    /// [`Error::WrongVolumeKey`](crate::Error::WrongVolumeKey); `options` let it take less memory or time than it
    /// needs.
    fn open(&self, key: Key<'_>, options: &UnlockOptions) -> Result<Found>;

    /// Opens it without any secret; `None` where it takes one. An error as well where no secret that can be asked for
    /// opens it.
    fn open_unprotected(&self) -> Option<Result<Found>> {
        None
    }

    /// What its users should know of it, a sentence each: a copy of its header is damaged.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What a volume is opened with.
#[derive(Clone, Copy)]
pub enum Key<'a> {
    /// A passphrase, as typed.
    Passphrase(&'a Secret),
    /// The content of a key file, as much of it as [`Judged::key_file_len`] says.
    File(&'a Secret),
    /// The volume key itself.
    Volume(&'a Secret),
}

/// An opened volume: where its plaintext is, and the key.
pub struct Found {
    /// Maps the plaintext to the device.
    pub layout: Layout,
    /// The key of all its segments.
    pub volume_key: Secret,
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Found").field("layout", &self.layout).finish_non_exhaustive()
    }
}
