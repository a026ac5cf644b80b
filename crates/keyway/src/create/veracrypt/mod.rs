//! New VeraCrypt volumes, and hidden ones in volumes that are there.

mod filled;

use super::appear::Place;
use super::claim;
use crate::error::At;
use crate::{Device, Error, Key, Limits, Location, Result, Tcrypt};
use keyway_volume::device::storage::NewFile;
use keyway_volume::device::stream::Meter;
use keyway_volume::kind::tcrypt::{NewVolume, Outer};
use keyway_volume::{OsRandom, Storage};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A VeraCrypt volume to be created. The defaults are VeraCrypt's: AES-256-XTS, 500000 iterations of PBKDF2 with
/// SHA-512. [`Tcrypt`] opens it.
///
/// ```
/// # use keyway::*;
/// # let directory = std::env::temp_dir().join(format!("keyway-veracrypt-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("disk.hc");
/// let key = Key::passphrase("correct horse battery staple");
/// let new = NewVeracrypt::new().hash("sha256").cipher("serpent-twofish-aes").pim(1);
/// let device = new.size(1 << 20).create(&path, &key)?;
/// let outer = Tcrypt::new().hash("sha256").pim(1);
/// assert_eq!(device.unlock_as(&outer, &key, &Unlock::new())?.len(), (1 << 20) - 262_144);
///
/// // What is there is not overwritten unless that is said.
/// let again = NewVeracrypt::new().size(1 << 20).create(&path, &key).unwrap_err();
/// assert_eq!(again.kind(), &ErrorKind::Exists);
///
/// // Another one, hidden in its end.
/// let inner = Key::passphrase("a passphrase that nobody knows of");
/// NewVeracrypt::new().pim(1).size(512 << 10).create_hidden(&path, &inner, &outer, &key)?;
/// let hidden = Device::open(&path)?.unlock_as(&Tcrypt::new().hidden().pim(1), &inner, &Unlock::new())?;
/// assert_eq!(hidden.len(), 512 << 10);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct NewVeracrypt {
    volume: NewVolume,
    size: Option<u64>,
    overwrite: bool,
    limits: Limits,
}

impl NewVeracrypt {
    /// A volume with VeraCrypt's defaults. See [`NewVeracrypt`] for an example.
    pub fn new() -> Self {
        Self::default()
    }

    /// The hash of its key derivation, or "argon2id". See [`NewVeracrypt`] for an example.
    #[must_use]
    pub fn hash(mut self, name: &str) -> Self {
        self.volume.hash = Some(name.to_owned());
        self
    }

    /// Its ciphers, in the order in which they encrypt. See [`NewVeracrypt`] for an example.
    #[must_use]
    pub fn cipher(mut self, chain: &str) -> Self {
        self.volume.cipher = Some(chain.to_owned());
        self
    }

    /// VeraCrypt's personal iterations multiplier; one below the default needs a passphrase of 20 bytes. See
    /// [`NewVeracrypt`] for an example.
    #[must_use]
    pub fn pim(mut self, pim: u32) -> Self {
        self.volume.pim = Some(pim);
        self
    }

    /// A key file, or a folder of them, mixed into the passphrase, which may be empty then; may be called more than
    /// once. See [`Tcrypt::key_file`].
    #[must_use]
    pub fn key_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.volume.key_files.push(path.into());
        self
    }

    /// Leaves the data area as it is, instead of filling it with random bytes: what is written later shows then, and
    /// so does a hidden volume.
    ///
    /// ```
    /// # use keyway::*;
    /// # let path = std::env::temp_dir().join(format!("keyway-quick-{}", std::process::id()));
    /// let key = Key::passphrase("correct horse battery staple");
    /// NewVeracrypt::new().pim(1).quick().size(1 << 20).create(&path, &key)?;
    /// assert_eq!(std::fs::read(&path)?[200_000..300_000], [0; 100_000]);
    /// NewVeracrypt::new().pim(1).overwrite().create(&path, &key)?;
    /// assert_ne!(std::fs::read(&path)?[200_000..200_100], [0; 100]);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.volume.quick = true;
        self
    }

    /// The length of a new file in bytes, 262144 of which are not data; or that of a hidden volume's data. See
    /// [`NewVeracrypt`] for an example.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// Creates the volume on an existing device or file, whose content is lost. See [`NewVeracrypt::quick`] for an
    /// example.
    #[must_use]
    pub fn overwrite(mut self) -> Self {
        self.overwrite = true;
        self
    }

    /// Reports progress of and can cancel the filling; limits what the volume's key may cost, and the outer volume's. See
    /// [`Limits`].
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Creates the volume. A new file appears only when it is complete, and only its owner may read it. An existing
    /// target is claimed, and its header goes first. See [`NewVeracrypt`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`](crate::ErrorKind::Exists) unless [`NewVeracrypt::overwrite`] was called; [`ErrorKind::InUse`](crate::ErrorKind::InUse);
    /// [`ErrorKind::EmptyPassphrase`](crate::ErrorKind::EmptyPassphrase); [`ErrorKind::Refused`](crate::ErrorKind::Refused): VeraCrypt makes no such volume.
    pub fn create(&self, location: impl Into<Location>, key: &Key) -> Result<Device> {
        self.appear(location.into(), None, |storage| {
            let meter = self.limits.begin(Some(self.volume.fills(&**storage)?));
            self.make(&**storage, key, &meter)
        })
    }

    /// Creates a volume of [`NewVeracrypt::size`] hidden in the end of the one that `outer` describes and `outer_key`
    /// opens. What the outer one has there is lost, and so is another volume that is hidden there. See
    /// [`NewVeracrypt`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::WrongPassphrase`](crate::ErrorKind::WrongPassphrase): there is no such outer volume; [`ErrorKind::Exists`](crate::ErrorKind::Exists): a hidden one opens with the
    /// same key; [`ErrorKind::InUse`](crate::ErrorKind::InUse); [`ErrorKind::EmptyPassphrase`](crate::ErrorKind::EmptyPassphrase); [`ErrorKind::Refused`](crate::ErrorKind::Refused).
    pub fn create_hidden(
        &self,
        location: impl Into<Location>,
        key: &Key,
        outer: &Tcrypt,
        outer_key: &Key,
    ) -> Result<()> {
        let location = location.into();
        let claimed = claim(&location).at(&location)?;
        self.outer(&**claimed, outer, outer_key)
            .and_then(|outer| outer.hide(&**claimed, self, key))
            .at(&location)
    }

    /// A new file, of the size that was said or as long as `content` bytes need; or what is there, claimed. `make` makes
    /// the volume on it.
    fn appear(
        &self,
        location: Location,
        content: Option<u64>,
        make: impl FnOnce(&Arc<dyn Storage>) -> Result<()>,
    ) -> Result<Device> {
        let len = || match content {
            Some(content) => Ok(NewVolume::len_for(content)?),
            None => Err(Error::refused(
                "a new file needs a size, or content whose length is known: NewVeracrypt::size",
            )),
        };
        let check = |new: &NewFile| Ok(self.volume.check_new_file(new)?);
        let place = Place { overwrite: self.overwrite, size: self.size, len: &len, check: &check };
        place.fill(location, make)
    }

    fn make(&self, storage: &dyn Storage, key: &Key, meter: &Meter) -> Result<()> {
        let passphrase = key.read_new_passphrase(!self.volume.key_files.is_empty())?;
        self.check_cost()?;
        Ok(self.volume.make(storage, &passphrase, &mut OsRandom, meter)?)
    }

    /// Refuses what nobody could open within the limits, before anything is written.
    fn check_cost(&self) -> Result<()> {
        Ok(self.volume.sealing()?.check_cost(&self.limits.options())?)
    }

    fn outer(&self, storage: &dyn Storage, outer: &Tcrypt, key: &Key) -> Result<OuterVolume> {
        let passphrase = key.read_passphrase()?;
        Ok(OuterVolume(Outer::open(storage, outer.described_as(), &passphrase, &self.limits.options())?))
    }
}

impl fmt::Debug for NewVeracrypt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewVeracrypt").field("size", &self.size).finish_non_exhaustive()
    }
}

/// A volume that was opened to hide another one in: from [`NewVeracrypt::open_outer`] (feature `parts`); see there for
/// an example.
#[cfg_attr(not(feature = "parts"), expect(unreachable_pub, reason = "public with the feature `parts`"))]
pub struct OuterVolume(Outer);

#[cfg_attr(not(feature = "parts"), expect(unreachable_pub, reason = "public with the feature `parts`"))]
impl OuterVolume {
    /// Hides a volume in it, on the same storage. See [`NewVeracrypt::open_outer`] for an example.
    ///
    /// # Errors
    /// Those of [`NewVeracrypt::create_hidden`].
    pub fn hide(&self, storage: &dyn Storage, new: &NewVeracrypt, key: &Key) -> Result<()> {
        let size = new.size.ok_or_else(|| Error::refused("a hidden volume needs a size"))?;
        let passphrase = key.read_new_passphrase(!new.volume.key_files.is_empty())?;
        new.check_cost()?;
        let costs = (&mut OsRandom as &mut dyn keyway_volume::Random, &new.limits.options());
        Ok(self.0.hide(storage, size, &new.volume, &passphrase, costs)?)
    }

    /// Refuses a size that the volume has no room for. See [`NewVeracrypt::open_outer`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused).
    #[cfg(feature = "parts")]
    pub fn check_room(&self, storage: &dyn Storage, size: u64) -> Result<()> {
        Ok(self.0.room(storage, size).map(drop)?)
    }
}

impl fmt::Debug for OuterVolume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OuterVolume").finish_non_exhaustive()
    }
}

#[cfg(feature = "parts")]
impl NewVeracrypt {
    /// Refuses names and numbers that VeraCrypt makes no volumes with, before anything is asked or read. See
    /// [`NewVeracrypt::create_on`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused).
    pub fn check(&self) -> Result<()> {
        Ok(self.volume.sealing().map(drop)?)
    }

    /// How many bytes [`NewVeracrypt::create_on`] fills there. See there for an example.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused): it has no room for a volume.
    pub fn fills(&self, storage: &dyn Storage) -> Result<u64> {
        Ok(self.volume.fills(storage)?)
    }

    /// Creates the volume over what is on `storage`, without asking whether anything is there. The caller has claimed
    /// it. `meter` counts what is filled, and can stop that.
    ///
    /// ```
    /// # use keyway::{Key, NewVeracrypt, storage::Memory};
    /// # use keyway_volume::device::stream::Meter;
    /// let (disk, meter, new) = (Memory::zeroed(1 << 20), Meter::new(), NewVeracrypt::new().pim(1));
    /// new.check()?;
    /// new.create_on(&disk, &Key::passphrase("correct horse battery staple"), &meter)?;
    /// assert_eq!(meter.done(), new.fills(&disk)?);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`NewVeracrypt::create`], but for what exists.
    pub fn create_on(&self, storage: &dyn Storage, key: &Key, meter: &Meter) -> Result<()> {
        self.make(storage, key, meter)
    }

    /// Opens the volume that another one is to be hidden in. The caller has claimed its storage.
    ///
    /// ```
    /// # use keyway::{Key, NewVeracrypt, Tcrypt, storage::Memory};
    /// # use keyway_volume::device::stream::Meter;
    /// # let disk = Memory::zeroed(1 << 20);
    /// # let key = Key::passphrase("correct horse battery staple");
    /// # NewVeracrypt::new().pim(1).create_on(&disk, &key, &Meter::new())?;
    /// let new = NewVeracrypt::new().pim(1).size(64 << 10);
    /// let outer = new.open_outer(&disk, &Tcrypt::new().pim(1), &key)?;
    /// outer.check_room(&disk, 64 << 10)?;
    /// outer.hide(&disk, &new, &Key::passphrase("a passphrase that nobody knows of"))?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`NewVeracrypt::create_hidden`].
    pub fn open_outer(&self, storage: &dyn Storage, outer: &Tcrypt, key: &Key) -> Result<OuterVolume> {
        self.outer(storage, outer, key)
    }
}
