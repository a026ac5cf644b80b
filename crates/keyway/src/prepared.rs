//! What is written to a header only after it was shown to the caller: a repair, or a backup that is
//! restored.

use crate::error::At;
use crate::repair::{Found, KeyslotArea};
use crate::{Key, Location, Result, Unlock};
use keyway_volume::change::{backup, repair};
use std::fmt;

/// What is damaged in a header and can be repaired with certainty: from
/// [`Device::repair`](crate::Device::repair); see there for an example.
pub struct Repair {
    prepared: repair::Repair,
    place: Location,
}

impl Repair {
    pub(crate) fn new(prepared: repair::Repair, place: &Location) -> Self {
        Self { prepared, place: place.clone() }
    }

    /// The changes, one line each; none where nothing is wrong. See
    /// [`Device::repair`](crate::Device::repair) for an example.
    pub fn changes(&self) -> &[String] {
        self.prepared.changes()
    }

    /// Every place with a header or with something of one, and what is certain about it. See
    /// [`Device::repair`](crate::Device::repair) for an example.
    pub fn found(&self) -> &[Found] {
        self.prepared.found()
    }

    /// What cannot be brought back, one sentence each. See
    /// [`Device::repair`](crate::Device::repair) for an example.
    pub fn lost(&self) -> &[String] {
        self.prepared.lost()
    }

    /// What else should be known before it is written, one sentence each: other formats' signatures on
    /// the device, bytes that cannot be read. See [`Device::repair`](crate::Device::repair) for an
    /// example.
    pub fn warnings(&self) -> &[String] {
        self.prepared.warnings()
    }

    /// The key material of every keyslot in use, and which sectors of it were overwritten: such a
    /// keyslot opens no more, and only a header backup brings it back. See
    /// [`Device::diagnose`](crate::Device::diagnose) for an example.
    pub fn keyslots(&self) -> &[KeyslotArea] {
        self.prepared.keyslots()
    }

    /// Whether the header has no checksum that proves what it was (LUKS1 without its magic), so that
    /// only a passphrase can: [`Repair::confirm`].
    pub fn needs_passphrase(&self) -> bool {
        self.prepared.needs_passphrase()
    }

    /// Proves by a passphrase what the header was; `options` limit the key derivation. See
    /// [`Device::repair`](crate::Device::repair) for an example.
    ///
    /// # Errors
    /// [`ErrorKind::WrongPassphrase`](crate::ErrorKind::WrongPassphrase); the key is no passphrase.
    pub fn confirm(&self, key: &Key, options: &Unlock) -> Result<()> {
        let passphrase = key.read_passphrase()?;
        self.prepared.prove(&passphrase, &options.options()).at(&self.place)
    }

    /// Writes the changes, under the header's lock. See [`Device::repair`](crate::Device::repair)
    /// for an example.
    ///
    /// # Errors
    /// The header has changed meanwhile, or no passphrase has confirmed it; it comes from
    /// [`Device::diagnose`](crate::Device::diagnose); writing fails.
    pub fn run(self) -> Result<()> {
        self.prepared.run().at(&self.place)
    }
}

impl fmt::Debug for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repair").field("changes", &self.changes()).finish_non_exhaustive()
    }
}

/// A header backup that fits its device and has not been written yet: from
/// [`Device::restore_header`](crate::Device::restore_header).
pub struct Restore {
    prepared: backup::Restore,
    place: Location,
}

impl Restore {
    pub(crate) fn new(prepared: backup::Restore, place: &Location) -> Self {
        Self { prepared, place: place.clone() }
    }

    /// What a person should confirm, one line each. See [`Header::backup`](crate::Header::backup)
    /// for an example.
    pub fn warnings(&self) -> Vec<String> {
        self.prepared.warnings().iter().map(|warning| warning.of(&self.place).to_string()).collect()
    }

    /// Whether the backup has another volume key than the same volume's header has now: it was
    /// re-encrypted since, and nothing on it could be read. See
    /// [`Header::backup`](crate::Header::backup) for an example.
    pub fn loses_key(&self) -> bool {
        self.prepared.warnings().contains(&backup::Warning::OtherVolumeKey)
    }

    /// Whether the device's header is sealed and the backup is not: the backup may be an attempt to
    /// remove the seal. See [`Header::backup`](crate::Header::backup) for an example.
    pub fn loses_seal(&self) -> bool {
        self.prepared.loses_seal()
    }

    /// Writes the backup, under the header's lock, in an order that survives a kill: after an
    /// interruption, running it again completes it. See [`Header::backup`](crate::Header::backup)
    /// for an example.
    ///
    /// # Errors
    /// Writing fails.
    pub fn run(self) -> Result<()> {
        self.prepared.run().at(&self.place)
    }
}

impl fmt::Debug for Restore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restore").field("place", &self.place).finish_non_exhaustive()
    }
}
