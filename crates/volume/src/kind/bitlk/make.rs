//! New BitLocker volumes.
//!
//! ```text
//! plaintext   first 8 KiB │ data …                        │ (the last MiB: zeros between data)
//! device      boot sector │ data …                        │ metadata │ first 8 KiB │ … │ metadata │ … │ metadata │ …
//!                                                         └─ a multiple of 4096, at least 1 MiB from the end
//! ```
//!
//! Windows puts its metadata where the file system that it encrypts has free clusters, and lets a file of that file system
//! hold them. A new volume has no file system yet, and no other program leaves out clusters in the middle: so all of it is
//! behind the data, [`NewBitlk::room`] says how much a file system may take, and the boot sectors follow the first copy, as
//! Windows has it.
//!
//! ```text
//! random bytes over both ends ─► old signatures between them ─► random bytes over the data
//!   ─► metadata, three times ─► boot sector without its start ─► boot sector
//! ```
//!
//! What was there ends with the first write, and no BitLocker volume is seen before the last one: the volume is complete then.
//! Each step is on stable storage before the next.

use super::new_key::{NewKey, RecoveryKey, Stretched};
use super::time::{fresh_nonces, now};
use crate::device::storage::Topology;
use crate::device::stream::Meter;
use crate::error::shared;
use crate::kind::noise;
use crate::kind::written::{check_flushes, flush, put, put_and_read, refused, wipe};
use crate::random::random_bytes;
use crate::{Random, Refusal, Result, Storage, UnlockOptions};
use keyway_crypto::{Cpu, Secret};
use keyway_format::Bytes;
use keyway_format::bitlk::{
    BootSector, BootSectors, Encryption, Guid, METADATA_LEN, NewMetadata, Scheme, Version,
};

/// A BitLocker volume to be made.
#[derive(Debug, Clone, Default)]
pub struct NewBitlk {
    /// Bits of each of the two AES keys: 128 or 256; `None`: Windows' default, 128.
    pub key_bits: Option<u32>,
    /// 512 or 4096; `None`: that of the device's sectors.
    pub sector_size: Option<u32>,
    /// What Windows shows of it.
    pub description: Option<String>,
    /// The data area is left as it is.
    pub quick: bool,
}

/// What opens a new volume: one of them at least.
#[derive(Clone, Copy, Default)]
pub struct NewKeys<'a> {
    /// A passphrase.
    pub passphrase: Option<&'a Secret>,
    /// A recovery password.
    pub recovery: Option<&'a RecoveryKey>,
}

impl NewBitlk {
    /// Refuses what no volume can have, before anything is asked.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused).
    pub fn check(&self) -> Result<()> {
        self.encryption()?;
        match self.sector_size {
            None | Some(512 | 4096) => Ok(()),
            Some(other) => {
                Err(Refusal::Unusable
                    .because(format!("BitLocker's sectors have 512 or 4096 bytes, not {other}")))
            }
        }
    }

    /// How much of the volume on a device of this length a file system may take, from its start. Behind that are the
    /// metadata, over which nothing is written.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused): no volume can be there.
    pub fn room(&self, device_len: u64) -> Result<u64> {
        Ok(Places::on(device_len, self.sector_size.unwrap_or(512).into())?.tail)
    }

    /// How many bytes [`NewBitlk::make`] fills on such a device, and that it can.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused): no volume can be there.
    pub fn fills(&self, storage: &dyn Storage) -> Result<u64> {
        let places = self.places(storage)?;
        Ok(if self.quick { 0 } else { places.tail - MOVED_LEN })
    }

    /// Makes the volume over all that is on `storage`, which the caller has claimed. `meter` counts the bytes of the
    /// data area, and can stop their filling: no volume exists then.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused), before anything is written: Windows makes no such volume;
    /// [`Io`](crate::Error::Io).
    pub fn make(
        &self,
        storage: &dyn Storage,
        keys: NewKeys<'_>,
        (rng, options): (&mut dyn Random, &UnlockOptions),
        meter: &Meter,
    ) -> Result<()> {
        let places = self.places(storage)?;
        let metadata = self.metadata(&places, &keys.stretched(rng, options)?, rng)?;
        noise::short(storage, 0..MOVED_LEN, rng)?;
        noise::short(storage, places.tail..storage.len(), rng)?;
        flush(storage)?;
        wipe(storage)?;
        if !self.quick {
            noise::long(storage, MOVED_LEN..places.tail, rng, meter)?;
        }
        flush(storage)?;
        for place in places.copies {
            put_and_read(storage, &metadata, place.0)?;
        }
        let sector = places.boot_sector().to_bytes();
        // However much of the second write is cut off, there is no signature before all else.
        let mut without_start = sector;
        without_start[..START].fill(0);
        put(storage, &without_start, 0)?;
        put_and_read(storage, &sector, 0)
    }

    /// A copy of the metadata, in its area.
    fn metadata(&self, places: &Places, protectors: &[Stretched], rng: &mut dyn Random) -> Result<Vec<u8>> {
        let (cpu, encryption) = (Cpu::detect(), self.encryption()?);
        let (volume_key, mut master_key) = (new_volume_key(encryption, rng)?, Secret::zeroed(32));
        rng.fill(master_key.expose_mut())?;
        let mut nonces = fresh_nonces(FIRST_NONCE, rng)?;
        let new = NewMetadata {
            len: Bytes(places.end),
            copies: places.copies,
            boot_sectors: places.boot_sectors,
            sector_size: places.sector_size,
            guid: Guid::of_random(random_bytes(rng)?),
            created: now(),
            encryption,
            description: self.description.as_deref().unwrap_or(DESCRIPTION),
            volume_key: &volume_key,
        };
        let mut draft = new.draft(&master_key, &mut nonces, cpu).map_err(refused(Refusal::Unusable))?;
        for protector in protectors {
            draft.add(&protector.entry(&master_key, &mut nonces)?)?;
        }
        Ok(draft.sealed(&master_key, &mut nonces, cpu)?)
    }

    fn encryption(&self) -> Result<Encryption> {
        let method = match self.key_bits {
            None | Some(128) => 0x8004,
            Some(256) => 0x8005,
            Some(other) => {
                let why = format!("BitLocker's keys have 128 or 256 bits, not {other}");
                return Err(Refusal::Unusable.because(why));
            }
        };
        Ok(Encryption::of(method)?)
    }

    fn places(&self, storage: &dyn Storage) -> Result<Places> {
        self.check()?;
        check_flushes(storage)?;
        let topology = Topology::of(storage);
        if topology.zoned {
            return Err(shared::zoned("a volume"));
        }
        let sector_size = self.sector_size.unwrap_or(if topology.logical_size == 4096 { 4096 } else { 512 });
        if sector_size < topology.logical_size {
            return Err(Refusal::Unusable.because(format!(
                "the device has sectors of {} bytes, and those of its volume cannot be shorter",
                topology.logical_size
            )));
        }
        Places::on(storage.len(), sector_size.into())
    }
}

impl NewKeys<'_> {
    fn stretched(self, rng: &mut dyn Random, options: &UnlockOptions) -> Result<Vec<Stretched>> {
        let passphrase = self.passphrase.map(NewKey::Passphrase);
        let recovery = self.recovery.map(NewKey::Recovery);
        let keys: Vec<NewKey<'_>> = passphrase.into_iter().chain(recovery).collect();
        if keys.is_empty() {
            return Err(Refusal::Unusable.because("the volume needs a passphrase or a recovery password"));
        }
        keys.into_iter().map(|key| key.stretched(rng, options)).collect()
    }
}

/// Where what a volume keeps for itself is.
struct Places {
    /// The last byte that is encrypted is before it.
    end: u64,
    /// Where the data end.
    tail: u64,
    sector_size: Bytes,
    copies: [Bytes; 3],
    boot_sectors: BootSectors,
}

impl Places {
    fn on(device_len: u64, sector_size: u64) -> Result<Self> {
        let end = device_len - device_len % sector_size;
        if end < SMALLEST {
            return Err(Refusal::NoRoom.because(format!(
                "the device has {device_len} bytes, and a BitLocker volume needs {SMALLEST}"
            )));
        }
        let tail = (end - TAIL) / ALIGNMENT * ALIGNMENT;
        let copies = [0, 1, 2].map(|copy| Bytes(tail + copy * BETWEEN));
        let boot_sectors = BootSectors { offset: Bytes(tail + METADATA_LEN as u64), len: Bytes(MOVED_LEN) };
        Ok(Self { end, tail, sector_size: Bytes(sector_size), copies, boot_sectors })
    }

    fn boot_sector(&self) -> BootSector {
        BootSector {
            version: Version::Seven,
            scheme: Scheme::Normal,
            sector_size: self.sector_size,
            cluster_size: Bytes(ALIGNMENT),
            metadata: self.copies.map(Some),
            boot_copy: None,
        }
    }
}

/// A random key of XTS, whose halves differ.
fn new_volume_key(encryption: Encryption, rng: &mut dyn Random) -> Result<Secret> {
    let mut key = Secret::zeroed(encryption.key_bits() / 8);
    rng.fill(key.expose_mut())?;
    let (data, tweak) = key.expose().split_at(key.len() / 2);
    match data == tweak {
        true => Err(shared::equal_halves()),
        false => Ok(key),
    }
}

/// The length of what is moved, as Windows has it.
const MOVED_LEN: u64 = 8192;
/// What the volume keeps behind its data.
const TAIL: u64 = 1 << 20;
/// From one copy of the metadata to the next.
const BETWEEN: u64 = 384 << 10;
/// Where the data end, and the clusters that the boot sector tells of.
const ALIGNMENT: u64 = 4096;
const SMALLEST: u64 = 2 * TAIL;
/// The jump and the signature, by which a boot sector is known.
const START: usize = 11;
/// Windows' first one.
const FIRST_NONCE: u32 = 1;
const DESCRIPTION: &str = "Keyway";
