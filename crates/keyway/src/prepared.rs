//! What is written to a header only after it was shown to the caller: a repair, or a backup that is
//! restored.

use crate::error::At;
use crate::repair::{Found, KeyslotArea};
use crate::{Device, Key, Location, Result, Unlock};
use keyway_volume::change::{backup, repair};
use keyway_volume::device::storage::File;
use std::fmt;
use std::path::Path;

impl Device {
    /// Compares a header backup with the device's current header, and claims the device; mappings
    /// of the volume itself are allowed. Nothing is written before [`Restore::run`]. See
    /// [`Header::backup`](crate::Header::backup) for an example.
    ///
    /// # Errors
    /// The file is not a header backup, or is the backup of another volume and would destroy the
    /// data here: its data offset or the size of its keyslots differs. A re-encryption is under way
    /// and has changed data, which only the header on the device still opens; or the backup was made
    /// in the middle of one.
    pub fn restore_header(&self, backup: impl AsRef<Path>) -> Result<Restore> {
        self.restore(backup.as_ref(), backup::Midway::Refuse)
    }

    /// As [`Device::restore_header`], and as cryptsetup: what it refuses because of a re-encryption is
    /// among the [`warnings`](Restore::warnings) here.
    ///
    /// # Errors
    /// The others of [`Device::restore_header`].
    pub fn restore_header_midway(&self, backup: impl AsRef<Path>) -> Result<Restore> {
        self.restore(backup.as_ref(), backup::Midway::Warn)
    }

    fn restore(&self, backup: &Path, midway: backup::Midway) -> Result<Restore> {
        self.check_writable()?;
        let source = File::open(backup).at(&backup.display())?;
        let header = self.header_storage();
        let prepared = backup::Restore::prepare(header, &source, self.locking(), midway);
        Ok(Restore::new(prepared.at(self.header_place())?, self.header_place()))
    }

    /// Finds what is damaged in its header and can be repaired with certainty. Nothing is written
    /// before [`Repair::run`].
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let repair = device.repair()?;
    /// for found in repair.found() {
    ///     eprintln!("{found}");
    /// }
    /// for line in [repair.lost(), repair.changes(), repair.warnings()].concat() {
    ///     eprintln!("{line}");
    /// }
    /// if repair.needs_passphrase() {
    ///     repair.confirm(&key, &Unlock::new())?;
    /// }
    /// repair.run()?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// No header is left of which anything can be proven; [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly).
    pub fn repair(&self) -> Result<Repair> {
        self.check_writable()?;
        let prepared = repair::Repair::prepare(self.header_storage(), self.locking());
        Ok(Repair::new(prepared.at(self.header_place())?, self.header_place()))
    }

    /// As [`Device::repair`], for a device that is open for reading: nothing is claimed, and the repair
    /// cannot be run.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let damage = device.diagnose()?;
    /// assert_eq!(damage.changes(), [""; 0]);
    /// for keyslot in damage.keyslots().iter().filter(|keyslot| !keyslot.is_sound()) {
    ///     eprintln!("{} {} {:?}", keyslot.number, keyslot.bar(64), keyslot.suspicious);
    /// }
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first of [`Device::repair`].
    pub fn diagnose(&self) -> Result<Repair> {
        let found = repair::Repair::look(self.header_storage(), self.locking());
        Ok(Repair::new(found.at(self.header_place())?, self.header_place()))
    }
}

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
