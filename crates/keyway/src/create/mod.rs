//! Creates new volumes.

mod appear;
mod bitlk;
mod build;
mod building;
mod content;
mod detached;
mod options;
mod plan;
mod veracrypt;

pub use bitlk::NewBitlk;
#[cfg(not(feature = "parts"))]
use building::Building;
#[cfg(feature = "parts")]
pub use building::{Building, Built, NotBuilt};
pub use content::Content;
use options::{Additions, Geometry, Names, Secrets};
pub use veracrypt::NewVeracrypt;
#[cfg(feature = "parts")]
pub use veracrypt::OuterVolume;

use crate::error::At;
use crate::{Device, Error, ErrorKind, Key, Limits, Location, NewKdf, Result, Version};
use keyway_crypto::CipherSpec;
use keyway_volume::change::create::{check_place, plan_luks1_on, plan_luks2_on};
use keyway_volume::device::storage::{Exclusive, File, Memory, NewFile, PartitionName, Readers, Topology};
use keyway_volume::{Locking, Luks, Storage};
use std::path::Path;
use std::sync::Arc;

/// A volume to be created. The defaults are cryptsetup's: AES-256-XTS, a random volume key, two
/// seconds of Argon2id.
///
/// ```
/// # use keyway::*;
/// # let directory = std::env::temp_dir().join(format!("keyway-create-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("disk.luks");
/// let key = Key::passphrase("correct horse");
/// let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).label("backup").size(1 << 20).create(&path, &key)?;
/// device.unlock(&key)?.write_at(b"first bytes", 0)?;
///
/// // What is there is not overwritten unless that is said.
/// let again = Create::luks2().size(1 << 20).create(&path, &key).unwrap_err();
/// assert_eq!(again.kind(), &ErrorKind::Exists);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Create {
    version: Version,
    cipher: String,
    key_bits: u32,
    hash: Option<String>,
    kdf: NewKdf,
    keyslot: Option<u32>,
    keyslot_cipher: Option<(String, u32)>,
    sector_size: Option<u32>,
    geometry: Geometry,
    names: Names,
    size: Option<u64>,
    header: Option<Location>,
    secrets: Secrets,
    additions: Additions,
    overwrite: bool,
    weak_cipher: bool,
    empty_passphrase: bool,
    locking: Locking,
    limits: Limits,
}

impl Create {
    /// A LUKS2 volume. See [`Create`] for an example.
    pub fn luks2() -> Self {
        Self::new(Version::Luks2)
    }

    /// A LUKS1 volume, for programs that open nothing else: PBKDF2, sectors of 512 bytes. See
    /// [`Header::convert`] for an example.
    ///
    /// [`Header::convert`]: crate::Header::convert
    pub fn luks1() -> Self {
        Self::new(Version::Luks1)
    }

    /// A volume of this version. See [`Create`] for an example.
    pub fn new(version: Version) -> Self {
        Self {
            version,
            cipher: CipherSpec::DEFAULT.to_owned(),
            key_bits: CipherSpec::DEFAULT_KEY_BITS,
            hash: None,
            kdf: NewKdf::default_of(version.number()),
            keyslot: None,
            keyslot_cipher: None,
            sector_size: None,
            geometry: Geometry::default(),
            names: Names::default(),
            size: None,
            header: None,
            secrets: Secrets::default(),
            additions: Additions::default(),
            overwrite: false,
            weak_cipher: false,
            empty_passphrase: false,
            locking: Locking::default(),
            limits: Limits::new(),
        }
    }

    /// The plaintext's length in bytes for a new file, rounded up to whole sectors. A device is
    /// used to its end. [`Create::build`] accepts no more content than this. See [`Create`] for an
    /// example.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// The key derivation function of the first keyslot. See [`NewKdf`] for an example.
    #[must_use]
    pub fn kdf(mut self, kdf: NewKdf) -> Self {
        self.kdf = kdf;
        self
    }

    /// The cipher, as dm-crypt writes it, and the volume key's length in bits.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// let old = Create::luks2().kdf(NewKdf::pbkdf2(1000)).cipher("serpent-xts-plain64", 256);
    /// let device = old.in_memory(1 << 20, &key)?;
    /// assert_eq!(device.header()?.cipher().as_deref(), Some("serpent-xts-plain64"));
    /// let weak = Create::luks2().cipher("aes-ecb", 256).in_memory(1 << 20, &key).unwrap_err();
    /// assert_eq!(weak.kind(), &ErrorKind::Policy { rule: "weak-cipher" });
    /// # Ok::<(), keyway::Error>(())
    /// ```
    #[must_use]
    pub fn cipher(mut self, cipher: &str, key_bits: u32) -> Self {
        (self.cipher, self.key_bits) = (cipher.to_owned(), key_bits);
        self
    }

    /// Accepts a cipher that hides little or nothing, or a key that can be guessed. See
    /// [`Create::cipher`] for an example.
    #[must_use]
    pub fn weak_cipher(mut self) -> Self {
        self.weak_cipher = true;
        self
    }

    /// Takes an empty passphrase, too, and an empty key file: whoever has the volume opens it.
    ///
    /// ```
    /// # use keyway::*;
    /// let (create, empty) = (Create::luks2().kdf(NewKdf::pbkdf2(1000)), Key::passphrase(""));
    /// let refused = create.in_memory(1 << 20, &empty).unwrap_err();
    /// assert_eq!(refused.kind(), &ErrorKind::EmptyPassphrase);
    /// create.allow_empty_passphrase().in_memory(1 << 20, &empty)?.unlock(&empty)?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    #[must_use]
    pub fn allow_empty_passphrase(mut self) -> Self {
        self.empty_passphrase = true;
        self
    }

    /// The encryption sector size in bytes (LUKS2). The default is 4096, or 512 where the size is
    /// not a multiple of 4096. See [`Header`](crate::Header) for an example.
    #[must_use]
    pub fn sector_size(mut self, bytes: u32) -> Self {
        self.sector_size = Some(bytes);
        self
    }

    /// A label of at most 47 bytes (LUKS2). See [`Create`] for an example.
    #[must_use]
    pub fn label(mut self, label: &str) -> Self {
        self.names.label = Some(label.to_owned());
        self
    }

    /// The UUID; random by default. See [`Header`](crate::Header) for an example.
    #[must_use]
    pub fn uuid(mut self, uuid: &str) -> Self {
        self.names.uuid = Some(uuid.to_owned());
        self
    }

    /// Puts the header elsewhere, into a new file: the device then holds nothing but encrypted
    /// sectors, from its first byte on.
    ///
    /// ```
    /// # use keyway::*;
    /// # let directory = std::env::temp_dir().join(format!("keyway-detached-{}", std::process::id()));
    /// # std::fs::create_dir_all(&directory)?;
    /// # let (disk, header) = (directory.join("disk"), directory.join("disk.header"));
    /// let key = Key::passphrase("correct horse");
    /// let create = Create::luks2().kdf(NewKdf::pbkdf2(1000)).header(&header).size(1 << 20);
    /// create.create(&disk, &key)?.unlock(&key)?.write_at(b"first bytes", 0)?;
    ///
    /// assert_eq!(Device::open(&disk)?.probe()?, Probe::Nothing);
    /// let device = Device::options().header(&header).open(&disk)?;
    /// assert_eq!((device.len(), device.unlock(&key)?.len()), (1 << 20, 1 << 20));
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn header(mut self, header: impl Into<Location>) -> Self {
        self.header = Some(header.into());
        self
    }

    /// Creates the volume on an existing device or file, whose content is lost. A device or file
    /// that is in use is still refused. See [`Create`] for an example.
    #[must_use]
    pub fn overwrite(mut self) -> Self {
        self.overwrite = true;
        self
    }

    /// Reports progress of and can cancel the long part of the work: wiping what is overwritten,
    /// and encrypting the content of [`Create::build`]. The first keyslot's key derivation, whose
    /// length [`NewKdf`] sets, runs to its end. Cancelled work leaves no volume. See
    /// [`Create::build`] for an example.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Creates the volume, and opens it for writing. A new file appears only when it is complete,
    /// and only its owner may read it. An existing target is first claimed and its header wiped.
    /// See [`Create`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`] unless [`Create::overwrite`] was called; [`ErrorKind::InUse`];
    /// [`ErrorKind::EmptyPassphrase`]; the requested parameters are not possible.
    pub fn create(&self, location: impl Into<Location>, key: &Key) -> Result<Device> {
        let location = location.into();
        let Some(header) = &self.header else {
            match self.find(&location)? {
                Found::Nothing(path) => self.new_file(path, key).at(&location)?,
                Found::Something => self.existing(&location, key).at(&location)?,
            }
            return Device::open_rw(location);
        };
        self.detached(&location, header, key)?;
        Device::options().header(header.clone()).write(true).open(location)
    }

    /// Creates the volume in memory, with `size` bytes of plaintext: for tests and experiments. See
    /// [`Header`](crate::Header) for an example.
    ///
    /// # Errors
    /// The requested parameters are not possible.
    pub fn in_memory(&self, size: u64, key: &Key) -> Result<Device> {
        if let Some(header) = &self.header {
            return Err(Error::refused("a volume in memory cannot have a detached header").at(header));
        }
        let planned = self.plan(size, key)?;
        let len = planned.len().ok().and_then(|len| usize::try_from(len).ok());
        let len = len.ok_or_else(Error::too_large_for_memory)?;
        let memory = Arc::new(Memory::zeroed(len));
        planned.write_to_new(Arc::clone(&memory) as Arc<dyn Storage>, len as u64)?;
        Ok(Device::from_storage(memory))
    }

    fn new_file(&self, path: &Path, key: &Key) -> Result<()> {
        let planned = self.plan(self.size.ok_or_else(no_size)?, key)?;
        let (len, new) = (planned.len()?, NewFile::create(path, false)?);
        new.file().set_len(len)?;
        planned.write_to_new(Arc::clone(new.file()) as Arc<dyn Storage>, len)?;
        Ok(new.complete(Readers::Owner)?)
    }

    fn find<'a>(&self, location: &'a Location) -> Result<Found<'a>> {
        Found::at(location, self.overwrite)
    }

    /// Without content to bound, a size would have no effect on an existing target.
    fn refuse_size(&self) -> Result<()> {
        match self.size {
            Some(_) => Err(Error::has_a_size()),
            None => Ok(()),
        }
    }

    fn existing(&self, location: &Location, key: &Key) -> Result<()> {
        self.refuse_size()?;
        self.write(&claim(location)?, None, key).map(drop)
    }

    /// Writes the header over what is on `data`, or on `header` if it is detached. `data` is
    /// claimed.
    pub(crate) fn write(
        &self,
        data: &Exclusive,
        header: Option<Arc<dyn Storage>>,
        key: &Key,
    ) -> Result<Luks> {
        self.check()?;
        let (is_detached, topology) = (header.is_some(), Topology::of(&***data));
        let storage = header.unwrap_or_else(|| Arc::clone(data));
        check_place(&*storage)?;
        let (passphrase, mut random) = (key.read_new_passphrase(self.empty_passphrase)?, self.random());
        let volume_key = self.new_volume_key(&mut *random)?;
        let plan = match self.version {
            Version::Luks1 => {
                let params = self.luks1_params(is_detached, topology);
                plan_luks1_on(&*storage, &params, &volume_key, &passphrase, &mut *random)?
            }
            Version::Luks2 => {
                let params = self.luks2_params(is_detached, is_detached.then(|| data.len()), topology);
                plan_luks2_on(&*storage, &params, &volume_key, &passphrase, &mut *random)?
            }
        };
        let meter = self.limits.begin(Some(plan.wiped(is_detached)));
        let mut luks = plan.write_metered(storage, is_detached, self.locking, &mut *random, &meter)?;
        self.additions.put(&mut luks, &volume_key, data.len(), &mut *random)?;
        Ok(luks)
    }
}

/// What exists where a volume is to be created.
enum Found<'a> {
    /// Nothing exists under this name.
    Nothing(&'a Path),
    /// A file or device; or a URL, where only its server knows whether it exists.
    Something,
}

impl<'a> Found<'a> {
    /// What exists at `location`; refused unless it may be overwritten.
    fn at(location: &'a Location, overwrite: bool) -> Result<Self> {
        let is_free = |path: &&Path| {
            path.symlink_metadata().is_err() && !PartitionName::of(path).is_some_and(|it| it.has_table())
        };
        match location.path().filter(is_free) {
            Some(path) => Ok(Self::Nothing(path)),
            None if overwrite => Ok(Self::Something),
            None => Err(Error::new(ErrorKind::Exists).at(location)),
        }
    }
}

/// Claims the existing target exclusively.
pub(crate) fn claim(location: &Location) -> Result<Exclusive> {
    let storage = match location.path() {
        // A symbolic link that another user may have put there is not followed.
        Some(path) => Arc::new(File::overwrite(path)?),
        None => location.open(true)?,
    };
    Ok(Exclusive::claim(storage)?)
}

fn no_size() -> Error {
    Error::refused("a new file needs a size: Create::size")
}
