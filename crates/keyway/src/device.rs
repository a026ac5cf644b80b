//! An open device, and what can be learned from it before it is unlocked.

use crate::admitted::{Held, Judged};
use crate::error::At;
use crate::users::Users;
use crate::{Admitted, Error, Header, Key, Location, Probe, Result, Unlock, Volume, probe};
use keyway_volume::device::in_use;
use keyway_volume::{Access, DataDevice, InUse, Locking, Luks, Storage};
use std::fmt;
use std::sync::Arc;

/// A file, block device or export that is open: for reading ([`Device::open`]) or for reading and
/// writing ([`Device::open_rw`]).
///
/// Opening reads nothing and marks nothing as in use. [`probe`](Device::probe) takes no lock;
/// [`header`](Device::header) reads under the lock that cryptsetup honours;
/// [`unlock`](Device::unlock) claims the data.
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
    /// The location of the header, if it is not on the device.
    header_place: Option<Location>,
    locking: Locking,
    write: bool,
    /// The users of the data in this process: for storage that no other process can see, this is
    /// the only record.
    users: Users,
}

/// How to open a device: see [`Device::options`].
#[derive(Debug, Clone, Default)]
pub struct DeviceOptions {
    write: bool,
    header: Option<Location>,
    unlocked_header: bool,
}

impl DeviceOptions {
    /// Also for writing: the data, and edits of the header. See [`Device::options`] for an example.
    #[must_use]
    pub fn write(mut self, write: bool) -> Self {
        self.write = write;
        self
    }

    /// The location of a detached header. See [`Device::options`] for an example.
    #[must_use]
    pub fn header(mut self, header: impl Into<Location>) -> Self {
        self.header = Some(header.into());
        self
    }

    /// Takes no lock on the header, like `--disable-locks`: for a machine without /run. The caller
    /// must make sure that nobody else edits the header. See [`Device::options`] for an example.
    #[must_use]
    pub fn without_header_lock(mut self) -> Self {
        self.unlocked_header = true;
        self
    }

    /// Opens the device at `location`. See [`Device::options`] for an example.
    ///
    /// # Errors
    /// There is no such file, device or export; this user may not open it in this mode.
    pub fn open(&self, location: impl Into<Location>) -> Result<Device> {
        let place = location.into();
        let data = place.open(self.write)?;
        let header = match &self.header {
            Some(header) => header.open(self.write)?,
            None => Arc::clone(&data),
        };
        Ok(self.device(place, data, header))
    }

    pub(crate) fn device(&self, place: Location, data: Arc<dyn Storage>, header: Arc<dyn Storage>) -> Device {
        let locking = if self.unlocked_header { Locking::Disabled } else { Locking::default() };
        let (header_place, write) = (self.header.clone(), self.write);
        Device { place, data, header, header_place, locking, write, users: Users::default() }
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

    /// Opens it with other options.
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

    /// Uses storage that the caller provides, which can be written unless it reports otherwise. See
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

    /// Its length in bytes, including the header.
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

    /// Identifies what is on it (or on the device of its header), whatever the bytes are. Nothing
    /// is locked or changed. See [`Probe`] for an example.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn probe(&self) -> Result<Probe> {
        probe::probe(&self.header).at(self.header_place())
    }

    /// Its header, to be inspected or edited. See [`Header`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::NotLuks`](crate::ErrorKind::NotLuks),
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged);
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) when another process holds its lock for longer
    /// than ten seconds.
    pub fn header(&self) -> Result<Header> {
        self.header_with(&Unlock::new())
    }

    /// Its header, to be edited on the terms and within the limits of `options`. See [`Header`] for
    /// an example.
    ///
    /// # Errors
    /// Those of [`Device::header`].
    pub fn header_with(&self, options: &Unlock) -> Result<Header> {
        let access = if self.write { Access::Write } else { Access::Read };
        let luks = Luks::open_with(Arc::clone(&self.header), access, self.locking);
        let place = self.header_place().clone();
        Ok(Header::new(luks.at(&place)?, place, options.clone(), self.data_device()))
    }

    /// Unlocks it, after all the checks that [`Device::admit`] lists.
    ///
    /// # Errors
    /// Those of [`Device::admit`] and [`Admitted::unlock`]. See [`Device`] for an example.
    pub fn unlock(&self, key: &Key) -> Result<Volume> {
        self.unlock_with(key, &Unlock::new())
    }

    /// Unlocks it with options other than the defaults. See [`Unlock`] for an example.
    ///
    /// # Errors
    /// Those of [`Device::unlock`].
    pub fn unlock_with(&self, key: &Key, options: &Unlock) -> Result<Volume> {
        self.admit(options)?.unlock(key)
    }

    /// Makes all checks that are possible before asking for a key, and claims the data. In this
    /// order:
    ///
    /// 1. Nobody else uses the data: no mount, mapping or swap, no QEMU and no other Keyway; and
    ///    nobody else can claim it before the [`Volume`] is dropped. A reader shares it with other
    ///    readers; [`Unlock::shared`] skips this check.
    /// 2. The header is read once, under its lock, and is of the version asked for: all decisions are made on this copy.
    /// 3. Its seal, if it has one, matches the header; the caller's policies are met as far as the
    ///    header can show ([`Unlock::policy`], [`Unlock::seal_context`]).
    /// 4. It describes a volume that somebody intended: no weak ciphers or short keys, no segments
    ///    that are not encrypted, no key of another volume, no IVs out of order, no data beyond the
    ///    device's end or over the header.
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
        let data = self.claim(options)?;
        // A header on the data device itself is read, and repaired, under the claim on the data.
        let is_one = Arc::ptr_eq(&self.data, &self.header);
        let header = Arc::clone(if is_one { &data } else { &self.header });
        let luks = Luks::open_with(header, Access::Read, self.locking).at(self.header_place())?;
        options.check_version(&luks).at(self.header_place())?;
        let judged = keyway_volume::Admitted::judge(luks, Some(self.data_device()), options.terms());
        let judged = judged.at(self.header_place())?;
        Ok(self.admitted(Judged::Luks(Box::new(judged)), data, options))
    }

    /// The volume that was judged, on the data that was claimed for it.
    pub(crate) fn admitted(&self, judged: Judged, claimed: Arc<dyn Storage>, options: &Unlock) -> Admitted {
        let data = Held {
            claimed,
            #[cfg(feature = "dm")]
            unclaimed: Arc::clone(&self.data),
        };
        let writes_later = self.writes_ever(options) && options.is_unclaimed();
        let rights = (!self.writes(options), writes_later);
        Admitted::new(judged, data, self.place.clone(), options.clone(), rights)
    }

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

    /// The data, claimed on these terms.
    pub(crate) fn claim(&self, options: &Unlock) -> Result<Arc<dyn Storage>> {
        if options.is_unclaimed() {
            return Ok(Arc::clone(&self.data));
        }
        // A header that is elsewhere stays what it is as long as the volume is open. Its keyslots can be
        // edited.
        let is_apart = self.header_place.is_some() && !in_use::is_same(&*self.header, &*self.data);
        let header = match is_apart && !options.is_shared() {
            true => InUse::acquire(&*self.header, in_use::Access::ReadOnly, false),
            false => Ok(InUse::default()),
        };
        let header = header.at(self.header_place())?;
        let writes = self.writes(options);
        let access = if writes { in_use::Access::Write } else { in_use::Access::ReadOnly };
        let claimed = self.users.admit(writes, options.is_shared(), || {
            options.claim(Arc::clone(&self.data), access, header).map_err(Error::from)
        });
        claimed.at(&self.place)
    }

    /// Whether a volume that is opened on these terms can be written to.
    pub(crate) fn writes(&self, options: &Unlock) -> bool {
        self.writes_ever(options) && !options.is_unclaimed()
    }

    /// The same, or the kernel's mapping of it, which claims the device itself.
    pub(crate) fn writes_ever(&self, options: &Unlock) -> bool {
        self.write && !options.is_read_only()
    }

    pub(crate) fn place(&self) -> &Location {
        &self.place
    }

    pub(crate) fn header_place(&self) -> &Location {
        self.header_place.as_ref().unwrap_or(&self.place)
    }

    pub(crate) fn locking(&self) -> Locking {
        self.locking
    }

    pub(crate) fn data_device(&self) -> DataDevice {
        let holds_header = self.header_place.is_none() || in_use::is_same(&*self.data, &*self.header);
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
