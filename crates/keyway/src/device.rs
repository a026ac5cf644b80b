//! A device that is open, and what can be asked of it before it is unlocked.

use crate::error::At;
use crate::unlock::Held;
use crate::users::Users;
use crate::{Admitted, Error, Header, Key, Location, Probe, Result, Unlock, Volume, probe};
use keyway_volume::backup::Restore as Prepared;
use keyway_volume::storage::File;
use keyway_volume::{Access, DataDevice, Locking, Luks, Storage, in_use};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A file, block device or export that is open: for reading ([`Device::open`]) or for writing too
/// ([`Device::open_rw`]).
///
/// Opening looks at nothing and marks nothing. [`probe`](Device::probe) takes
/// no lock; [`header`](Device::header) reads under the lock that cryptsetup
/// honours; [`unlock`](Device::unlock) claims the data.
///
/// ```
/// # use keyway::*;
/// # let directory = std::env::temp_dir().join(format!("keyway-device-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("disk.luks");
/// let key = Key::passphrase("correct horse");
/// Create::luks2().kdf(NewKdf::pbkdf2(1000)).size(1 << 20).create(&path, &key)?;
///
/// let device = Device::open(&path)?;
/// assert_eq!(device.probe()?, Probe::Luks2);
/// assert_eq!(device.header()?.keyslots().len(), 1);
/// let volume = device.unlock(&key)?;
/// assert_eq!(volume.len(), 1 << 20);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Device {
    place: Location,
    data: Arc<dyn Storage>,
    header: Arc<dyn Storage>,
    /// Where the header is, if not on the device.
    header_place: Option<Location>,
    locking: Locking,
    write: bool,
    /// Who in this process has the data: of storage that no other process can see, only this
    /// tells.
    users: Users,
}

/// How a device is opened: see [`Device::options`].
#[derive(Debug, Clone, Default)]
pub struct DeviceOptions {
    write: bool,
    header: Option<Location>,
    unlocked_header: bool,
}

impl DeviceOptions {
    /// For writing too: the data, and the header's edits. See [`Device::options`] for an example.
    #[must_use]
    pub fn write(mut self, write: bool) -> Self {
        self.write = write;
        self
    }

    /// The header stands elsewhere. See [`Device::options`] for an example.
    #[must_use]
    pub fn header(mut self, header: impl Into<Location>) -> Self {
        self.header = Some(header.into());
        self
    }

    /// Takes no lock on the header, as `--disable-locks`: for a machine without /run. Whoever says
    /// so answers for nobody else's editing it. See [`Device::options`] for an example.
    #[must_use]
    pub fn without_header_lock(mut self) -> Self {
        self.unlocked_header = true;
        self
    }

    /// Opens the device at `location`. See [`Device::options`] for an example.
    ///
    /// # Errors
    /// There is no such file, device or export; this user may not open it so.
    pub fn open(&self, location: impl Into<Location>) -> Result<Device> {
        let place = location.into();
        let data = place.open(self.write)?;
        let header = match &self.header {
            Some(header) => header.open(self.write)?,
            None => Arc::clone(&data),
        };
        let locking = if self.unlocked_header { Locking::Disabled } else { Locking::default() };
        let header_place = self.header.clone();
        let write = self.write;
        Ok(Device { place, data, header, header_place, locking, write, users: Users::default() })
    }
}

impl Device {
    /// Opens it for reading. See [`Device`] for an example.
    ///
    /// # Errors
    /// There is no such file, device or export; this user may not read it.
    pub fn open(location: impl Into<Location>) -> Result<Self> {
        Self::options().open(location)
    }

    /// Opens it for reading and writing.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// let device = Device::open_rw("/dev/sda2")?;
    /// let (old, new) = (Key::passphrase("correct horse"), Key::key_file("/etc/keys/sda2.key"));
    /// device.header()?.add_key(&old, &new, &NewKeyslot::new())?;
    /// device.unlock(&new)?.write_at(b"first bytes", 0)?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such file, device or export; this user may not write it.
    pub fn open_rw(location: impl Into<Location>) -> Result<Self> {
        Self::options().write(true).open(location)
    }

    /// Opens it otherwise.
    ///
    /// ```no_run
    /// # use keyway::Device;
    /// let device = Device::options().header("/boot/disk.header").write(true).open("/dev/sda2")?;
    /// # let in_initramfs =
    /// Device::options().without_header_lock().open("UUID=d1a5e3a4-0000-4000-8000-3c0754d1a5e3")?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    pub fn options() -> DeviceOptions {
        DeviceOptions::default()
    }

    /// Takes storage of the caller's, which can be written unless it says otherwise. See
    /// [`storage`](crate::storage) for an example.
    pub fn from_storage(storage: Arc<dyn Storage>) -> Self {
        let write = !storage.is_read_only();
        Self {
            place: Location::STORAGE,
            header: Arc::clone(&storage),
            data: storage,
            header_place: None,
            locking: Locking::default(),
            write,
            users: Users::default(),
        }
    }

    /// Its length in bytes, header and all.
    ///
    /// ```
    /// # use keyway::Device;
    /// # use std::sync::Arc;
    /// let device = Device::from_storage(Arc::new(keyway::storage::Memory::zeroed(4096)));
    /// assert_eq!(device.len(), 4096);
    /// ```
    pub fn len(&self) -> u64 {
        self.data.len()
    }

    /// Whether it has no bytes at all. See [`Device::len`].
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// What stands on it (or on the device of its header), whatever the bytes are. Nothing is
    /// locked or changed. See [`Probe`] for an example.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn probe(&self) -> Result<Probe> {
        probe::probe(&self.header).at(self.header_place())
    }

    /// Its header, to be shown or edited. See [`Header`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::NotLuks`](crate::ErrorKind::NotLuks),
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged);
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) when somebody
    /// holds its lock for longer than ten seconds.
    pub fn header(&self) -> Result<Header> {
        self.header_with(&Unlock::new())
    }

    /// Its header, edited on these terms and within these limits. See [`Header`] for an example.
    ///
    /// # Errors
    /// Those of [`Device::header`].
    pub fn header_with(&self, options: &Unlock) -> Result<Header> {
        let access = if self.write { Access::Write } else { Access::Read };
        let luks = Luks::open_with(Arc::clone(&self.header), access, self.locking);
        let place = self.header_place().clone();
        Ok(Header::new(luks.at(&place)?, place, options.clone(), self.data_device()))
    }

    /// Unlocks it: everything is checked that [`Device::admit`] names.
    ///
    /// # Errors
    /// Those of [`Device::admit`] and [`Admitted::unlock`]. See [`Device`] for an example.
    pub fn unlock(&self, key: &Key) -> Result<Volume> {
        self.unlock_with(key, &Unlock::new())
    }

    /// Unlocks it otherwise than by default. See [`Unlock`] for an example.
    ///
    /// # Errors
    /// Those of [`Device::unlock`].
    pub fn unlock_with(&self, key: &Key, options: &Unlock) -> Result<Volume> {
        self.admit(options)?.unlock(key)
    }

    /// Checks all that can be checked before anybody is asked for a
    /// key, and claims the data. In this order:
    ///
    /// 1. Nobody else uses the data: no mount, mapping or swap, no QEMU and no other Keyway;
    ///    and nobody gets it before the [`Volume`] is dropped. Whoever reads shares it with
    ///    readers; [`Unlock::shared`] goes without.
    /// 2. The header is read under its lock, once: everything is decided on this copy.
    /// 3. Its seal, where it has one, says the same as the header; the caller's policies are met as
    ///    far as the header tells ([`Unlock::policy`], [`Unlock::seal_context`]).
    /// 4. It describes a volume that somebody meant to have: no weak ciphers or short keys, no
    ///    segments that are not encrypted, no other volume's key, no IVs out of order, no data
    ///    beyond the device's end or over the header.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// # let mut typed = ["wrong", "correct horse"].into_iter().map(Key::passphrase);
    /// # let mut ask = || typed.next().unwrap();
    /// let admitted = device.admit(&Unlock::new())?;
    /// let opened = loop {
    ///     match admitted.try_key(&ask()) {
    ///         Err(error) if *error.kind() == ErrorKind::WrongPassphrase => continue,
    ///         result => break result?,
    ///     }
    /// };
    /// let volume = admitted.open(opened)?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InUse`](crate::ErrorKind::InUse),
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy), and those of [`Device::header`].
    pub fn admit(&self, options: &Unlock) -> Result<Admitted> {
        let write = self.write && !options.is_read_only();
        let access = if write { in_use::Access::Write } else { in_use::Access::ReadOnly };
        let data = self.claim(options, access)?;
        // A header on the device itself is read, and mended, under that claim.
        let is_one = Arc::ptr_eq(&self.data, &self.header);
        let header = Arc::clone(if is_one { &data } else { &self.header });
        let luks = Luks::open_with(header, Access::Read, self.locking).at(self.header_place())?;
        let judged = keyway_volume::Admitted::judge(luks, Some(self.data_device()), options.terms());
        let judged = judged.at(self.header_place())?;
        let data = Held {
            claimed: data,
            #[cfg(feature = "dm")]
            unclaimed: Arc::clone(&self.data),
        };
        Ok(Admitted::new(judged, data, self.place.clone(), options.clone(), !write))
    }

    /// Compares a header's backup with what is on the device now, and claims the device beside
    /// mappings of the volume itself. Nothing is written before [`Restore::run`]. See
    /// [`Header::backup`](crate::Header::backup) for an example.
    ///
    /// # Errors
    /// The backup is none, or of another volume whose data it would destroy:
    /// data offset or size of its keyslots differ.
    pub fn restore_header(&self, backup: impl AsRef<Path>) -> Result<Restore> {
        self.check_writable()?;
        let backup = File::open(backup.as_ref()).at(&backup.as_ref().display())?;
        let prepared = Prepared::prepare(Arc::clone(&self.header), &backup, self.locking);
        Ok(Restore { prepared: prepared.at(self.header_place())?, place: self.header_place().clone() })
    }

    #[cfg(feature = "predict")]
    pub(crate) fn header_storage(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.header)
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        match self.write {
            true => Ok(()),
            false => Err(Error::new(crate::ErrorKind::ReadOnly).at(&self.place)),
        }
    }

    pub(crate) fn data(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.data)
    }

    fn claim(&self, options: &Unlock, access: in_use::Access) -> Result<Arc<dyn Storage>> {
        let writes = access == in_use::Access::Write;
        let claimed = self.users.admit(writes, options.is_shared(), || {
            options.claim(Arc::clone(&self.data), access).map_err(Error::from)
        });
        claimed.at(&self.place)
    }

    fn header_place(&self) -> &Location {
        self.header_place.as_ref().unwrap_or(&self.place)
    }
    fn data_device(&self) -> DataDevice {
        let holds_header =
            Arc::ptr_eq(&self.data, &self.header) || in_use::is_same(&*self.data, &*self.header);
        DataDevice { len: self.data.len(), holds_header }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Device");
        shown.field("place", &self.place).field("header", &self.header_place).field("write", &self.write);
        shown.finish_non_exhaustive()
    }
}

/// A header's backup that fits its device, not yet written: from [`Device::restore_header`].
pub struct Restore {
    prepared: Prepared,
    place: Location,
}

impl Restore {
    /// What a person should confirm, one line each. See
    /// [`Header::backup`](crate::Header::backup) for an example.
    pub fn warnings(&self) -> &[String] {
        self.prepared.warnings()
    }

    /// Whether the device's header is sealed and the backup is not: somebody may want the seal
    /// gone. See [`Header::backup`](crate::Header::backup) for an example.
    pub fn loses_seal(&self) -> bool {
        self.prepared.loses_seal()
    }

    /// Writes it, under the header's lock, in an order that survives a kill: cut short, it
    /// completes when run again. See [`Header::backup`](crate::Header::backup) for an example.
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
