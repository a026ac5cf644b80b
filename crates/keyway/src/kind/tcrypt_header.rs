//! Headers of TrueCrypt and VeraCrypt volumes: another key, backups, and their way back.

use super::Tcrypt;
use crate::create::claim;
use crate::error::At;
use crate::{Key, Limits, Location, Result};
use keyway_volume::kind::tcrypt::{NewKey, Opened, Restore};
use keyway_volume::{OsRandom, Storage};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is to open a TrueCrypt or VeraCrypt volume besides its passphrase, in place of what does. What is not named
/// stays as it is. See [`TcryptHeader`] for an example.
#[derive(Clone, Default)]
pub struct NewTcryptKey(NewKey);

impl NewTcryptKey {
    /// PIM, hash and key files stay. See [`TcryptHeader`] for an example.
    pub fn new() -> Self {
        Self::default()
    }

    /// The hash of its key derivation, or "argon2id": one of its program's. See [`TcryptHeader`] for an example.
    #[must_use]
    pub fn hash(mut self, name: &str) -> Self {
        self.0.hash = Some(name.to_owned());
        self
    }

    /// VeraCrypt's personal iterations multiplier; 0 is the default one. See [`TcryptHeader`] for an example.
    #[must_use]
    pub fn pim(mut self, pim: u32) -> Self {
        self.0.pim = Some((pim != 0).then_some(pim));
        self
    }

    /// A key file, or a folder of them, instead of those that it has; may be called more than once.
    ///
    /// ```
    /// # use keyway::NewTcryptKey;
    /// let new = NewTcryptKey::new().key_file("/media/one.jpg").key_file("/media/two.jpg");
    /// let none = NewTcryptKey::new().no_key_files();
    /// ```
    #[must_use]
    pub fn key_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.key_files.get_or_insert_default().push(path.into());
        self
    }

    /// The passphrase alone, without the key files that it has. See [`NewTcryptKey::key_file`] for an example.
    #[must_use]
    pub fn no_key_files(mut self) -> Self {
        self.0.key_files = Some(Vec::new());
        self
    }

    /// Refuses a PIM that VeraCrypt does not take, before anything is asked or read.
    ///
    /// ```
    /// # use keyway::NewTcryptKey;
    /// assert!(NewTcryptKey::new().pim(2_147_469).check().is_err());
    /// # NewTcryptKey::new().pim(485).check()?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused).
    pub fn check(&self) -> Result<()> {
        Ok(self.0.check()?)
    }
}

/// Without the PIM, which is a secret to some.
impl fmt::Debug for NewTcryptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewTcryptKey").field("hash", &self.0.hash).finish_non_exhaustive()
    }
}

/// The header of a TrueCrypt or VeraCrypt volume that was opened, and its copy at the end: to change what opens it, or
/// to back it up. TrueCrypt 5 and earlier made no copy, and an encrypted system's header belongs to its boot loader:
/// these are refused.
///
/// ```
/// # use keyway::*;
/// # let directory = std::env::temp_dir().join(format!("keyway-tcrypt-header-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let (path, file) = (directory.join("disk.hc"), directory.join("disk.header"));
/// let (old, new) = (Key::passphrase("correct horse battery staple"), Key::passphrase("a better one, of 20 bytes"));
/// # NewVeracrypt::new().pim(1).size(1 << 20).create(&path, &old)?;
/// let of = Tcrypt::new().hash("sha512").pim(1);
/// TcryptHeader::open(&path, &of, &old, &Limits::new())?.back_up(None, &file)?;
///
/// // VeraCrypt's passphrases of 20 bytes and more may have a small PIM.
/// let key = NewTcryptKey::new().hash("sha256").pim(2);
/// TcryptHeader::open_rw(&path, &of, &old, &Limits::new())?.change_key(&key, &new)?;
/// Device::open(&path)?.unlock_as(&Tcrypt::new().hash("sha256").pim(2), &new, &Unlock::new())?;
///
/// // The backup opens with the old one, and so does the volume when it is restored.
/// let restore = TcryptRestore::prepare(&path, Some(file.as_path()), &of, &old, &Limits::new())?;
/// assert_eq!((restore.has_other_key(), restore.leaves_room()), (false, None));
/// restore.run()?;
/// Device::open(&path)?.unlock_as(&of, &old, &Unlock::new())?;
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TcryptHeader {
    storage: Arc<dyn Storage>,
    opened: Opened,
    limits: Limits,
}

impl TcryptHeader {
    /// Opens the header that `of` describes, for a backup. See [`TcryptHeader`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::WrongPassphrase`](crate::ErrorKind::WrongPassphrase); [`ErrorKind::Refused`](crate::ErrorKind::Refused).
    pub fn open(location: impl Into<Location>, of: &Tcrypt, key: &Key, limits: &Limits) -> Result<Self> {
        let location = location.into();
        location.open(false).and_then(|storage| Self::new(storage, of, key, limits)).at(&location)
    }

    /// Opens the header that `of` describes, to change its key; the volume is claimed until that is done. See
    /// [`TcryptHeader`] for an example.
    ///
    /// # Errors
    /// Those of [`TcryptHeader::open`]; [`ErrorKind::InUse`](crate::ErrorKind::InUse).
    pub fn open_rw(location: impl Into<Location>, of: &Tcrypt, key: &Key, limits: &Limits) -> Result<Self> {
        let location = location.into();
        claim(&location).and_then(|claimed| Self::new(Arc::clone(&claimed), of, key, limits)).at(&location)
    }

    /// Opens the header on `storage`, which the caller has claimed for a change.
    ///
    /// ```
    /// # use keyway::{Key, Limits, NewTcryptKey, NewVeracrypt, Tcrypt, TcryptHeader, storage::Memory};
    /// # use keyway_volume::device::stream::Meter;
    /// # use std::sync::Arc;
    /// let (disk, key) = (Arc::new(Memory::zeroed(1 << 20)), Key::passphrase("correct horse battery staple"));
    /// NewVeracrypt::new().pim(1).create_on(&*disk, &key, &Meter::new())?;
    /// let header = TcryptHeader::on(disk, &Tcrypt::new().pim(1).hash("sha512"), &key, &Limits::new())?;
    /// header.change_key(&NewTcryptKey::new(), &Key::passphrase("a better one, of 20 bytes"))?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`TcryptHeader::open`].
    #[cfg(feature = "parts")]
    pub fn on(storage: Arc<dyn Storage>, of: &Tcrypt, key: &Key, limits: &Limits) -> Result<Self> {
        Self::new(storage, of, key, limits)
    }

    fn new(storage: Arc<dyn Storage>, of: &Tcrypt, key: &Key, limits: &Limits) -> Result<Self> {
        let passphrase = key.read_passphrase()?;
        let opened = Opened::open(&*storage, of.described_as(), &passphrase, &limits.options())?;
        Ok(Self { storage, opened, limits: limits.clone() })
    }

    /// Writes both copies for another passphrase, with the same volume key: the second one first, each on stable
    /// storage before the next, so that a cut leaves one that opens. See [`TcryptHeader`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused): its program takes no such key;
    /// [`ErrorKind::Exists`](crate::ErrorKind::Exists): it opens the other volume there;
    /// [`ErrorKind::EmptyPassphrase`](crate::ErrorKind::EmptyPassphrase); what the new key costs is over the limits.
    pub fn change_key(self, new: &NewTcryptKey, key: &Key) -> Result<()> {
        let files =
            new.0.key_files.as_deref().map_or_else(|| self.opened.has_key_files(), |it| !it.is_empty());
        let passphrase = key.read_new_passphrase(files)?;
        let costs = (&mut OsRandom as &mut dyn keyway_volume::Random, &self.limits.options());
        Ok(self.opened.change_key(&*self.storage, &new.0, &passphrase, costs)?)
    }

    /// Copies it to a new file, which only its owner may read, in VeraCrypt's format; with the header of the volume
    /// that is hidden in this one, if it was opened. The passphrases of today open the backup, even after they are
    /// changed. See [`TcryptHeader`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`](crate::ErrorKind::Exists); the file cannot be written.
    pub fn back_up(&self, hidden: Option<&Self>, file: impl AsRef<Path>) -> Result<()> {
        Ok(self.opened.back_up(hidden.map(|it| &it.opened), file.as_ref(), &mut OsRandom)?)
    }
}

impl fmt::Debug for TcryptHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcryptHeader").finish_non_exhaustive()
    }
}

/// A header of a TrueCrypt or VeraCrypt volume in a backup that was opened, and the volume that it goes back to. See
/// [`TcryptHeader`] for an example.
pub struct TcryptRestore {
    storage: Arc<dyn Storage>,
    restore: Restore,
}

impl TcryptRestore {
    /// Opens the header that `of` describes in a backup file, or without one in the copy at the end of the volume, and
    /// compares it with what is there. The volume is claimed until [`TcryptRestore::run`] is done. See
    /// [`TcryptHeader`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::WrongPassphrase`](crate::ErrorKind::WrongPassphrase); [`ErrorKind::InUse`](crate::ErrorKind::InUse);
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused): the file is no backup, or the volume does not fit there.
    pub fn prepare(
        location: impl Into<Location>,
        backup: Option<&Path>,
        of: &Tcrypt,
        key: &Key,
        limits: &Limits,
    ) -> Result<Self> {
        let location = location.into();
        claim(&location)
            .and_then(|claimed| Self::new(Arc::clone(&claimed), backup, of, key, limits))
            .at(&location)
    }

    /// The same on `storage`, which the caller has claimed.
    ///
    /// ```
    /// # use keyway::{Key, Limits, NewVeracrypt, Tcrypt, TcryptRestore, storage::{Memory, Storage}};
    /// # use keyway_volume::device::stream::Meter;
    /// # use std::sync::Arc;
    /// let (disk, key) = (Arc::new(Memory::zeroed(1 << 20)), Key::passphrase("correct horse battery staple"));
    /// NewVeracrypt::new().pim(1).create_on(&*disk, &key, &Meter::new())?;
    /// disk.write_at(&[0; 512], 0)?;
    /// let restore = TcryptRestore::on(disk, None, &Tcrypt::new().pim(1).hash("sha512"), &key, &Limits::new())?;
    /// restore.run()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`TcryptRestore::prepare`].
    #[cfg(feature = "parts")]
    pub fn on(
        storage: Arc<dyn Storage>,
        backup: Option<&Path>,
        of: &Tcrypt,
        key: &Key,
        limits: &Limits,
    ) -> Result<Self> {
        Self::new(storage, backup, of, key, limits)
    }

    fn new(
        storage: Arc<dyn Storage>,
        backup: Option<&Path>,
        of: &Tcrypt,
        key: &Key,
        limits: &Limits,
    ) -> Result<Self> {
        let backup = backup.map(|file| Location::from(file).open(false)).transpose()?;
        let passphrase = key.read_passphrase()?;
        let options = limits.options();
        let restore =
            Restore::prepare(&*storage, backup.as_deref(), of.described_as(), &passphrase, &options)?;
        Ok(Self { storage, restore })
    }

    /// Whether a header or its copy on the volume opens with the same key, and has another volume key: with the backup,
    /// nothing that was written with it can be read. See [`TcryptHeader`] for an example.
    pub fn has_other_key(&self) -> bool {
        self.restore.other_key
    }

    /// Whether a header or its copy on the volume opens with the same key. Where none does, the device may be another one,
    /// or both are damaged.
    ///
    /// ```no_run
    /// # use keyway::{Key, Limits, Tcrypt, TcryptRestore};
    /// # use std::path::Path;
    /// let (key, file) = (Key::passphrase("correct horse"), Path::new("disk.header"));
    /// let restore = TcryptRestore::prepare("disk.hc", Some(file), &Tcrypt::new(), &key, &Limits::new())?;
    /// if !restore.opens_there() {
    ///     eprintln!("Is it this disk?");
    /// }
    /// # Ok::<(), keyway::Error>(())
    /// ```
    pub fn opens_there(&self) -> bool {
        self.restore.opens_there
    }

    /// How many bytes of data the header describes, and how many there is room for, if these are more. See
    /// [`TcryptHeader`] for an example.
    pub fn leaves_room(&self) -> Option<(u64, u64)> {
        self.restore.leaves_room
    }

    /// Puts it back: the first header, and from a file its copy at the end, too. See [`TcryptHeader`] for an example.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn run(self) -> Result<()> {
        Ok(self.restore.run(&*self.storage, &mut OsRandom)?)
    }
}

impl fmt::Debug for TcryptRestore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcryptRestore").finish_non_exhaustive()
    }
}
