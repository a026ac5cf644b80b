//! New VeraCrypt volumes.
//!
//! ```text
//! random bytes over both ends ─► old signatures between them ─► random bytes over the data ─► backup header ─► header
//! ```
//!
//! What was there ends with the first write, and nothing opens from then on until the backup header is written: the
//! volume is complete then but for the other copy. Each step is on stable storage before the next.
//!
//! ```text
//! filled   a volume with its content
//! hidden   a volume in the end of another one's data
//! ```

mod filled;
mod hidden;

pub use hidden::Outer;

use super::headers::Headers;
use super::key_files::{KeyFiles, check_new_file};
use super::seal::Sealing;
use super::{Place, Unlocked};
use crate::device::storage::{NewFile, Topology};
use crate::device::stream::Meter;
use crate::error::shared;
use crate::kind::Found;
use crate::kind::noise;
use crate::kind::written::{flush, refused, wipe};
use crate::{Error, Random, Refusal, Result, Storage};
use keyway_crypto::{Cascade, Secret};
use keyway_format::tcrypt::{
    Cipher, Fields, Header, KEYS_LEN, NEW_CIPHER, NEW_HASH, Position, check_pim, cipher_of_new, data_of_new,
    kdf_of_new,
};
use std::ops::Range;
use std::path::PathBuf;

/// A VeraCrypt volume to be made.
#[derive(Clone, Default)]
pub struct NewVolume {
    /// The hash of its KDF, or "argon2id"; `None`: VeraCrypt's default.
    pub hash: Option<String>,
    /// Its ciphers; `None`: VeraCrypt's default.
    pub cipher: Option<String>,
    /// VeraCrypt's personal iterations multiplier.
    pub pim: Option<u32>,
    /// Key files, and folders of them.
    pub key_files: Vec<PathBuf>,
    /// The data area is left as it is.
    pub quick: bool,
}

impl NewVolume {
    /// What its headers are to be encrypted with.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused): VeraCrypt makes no such volume.
    pub fn sealing(&self) -> Result<Sealing> {
        let kdf = kdf_of_new(self.hash.as_deref().unwrap_or(NEW_HASH)).map_err(refused(Refusal::Unusable))?;
        let cipher = cipher_of_new(self.cipher.as_deref().unwrap_or(NEW_CIPHER));
        let cipher = cipher.map_err(refused(Refusal::Unusable))?;
        if let Some(pim) = self.pim {
            check_pim(pim, false).map_err(refused(Refusal::Unusable))?;
        }
        Ok(Sealing { kdf, pim: self.pim, cipher })
    }

    /// Refuses a new file in a folder of its own key files: it would be one of them from then on, and nothing would
    /// open it.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused); [`Io`](crate::Error::Io).
    pub fn check_new_file(&self, new: &NewFile) -> Result<()> {
        check_new_file(&self.key_files, new)
    }

    /// How many bytes [`NewVolume::make`] fills on such a device, and that it can.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused): no volume can be there.
    pub fn fills(&self, storage: &dyn Storage) -> Result<u64> {
        let (data, _) = place(storage)?;
        Ok(if self.quick { 0 } else { data.end - data.start })
    }

    /// Makes the volume over all that is on `storage`, which the caller has claimed. `meter` counts the bytes of the
    /// data area, and can stop their filling: no volume exists then.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused), before anything is written: VeraCrypt makes no such volume;
    /// [`Io`](crate::Error::Io).
    pub fn make(
        &self,
        storage: &dyn Storage,
        passphrase: &Secret,
        rng: &mut dyn Random,
        meter: &Meter,
    ) -> Result<()> {
        self.make_around(storage, passphrase, rng, |new, rng| match self.quick {
            true => Ok(()),
            false => noise::long(storage, new.data, rng, meter),
        })
    }

    /// Makes the volume; `fill` writes its data area.
    fn make_around<E: From<Error>>(
        &self,
        storage: &dyn Storage,
        passphrase: &Secret,
        rng: &mut dyn Random,
        fill: impl FnOnce(New, &mut dyn Random) -> Result<(), E>,
    ) -> Result<(), E> {
        let (data, sector_size) = place(storage)?;
        let (sealing, password) = self.password(storage, passphrase)?;
        let fields = Fields::of_new(data.clone(), sector_size, false);
        let header = Header::new(fields, new_keys(sealing.cipher, rng)?).map_err(Error::from)?;
        let headers =
            Headers::seal(&header, &sealing, &password, &[Position::Backup, Position::Normal], rng)?;
        noise::short(storage, 0..data.start, rng)?;
        noise::short(storage, data.end..storage.len(), rng)?;
        flush(storage)?;
        wipe(storage)?;
        fill(New { data, header, sealing }, rng)?;
        flush(storage)?;
        Ok(headers.write(storage)?)
    }

    /// The passphrase with the key files in it, if VeraCrypt takes both.
    fn password(&self, storage: &dyn Storage, passphrase: &Secret) -> Result<(Sealing, Secret)> {
        let sealing = self.sealing()?;
        sealing.kdf.check_new(self.pim, passphrase).map_err(refused(Refusal::Unusable))?;
        if passphrase.is_empty() && self.key_files.is_empty() {
            return Err(shared::empty_password());
        }
        let key_files = KeyFiles::read(&self.key_files)?;
        key_files.check_apart(storage)?;
        Ok((sealing, key_files.with(passphrase)?))
    }
}

/// A volume whose header is not written yet.
struct New {
    /// Where its data is on the device.
    data: Range<u64>,
    header: Header,
    sealing: Sealing,
}

impl New {
    /// As it is found when its header is written, on a device of this length.
    fn found(self, device_len: u64) -> Result<Found> {
        let Self { header, sealing: Sealing { kdf, cipher, .. }, .. } = self;
        let (position, place) = (Position::Normal, Place::default());
        Unlocked { position, kdf, cipher, header, place, device_len }.found(device_len)
    }
}

/// Where the data of a volume on that device is, and the size of the device's sectors.
fn place(storage: &dyn Storage) -> Result<(Range<u64>, u32)> {
    let topology = Topology::of(storage);
    if topology.zoned {
        return Err(shared::zoned("a volume"));
    }
    let sector_size = topology.logical_size;
    let data = data_of_new(storage.len(), sector_size).map_err(refused(Refusal::NoRoom))?;
    Ok((data, sector_size))
}

/// Random keys, of which no cipher has the same one twice.
fn new_keys(cipher: &Cipher, rng: &mut dyn Random) -> Result<Secret> {
    let mut keys = Secret::zeroed(KEYS_LEN);
    rng.fill(keys.expose_mut())?;
    let layers = Cascade::layers(cipher.chain, cipher.mode, &keys)?.unwrap_or_default();
    let is_same = |key: &[u8]| key[..key.len() / 2] == key[key.len() / 2..];
    match layers.iter().any(|layer| is_same(layer.key.expose())) {
        true => Err(shared::equal_halves()),
        false => Ok(keys),
    }
}
