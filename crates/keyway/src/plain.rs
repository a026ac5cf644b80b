//! Plain dm-crypt volumes: no header, all that is known of them the caller says.

use crate::error::At;
use crate::plaintext::Plaintext;
use crate::volume::Identity;
use crate::{Device, Error, ErrorKind, Key, KeyFile, Location, Result, Unlock, Volume};
use keyway_crypto::{CipherSpec, Cpu, Secret, SectorSize};
use keyway_format::plain::PassphraseHash;
use keyway_format::{Bytes, Sectors};
use keyway_volume::device::probe;
use keyway_volume::{Layout, PlainVolume, Rights, Storage};
use std::fmt;
use std::sync::Arc;

/// A plain dm-crypt volume, as `cryptsetup open --type plain` describes one. Nothing on the device
/// tells whether the description and the key are right: wrong ones give noise, and what is written
/// with them is lost.
///
/// ```
/// # use keyway::*;
/// # use std::sync::Arc;
/// let device = Device::from_storage(Arc::new(storage::Memory::zeroed(1 << 20)));
/// let plain = Plain::new("aes-xts-plain64", 256)?.hash("sha256")?.offset(1 << 19)?.skip(8);
/// let key = Key::passphrase("correct horse");
/// let volume = device.unlock_plain(&plain, &key, &Unlock::new())?;
/// volume.write_at(b"hidden", 0)?;
/// assert_eq!((volume.len(), volume.version()), (1 << 19, None));
/// # drop(volume);
/// let noise = device.unlock_plain(&plain.skip(0), &key, &Unlock::new())?;
/// let mut bytes = [0; 6];
/// noise.read_at(&mut bytes, 0)?;
/// assert_ne!(&bytes, b"hidden");
/// # Ok::<(), keyway::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plain {
    volume: PlainVolume,
    key_len: usize,
    hash: PassphraseHash,
    overwrite: bool,
}

impl Plain {
    /// Under this cipher ("aes-xts-plain64"), with a key of so many bits. See [`Plain`] for an
    /// example.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`]; the cipher has no such keys.
    pub fn new(cipher: &str, key_bits: u32) -> Result<Self> {
        let spec = CipherSpec::parse(cipher).map_err(keyway_volume::Error::from)?;
        spec.check_key_bits(key_bits as usize).map_err(keyway_volume::Error::from)?;
        if !key_bits.is_multiple_of(8) {
            return Err(Error::refused("a key has whole bytes"));
        }
        let volume = PlainVolume {
            spec,
            sector_size: SectorSize::S512,
            iv_large_sectors: false,
            offset: Sectors(0),
            skip: Sectors(0),
            size: None,
        };
        Ok(Self::of(volume, key_bits as usize / 8))
    }

    pub(crate) fn of(volume: PlainVolume, key_len: usize) -> Self {
        Self { volume, key_len, hash: PassphraseHash::DEFAULT, overwrite: false }
    }

    /// How a passphrase becomes the key: `HASH`, `HASH:BYTES` or `plain`; "sha256" without this.
    /// See [`Plain`] for an example.
    ///
    /// # Errors
    /// The hash is unknown.
    pub fn hash(mut self, name: &str) -> Result<Self> {
        self.hash = PassphraseHash::parse(name).map_err(keyway_volume::Error::from)?;
        Ok(self)
    }

    /// The encryption's sector size, in bytes (512). `iv_large_sectors`: the IV counts such sectors,
    /// not units of 512 bytes. See [`Plain`] for an example.
    ///
    /// # Errors
    /// There are no such sectors.
    pub fn sector_size(mut self, bytes: u32, iv_large_sectors: bool) -> Result<Self> {
        self.volume.sector_size = SectorSize::new(bytes).map_err(keyway_volume::Error::from)?;
        self.volume.iv_large_sectors = iv_large_sectors;
        Ok(self)
    }

    /// Where the data starts on the device, in bytes. See [`Plain`] for an example.
    ///
    /// # Errors
    /// It is no multiple of 512.
    pub fn offset(mut self, bytes: u64) -> Result<Self> {
        self.volume.offset = whole_sectors(bytes)?;
        Ok(self)
    }

    /// The IV of the first sector, in units of 512 bytes. See [`Plain`] for an example.
    #[must_use]
    pub fn skip(mut self, sectors: u64) -> Self {
        self.volume.skip = Sectors(sectors);
        self
    }

    /// The volume's length in bytes; without this, all from the offset on. See [`Plain`] for an
    /// example.
    ///
    /// # Errors
    /// It is no multiple of 512.
    pub fn size(mut self, bytes: u64) -> Result<Self> {
        self.volume.size = Some(whole_sectors(bytes)?);
        Ok(self)
    }

    /// May be opened for writing where the device's start holds something else that is known, which
    /// the first write may destroy. See [`Plain`] for an example.
    #[must_use]
    pub fn overwrite(mut self) -> Self {
        self.overwrite = true;
        self
    }
}

fn whole_sectors(bytes: u64) -> Result<Sectors> {
    match bytes % Sectors::SIZE {
        0 => Ok(Bytes(bytes).sectors()),
        _ => Err(Error::refused("offset and size are multiples of 512 bytes")),
    }
}

impl Device {
    /// Opens the plain volume that `plain` describes, after all the checks that
    /// [`Device::admit_plain`] lists. See [`Plain`] for an example.
    ///
    /// # Errors
    /// Those of [`Device::admit_plain`] and [`AdmittedPlain::open`].
    pub fn unlock_plain(&self, plain: &Plain, key: &Key, options: &Unlock) -> Result<Volume> {
        self.admit_plain(plain, options)?.open(key)
    }

    /// Makes all checks that are possible before asking for a key, and claims the data. In this
    /// order:
    ///
    /// 1. Nobody else uses the data, as for [`Device::admit`].
    /// 2. Nothing is demanded that only a header could meet; the cipher is not weak
    ///    ([`Unlock::weak_ciphers`]).
    /// 3. The volume is within the device, in whole sectors.
    /// 4. If it can be written and starts at the device's start, nothing known is there
    ///    ([`Plain::overwrite`]).
    ///
    /// ```
    /// # use keyway::*;
    /// # use std::sync::Arc;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let plain = Plain::new("aes-xts-plain64", 512)?;
    /// let error = device.admit_plain(&plain, &Unlock::new()).unwrap_err();
    /// assert_eq!(error.kind(), &ErrorKind::Exists);
    /// let volume = device.admit_plain(&plain, &Unlock::new().read_only())?.open(&key)?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InUse`], [`ErrorKind::Policy`], [`ErrorKind::Refused`], [`ErrorKind::Exists`].
    pub fn admit_plain(&self, plain: &Plain, options: &Unlock) -> Result<AdmittedPlain> {
        let data = self.claim(options)?;
        let terms = options.terms();
        if !terms.policies.is_empty() || terms.seal_context.is_some() {
            return Err(Error::new(ErrorKind::Policy { rule: "header" }).at(self.place()));
        }
        if !terms.weak_ciphers && plain.volume.spec.weakness_with(plain.key_len).is_some() {
            return Err(Error::new(ErrorKind::Policy { rule: "weak-cipher" }).at(self.place()));
        }
        let volume = &plain.volume;
        let layout = volume.layout(&self.place().to_string(), data.len()).at(self.place())?;
        let writes = self.writes(options);
        if writes
            && volume.offset.0 == 0
            && !plain.overwrite
            && !probe::probe(&*data).at(self.place())?.is_empty()
        {
            return Err(Error::new(ErrorKind::Exists).at(self.place()));
        }
        Ok(AdmittedPlain {
            data,
            layout,
            key_len: plain.key_len,
            hash: plain.hash,
            place: self.place().clone(),
            rights: Rights { read_only: !writes, discards: options.passes_discards() },
        })
    }
}

/// A plain volume that may be opened, on a device that is claimed: from [`Device::admit_plain`];
/// see there for an example. Dropping it releases the device.
pub struct AdmittedPlain {
    data: Arc<dyn Storage>,
    layout: Layout,
    key_len: usize,
    hash: PassphraseHash,
    place: Location,
    rights: Rights,
}

impl AdmittedPlain {
    /// Opens the volume. A passphrase is hashed; a key file starts with the key itself, as for
    /// cryptsetup. See [`Device::admit_plain`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::KeyFile`]: it is shorter than the key; [`ErrorKind::WrongVolumeKey`]: the volume
    /// key has another length.
    pub fn open(self, key: &Key) -> Result<Volume> {
        let volume_key = self.volume_key(key).at(&self.place)?;
        let volume = keyway_volume::Volume::new(self.data, &self.layout, &volume_key, Cpu::detect());
        let plaintext = Plaintext { volume: volume.at(&self.place)?, rights: self.rights };
        Ok(Volume::new(plaintext, self.place, Identity::default()))
    }

    /// The volume key that `key` is, holds or hashes to.
    pub(crate) fn volume_key(&self, key: &Key) -> Result<Secret> {
        if let Some(given) = key.read_volume_key(Some(self.key_len))? {
            return match given.len() == self.key_len {
                true => Ok(Secret::copy_from(given.expose())),
                false => Err(Error::new(ErrorKind::WrongVolumeKey)),
            };
        }
        if let Key::KeyFile(file) = key {
            let start = Key::KeyFile(KeyFile::size(file.clone(), self.key_len as u64));
            return Ok(Secret::copy_from(start.read_passphrase()?.expose()));
        }
        let passphrase = key.read_passphrase()?;
        Ok(self.hash.key(&passphrase, self.key_len).map_err(keyway_volume::Error::from)?)
    }

    #[cfg(feature = "parts")]
    pub(crate) fn place(&self) -> &Location {
        &self.place
    }

    #[cfg(feature = "parts")]
    pub(crate) fn into_data(self) -> (Arc<dyn Storage>, Layout) {
        (self.data, self.layout)
    }
}

impl fmt::Debug for AdmittedPlain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdmittedPlain").field("place", &self.place).finish_non_exhaustive()
    }
}
