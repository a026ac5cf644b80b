//! A header's edits.

use super::{Header, Version};
use crate::error::At;
use crate::unlock::{VolumeKey, find_key};
use crate::{Error, ErrorKind, Key, NewKdf, Result};
use keyway_volume::edit::{self, AddKey};
use keyway_volume::{Access, OsRandom, Unlocked, admission, backup, convert, seal};
use std::path::Path;

/// What a new keyslot shall be. See [`Header::add_key`] for an example.
#[derive(Debug, Clone, Default)]
pub struct NewKeyslot {
    number: Option<u32>,
    kdf: Option<NewKdf>,
}

impl NewKeyslot {
    /// The first free number; two seconds of Argon2id, or of PBKDF2 in
    /// LUKS1. See [`Header::add_key`] for an example.
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

/// What becomes of the last keyslot that opens the data. See
/// [`Header::kill_keyslot`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastKeyslot {
    /// It stays: [`ErrorKind::LastKeyslot`].
    Keep,
    /// It goes, and with it the data.
    Kill,
}

impl Header {
    /// Adds a keyslot that opens with `new`; `existing` is a key that
    /// opens the volume now. Gives its number.
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
    /// `existing` does not open the volume; there is no such number or no room; the
    /// seal does not hold; [`ErrorKind::ReadOnly`].
    pub fn add_key(&mut self, existing: &Key, new: &Key, options: &NewKeyslot) -> Result<u32> {
        let new = new.read_passphrase().at(&self.place)?;
        let found = self.find_key(existing)?;
        let options = self.new_keyslot(options);
        edit::add_key(&mut self.luks, &found.secret, &new, &options, &mut OsRandom).at(&self.place)
    }

    /// Gives the keyslot that `old` opens another passphrase; the new one stands
    /// before the old one goes. Gives its number then.
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

    /// Overwrites a keyslot's key material, then removes it from the header. No key is needed for
    /// it: whoever may write the device could do it anyhow. [`Header::prove_another_key`] before
    /// it keeps people from locking themselves out.
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

    /// Whether `key` still opens the data when keyslot `number` is gone; of the last keyslot,
    /// whether it opens that one. Gives the keyslot that it opens.
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

    /// Kills every keyslot: without a header's backup the data is gone for good.
    /// See [`Header::kill_keyslot`] for an example.
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

    /// Turns the header into one of another version, in place. Make a
    /// [`backup`](Header::backup) first.
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
    /// [`ErrorKind::InUse`]: the volume is; LUKS1 cannot say the same;
    /// there is no room; [`ErrorKind::ReadOnly`].
    pub fn convert(&mut self, version: Version) -> Result<()> {
        self.check_writable()?;
        match version {
            Version::Luks1 => convert::to_luks1(&mut self.luks, &mut OsRandom),
            Version::Luks2 => convert::to_luks2(&mut self.luks, &mut OsRandom),
        }
        .at(&self.place)
    }

    /// Copies header and keyslots to a new file, which only its owner may read: it opens with every
    /// passphrase of today, for ever. The same file as cryptsetup's.
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

    /// Seals the header as it is now (LUKS2): whoever changes what decides how data
    /// is read, without the volume key, is found out by whoever unlocks. With a
    /// `context`, [`Unlock::seal_context`](crate::Unlock::seal_context) finds out
    /// another volume in the place of this one, too.
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

    /// The key that gives the right to an edit: the header is the one that
    /// was sealed, and meets the caller's policies.
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
