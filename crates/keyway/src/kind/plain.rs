//! Plain dm-crypt volumes: no header, all that is known of them the caller says.

use super::sealed::Described;
use crate::{Error, Result};
use keyway_crypto::{CipherSpec, SectorSize};
use keyway_format::plain::PassphraseHash;
use keyway_format::{Bytes, Sectors};
use keyway_volume::{PlainVolume, kind};

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
/// let volume = device.unlock_as(&plain, &key, &Unlock::new())?;
/// volume.write_at(b"hidden", 0)?;
/// assert_eq!((volume.len(), volume.version()), (1 << 19, None));
/// # drop(volume);
/// let noise = device.unlock_as(&plain.skip(0), &key, &Unlock::new())?;
/// let mut bytes = [0; 6];
/// noise.read_at(&mut bytes, 0)?;
/// assert_ne!(&bytes, b"hidden");
/// # Ok::<(), keyway::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plain {
    described: kind::plain::Plain,
}

impl Plain {
    /// Under this cipher ("aes-xts-plain64"), with a key of so many bits. See [`Plain`] for an
    /// example.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported); the cipher has no such keys.
    pub fn new(cipher: &str, key_bits: u32) -> Result<Self> {
        let spec = CipherSpec::parse(cipher).map_err(keyway_volume::Error::from)?;
        spec.check_key_bits(key_bits as usize).map_err(keyway_volume::Error::from)?;
        if !key_bits.is_multiple_of(8) {
            return Err(Error::odd_key_size());
        }
        let volume = PlainVolume::new(spec);
        let (key_len, hash) = (key_bits as usize / 8, PassphraseHash::DEFAULT);
        Ok(Self { described: kind::plain::Plain { volume, key_len, hash, overwrite: false } })
    }

    /// How a passphrase becomes the key: `HASH`, `HASH:BYTES` or `plain`; "sha256" without this.
    /// See [`Plain`] for an example.
    ///
    /// # Errors
    /// The hash is unknown.
    pub fn hash(mut self, name: &str) -> Result<Self> {
        self.described.hash = PassphraseHash::parse(name).map_err(keyway_volume::Error::from)?;
        Ok(self)
    }

    /// The encryption's sector size, in bytes (512). `iv_large_sectors`: the IV counts such sectors,
    /// not units of 512 bytes. See [`Plain`] for an example.
    ///
    /// # Errors
    /// There are no such sectors.
    pub fn sector_size(mut self, bytes: u32, iv_large_sectors: bool) -> Result<Self> {
        self.described.volume.sector_size = SectorSize::new(bytes).map_err(keyway_volume::Error::from)?;
        self.described.volume.iv_large_sectors = iv_large_sectors;
        Ok(self)
    }

    /// Where the data starts on the device, in bytes. See [`Plain`] for an example.
    ///
    /// # Errors
    /// It is no multiple of 512.
    pub fn offset(mut self, bytes: u64) -> Result<Self> {
        self.described.volume.offset = whole_sectors(bytes)?;
        Ok(self)
    }

    /// The IV of the first sector, in units of 512 bytes. See [`Plain`] for an example.
    #[must_use]
    pub fn skip(mut self, sectors: u64) -> Self {
        self.described.volume.skip = Sectors(sectors);
        self
    }

    /// The volume's length in bytes; without this, all from the offset on. See [`Plain`] for an
    /// example.
    ///
    /// # Errors
    /// It is no multiple of 512.
    pub fn size(mut self, bytes: u64) -> Result<Self> {
        self.described.volume.size = Some(whole_sectors(bytes)?);
        Ok(self)
    }

    /// May be opened for writing where the device's start holds something else that is known, which
    /// the first write may destroy. See [`Plain`] for an example.
    #[must_use]
    pub fn overwrite(mut self) -> Self {
        self.described.overwrite = true;
        self
    }
}

pub(super) fn whole_sectors(bytes: u64) -> Result<Sectors> {
    match bytes % Sectors::SIZE {
        0 => Ok(Bytes(bytes).sectors()),
        _ => Err(Error::refused("offset and size are multiples of 512 bytes")),
    }
}

impl super::Kind for Plain {}

impl Described for Plain {
    fn described(&self) -> &dyn kind::Kind {
        &self.described
    }
}
