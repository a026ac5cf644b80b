//! Edits of a header.

use super::{Header, Version};
use crate::admitted::{VolumeKey, find_key};
use crate::error::At;
use crate::{Error, ErrorKind, Key, NewKdf, Result};
use keyway_volume::edit::{self, AddKey};
use keyway_volume::{Access, OsRandom, Unlocked, admission, backup, convert, seal};
use std::path::Path;

/// The properties of a new keyslot. See [`Header::add_key`] for an example.
#[derive(Debug, Clone, Default)]
pub struct NewKeyslot {
    number: Option<u32>,
    kdf: Option<NewKdf>,
}

impl NewKeyslot {
    /// The defaults: the first free number, and two seconds of Argon2id, or of PBKDF2 in LUKS1. See
    /// [`Header::add_key`] for an example.
    pub fn new() -> Self {
        Self::default()
    }

    /// Its number. See [`Header::add_key`] for an example.
    #[must_use]
    pub fn number(mut self, number: u32) -> Self {
        self.number = Some(number);
        self
    }

    /// Its key derivation function. See [`Header::add_key`] for an example.
    #[must_use]
    pub fn kdf(mut self, kdf: NewKdf) -> Self {
        self.kdf = Some(kdf);
        self
    }
}

/// What to do with the last keyslot that opens the data. See [`Header::kill_keyslot`] for an
/// example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastKeyslot {
    /// Keep it, and fail with [`ErrorKind::LastKeyslot`].
    Keep,
    /// Kill it: the data is lost.
    Kill,
}

impl Header {
    /// Adds a keyslot that `new` opens, and returns its number. `existing` is a key that opens the
    /// volume now.
    ///
    /// ```
    /// # use keyway::*;
    /// # let old = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &old)?;
    /// let new = Key::passphrase("battery staple");
    /// let mut header = device.header()?;
    /// let options = NewKeyslot::new().number(7).kdf(NewKdf::argon2id_forced(4, 1024, 1));
    /// assert_eq!(header.add_key(&old, &new, &options)?, 7);
    /// assert_eq!(device.unlock(&new)?.keyslot(), Some(7));
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// `existing` does not open the volume; there is no such keyslot number or no room; the seal
    /// does not match the header; [`ErrorKind::ReadOnly`].
    pub fn add_key(&mut self, existing: &Key, new: &Key, options: &NewKeyslot) -> Result<u32> {
        let new = new.read_passphrase().at(&self.place)?;
        let found = self.find_key(existing)?;
        let options = self.new_keyslot(options);
        edit::add_key(&mut self.luks, &found.secret, &new, &options, &mut OsRandom).at(&self.place)
    }

    /// Replaces the passphrase of the keyslot that `old` opens, and returns its number afterwards.
    /// The new key is written before the old one is removed.
    ///
    /// ```
    /// # use keyway::*;
    /// # let old = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &old)?;
    /// let new = Key::passphrase("battery staple");
    /// device.header()?.change_key(&old, &new, &NewKeyslot::new().kdf(NewKdf::pbkdf2(2000)))?;
    /// assert_eq!(device.unlock(&old).unwrap_err().kind(), &ErrorKind::WrongPassphrase);
    /// device.unlock(&new)?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Header::add_key`]; there is no room for the new key beside the old one.
    pub fn change_key(&mut self, old: &Key, new: &Key, options: &NewKeyslot) -> Result<u32> {
        let new = new.read_passphrase().at(&self.place)?;
        let VolumeKey { secret, digest, keyslot, .. } = self.find_key(old)?;
        let keyslot = keyslot.ok_or_else(|| {
            Error::refused("name the passphrase that is to change: a volume key belongs to no keyslot")
                .at(&self.place)
        })?;
        let unlocked = Unlocked { keyslot, digest, volume_key: secret };
        let options = self.new_keyslot(options);
        edit::change_key(&mut self.luks, &unlocked, &new, &options, &mut OsRandom).at(&self.place)
    }

    /// Overwrites a keyslot's key material, then removes the keyslot from the header. No key is
    /// needed: a user with write access to the device could destroy the keyslot anyway. Call
    /// [`Header::prove_another_key`] first, so that users do not lock themselves out.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let mut header = device.header()?;
    /// let error = header.kill_keyslot(0, LastKeyslot::Keep).unwrap_err();
    /// assert_eq!(error.kind(), &ErrorKind::LastKeyslot { keyslot: 0 });
    /// device.unlock(&key)?;
    /// header.kill_keyslot(0, LastKeyslot::Kill)?;
    /// assert_eq!(device.unlock(&key).unwrap_err().kind(), &ErrorKind::NoUsableKeyslot);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::LastKeyslot`]; there is no such keyslot; [`ErrorKind::ReadOnly`].
    pub fn kill_keyslot(&mut self, number: u32, last: LastKeyslot) -> Result<()> {
        self.check_writable()?;
        match last {
            LastKeyslot::Keep => edit::kill_slot_but_last(&mut self.luks, number, &mut OsRandom),
            LastKeyslot::Kill => edit::kill_slot(&mut self.luks, number, &mut OsRandom),
        }
        .at(&self.place)
    }

    /// Checks that `key` still opens the data without keyslot `number`; if that is the last
    /// keyslot, checks that `key` opens it. Returns the number of the keyslot that `key` opens.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let mut header = device.header()?;
    /// let other = Key::passphrase("battery staple");
    /// header.add_key(&key, &other, &NewKeyslot::new().kdf(NewKdf::pbkdf2(1000)))?;
    /// assert!(header.prove_another_key(0, &key).is_err());
    /// assert_eq!(header.prove_another_key(0, &other)?, 1);
    /// header.kill_keyslot(0, LastKeyslot::Keep)?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::WrongPassphrase`].
    pub fn prove_another_key(&self, number: u32, key: &Key) -> Result<u32> {
        let passphrase = key.read_passphrase().at(&self.place)?;
        edit::prove_another_key(&self.luks, number, &passphrase, &self.options.options()).at(&self.place)
    }

    /// Kills every keyslot: without a header backup the data is lost for good. See
    /// [`Header::kill_keyslot`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::ReadOnly`]; writing fails.
    pub fn erase(&mut self) -> Result<()> {
        self.check_writable()?;
        edit::erase(&mut self.luks, &mut OsRandom).at(&self.place)
    }

    /// Sets the label, at most 47 bytes (LUKS2).
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// device.header()?.set_label("backup")?;
    /// assert_eq!(device.header()?.label(), "backup");
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// It is too long, or the header is LUKS1; [`ErrorKind::ReadOnly`].
    pub fn set_label(&mut self, label: &str) -> Result<()> {
        self.check_writable()?;
        edit::set_label(&mut self.luks, Some(label), None, &mut OsRandom).at(&self.place)
    }

    /// Converts the header to another version, in place. Make a [`backup`](Header::backup) first.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks1().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// device.header()?.convert(Version::Luks2)?;
    /// assert_eq!(device.probe()?, Probe::Luks2);
    /// device.unlock(&key)?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InUse`]: the volume is in use; LUKS1 cannot express the header; there is no
    /// room; [`ErrorKind::ReadOnly`].
    pub fn convert(&mut self, version: Version) -> Result<()> {
        self.check_writable()?;
        match version {
            Version::Luks1 => convert::to_luks1(&mut self.luks, &mut OsRandom),
            Version::Luks2 => convert::to_luks2(&mut self.luks, &mut OsRandom),
        }
        .at(&self.place)
    }

    /// Copies header and keyslots to a new file, which only its owner may read. All current
    /// passphrases open the backup, even after they are changed or killed in the header. The file
    /// is the same as cryptsetup's.
    ///
    /// ```
    /// # use keyway::*;
    /// # let directory = std::env::temp_dir().join(format!("keyway-backup-{}", std::process::id()));
    /// # std::fs::create_dir_all(&directory)?;
    /// # let file = directory.join("disk.header");
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// device.header()?.backup(&file)?;
    /// device.header()?.erase()?;
    ///
    /// let restore = device.restore_header(&file)?;
    /// assert!(!restore.loses_seal());
    /// for warning in restore.warnings() {
    ///     eprintln!("{warning}");
    /// }
    /// restore.run()?;
    /// device.unlock(&key)?;
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] where the file exists; it cannot be written.
    pub fn backup(&self, file: impl AsRef<Path>) -> Result<()> {
        backup::backup(&self.luks, file.as_ref()).at(&self.place)
    }

    /// Seals the current header (LUKS2). If anybody without the volume key then changes a field
    /// that decides how data is read, unlocking detects it. With a `context`,
    /// [`Unlock::seal_context`](crate::Unlock::seal_context) also detects another volume in place
    /// of this one.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// device.header()?.seal(&key, Some("host 17"))?;
    /// assert!(device.header()?.is_sealed());
    /// device.unlock_with(&key, &Unlock::new().seal_context("host 17"))?;
    /// let error = device.unlock_with(&key, &Unlock::new().seal_context("host 18")).unwrap_err();
    /// assert_eq!(error.kind(), &ErrorKind::Policy { rule: "seal" });
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// `key` does not open the volume; the header is LUKS1; [`ErrorKind::ReadOnly`].
    pub fn seal(&mut self, key: &Key, context: Option<&str>) -> Result<()> {
        self.check_writable()?;
        let found = find_key(&self.luks, key, &self.options.options()).at(&self.place)?;
        seal::seal(&mut self.luks, &found.secret, self.data.len, context, &mut OsRandom).at(&self.place)
    }

    /// The volume key, which authorizes an edit, after checking that the header matches its seal
    /// and meets the caller's policies.
    fn find_key(&self, key: &Key) -> Result<VolumeKey> {
        self.check_writable()?;
        admission::check_header(&self.luks, self.options.terms()).at(&self.place)?;
        let found = find_key(&self.luks, key, &self.options.options()).at(&self.place)?;
        let terms = self.options.terms();
        admission::check_key(&self.luks, None, terms, &found.secret, found.digest).at(&self.place)?;
        Ok(found)
    }

    fn new_keyslot(&self, options: &NewKeyslot) -> AddKey {
        let kdf = options.kdf.clone().unwrap_or_else(|| NewKdf::default_of(self.luks.version()));
        AddKey {
            keyslot: options.number,
            kdf: kdf.choice(),
            weak_cipher_too: self.options.terms().weak_ciphers,
            ..AddKey::default()
        }
    }

    fn check_writable(&self) -> Result<()> {
        match self.luks.access() {
            Access::Write => Ok(()),
            Access::Read | Access::Probe => Err(Error::new(ErrorKind::ReadOnly).at(&self.place)),
        }
    }
}
