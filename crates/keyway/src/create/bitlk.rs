//! New BitLocker volumes.

use super::appear::Place;
use crate::{Device, Error, Key, Limits, Location, RecoveryPassword, Result};
use keyway_volume::device::stream::Meter;
use keyway_volume::kind::bitlk::{self, NewKeys};
use keyway_volume::{OsRandom, Random, Storage, UnlockOptions};
use std::fmt;

/// A BitLocker volume to be created. The defaults are Windows': AES-128-XTS. [`Bitlk`](crate::Bitlk) opens it, and
/// [`BitlkProtectors`](crate::BitlkProtectors) changes what does. No file system is in it yet, and one that is made in it
/// may take [`NewBitlk::room`] bytes: behind them the volume keeps its metadata.
///
/// ```
/// # use keyway::*;
/// # let directory = std::env::temp_dir().join(format!("keyway-bitlk-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("disk.img");
/// let (key, recovery) = (Key::passphrase("correct horse"), RecoveryPassword::random()?);
/// let new = NewBitlk::new().key_bits(256).description("backups").recovery_password(&recovery);
/// assert_eq!(new.room(2 << 20)?, 1 << 20);
/// let device = new.size(2 << 20).create(&path, &key)?;
/// for key in [key, recovery.key()] {
///     device.unlock_as(&Bitlk::new(), &key, &Unlock::new())?.write_at(b"first bytes", 0)?;
/// }
///
/// // What is there is not overwritten unless that is said.
/// let again = NewBitlk::new().size(2 << 20).create(&path, &recovery.key()).unwrap_err();
/// assert_eq!(again.kind(), &ErrorKind::Exists);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct NewBitlk {
    volume: bitlk::NewBitlk,
    recovery: Option<RecoveryPassword>,
    size: Option<u64>,
    overwrite: bool,
    limits: Limits,
}

impl NewBitlk {
    /// A volume with Windows' defaults. See [`NewBitlk`] for an example.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bits of each AES key: 128 or 256. See [`NewBitlk`] for an example.
    #[must_use]
    pub fn key_bits(mut self, bits: u32) -> Self {
        self.volume.key_bits = Some(bits);
        self
    }

    /// 512 or 4096 bytes; the default is that of the device's sectors, the only one that Windows opens there.
    ///
    /// ```
    /// # use keyway::*;
    /// # let path = std::env::temp_dir().join(format!("keyway-bitlk-sectors-{}", std::process::id()));
    /// let key = Key::passphrase("correct horse");
    /// NewBitlk::new().sector_size(4096).quick().size(2 << 20).create(&path, &key)?;
    /// NewBitlk::new().overwrite().create(&path, &key)?;
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn sector_size(mut self, bytes: u32) -> Self {
        self.volume.sector_size = Some(bytes);
        self
    }

    /// What Windows shows of it: a text of at most 255 characters. See [`NewBitlk`] for an example.
    #[must_use]
    pub fn description(mut self, text: &str) -> Self {
        self.volume.description = Some(text.to_owned());
        self
    }

    /// Leaves the data area as it is, instead of filling it with random bytes: what was there can be read until it is
    /// written over, and what is written later shows. See [`NewBitlk::sector_size`] for an example.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.volume.quick = true;
        self
    }

    /// A recovery password opens it, too. See [`NewBitlk`] for an example.
    #[must_use]
    pub fn recovery_password(mut self, password: &RecoveryPassword) -> Self {
        self.recovery = Some(password.clone());
        self
    }

    /// The length of a new file in bytes; at least two MiB, of which one is not data. See [`NewBitlk`] for an example.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// Creates the volume on an existing device or file, whose content is lost. See [`NewBitlk::sector_size`] for an
    /// example.
    #[must_use]
    pub fn overwrite(mut self) -> Self {
        self.overwrite = true;
        self
    }

    /// Reports progress of and can cancel the filling. See [`Limits`].
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How many bytes a file system may take in a volume on a file of `len` bytes. See [`NewBitlk`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused): no volume is that short.
    pub fn room(&self, len: u64) -> Result<u64> {
        Ok(self.volume.room(len)?)
    }

    /// Creates the volume; with `None`, only its [recovery password](NewBitlk::recovery_password) opens it. A new file
    /// appears only when it is complete, and only its owner may read it. An existing target is claimed, and what it
    /// held goes first. See [`NewBitlk`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`](crate::ErrorKind::Exists) unless [`NewBitlk::overwrite`] was called;
    /// [`ErrorKind::InUse`](crate::ErrorKind::InUse); [`ErrorKind::EmptyPassphrase`](crate::ErrorKind::EmptyPassphrase);
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused): Windows makes no such volume.
    pub fn create<'a>(
        &self,
        location: impl Into<Location>,
        key: impl Into<Option<&'a Key>>,
    ) -> Result<Device> {
        let len = || Err(Error::refused("a new file needs a size: NewBitlk::size"));
        let place = Place { overwrite: self.overwrite, size: self.size, len: &len, check: &|_| Ok(()) };
        let key = key.into();
        place.fill(location.into(), |storage| {
            let meter = self.limits.begin(Some(self.volume.fills(&**storage)?));
            self.make(&**storage, key, &meter)
        })
    }

    fn make(&self, storage: &dyn Storage, key: Option<&Key>, meter: &Meter) -> Result<()> {
        let passphrase = key.map(|key| key.read_new_passphrase(false)).transpose()?;
        let recovery = self.recovery.as_ref().map(RecoveryPassword::key_bytes);
        let keys = NewKeys { passphrase: passphrase.as_deref(), recovery };
        let costs: (&mut dyn Random, &UnlockOptions) = (&mut OsRandom, &self.limits.options());
        Ok(self.volume.make(storage, keys, costs, meter)?)
    }
}

impl fmt::Debug for NewBitlk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewBitlk").field("size", &self.size).finish_non_exhaustive()
    }
}

#[cfg(feature = "parts")]
impl NewBitlk {
    /// Refuses what Windows makes no volumes with, before anything is asked or read. See [`NewBitlk::create_on`] for an
    /// example.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused).
    pub fn check(&self) -> Result<()> {
        Ok(self.volume.check()?)
    }

    /// How many bytes [`NewBitlk::create_on`] fills there. See there for an example.
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
    /// # use keyway::{Key, NewBitlk, storage::Memory};
    /// # use keyway_volume::device::stream::Meter;
    /// let (disk, meter, new) = (Memory::zeroed(2 << 20), Meter::new(), NewBitlk::new());
    /// new.check()?;
    /// new.create_on(&disk, &Key::passphrase("correct horse"), &meter)?;
    /// assert_eq!(meter.done(), new.fills(&disk)?);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`NewBitlk::create`], but for what exists.
    pub fn create_on<'a>(
        &self,
        storage: &dyn Storage,
        key: impl Into<Option<&'a Key>>,
        meter: &Meter,
    ) -> Result<()> {
        self.make(storage, key.into(), meter)
    }
}
