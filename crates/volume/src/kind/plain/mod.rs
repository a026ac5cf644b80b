//! Plain dm-crypt: no header; all that is known of the volume its user says.
//!
//! The rules are cryptsetup's (lib/setup.c `_crypt_format_plain`, lib/utils_device.c
//! `device_block_adjust`, lib/libdevmapper.c) and the kernel's (drivers/md/dm-crypt.c `crypt_ctr`);
//! the messages are cryptsetup's, where cryptsetup has one.

use super::{Found, Judged, Key, Kind, Known, Row, Subject, Takes, Way, WayCost};
use crate::device::probe;
use crate::error::{Finding, Rule, unaligned};
use crate::{Error, Layout, MappedSegment, Mapping, Refusal, Result, Storage, UnlockOptions};
use keyway_crypto::{CipherSpec, Secret, SectorSize};
use keyway_format::Sectors;
use keyway_format::plain::PassphraseHash;

/// Its row.
pub const ROW: Row = Row { name: "plain", title: "PLAIN" };

/// A plain volume as its user describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plain {
    /// Where the data is and how it is encrypted.
    pub volume: PlainVolume,
    /// The key's length in bytes.
    pub key_len: usize,
    /// How a passphrase becomes the key.
    pub hash: PassphraseHash,
    /// It may be written where the device's start holds something else that is known.
    pub overwrite: bool,
}

impl Kind for Plain {
    fn row(&self) -> &'static Row {
        &ROW
    }

    fn judge(&self, on: &Subject<'_>) -> Result<Box<dyn Judged>> {
        let spec = &self.volume.spec;
        let weakness = Rule::of_cipher(spec).or_else(|| Rule::of_key(spec, self.key_len));
        if let (false, Some(rule)) = (on.weak_ciphers, weakness) {
            return Err(Error::NotAdmitted(Finding { segment: 0, rule }));
        }
        let layout = self.volume.layout(on.device, on.data.len())?;
        if self.volume.offset.0 == 0 && !self.overwrite {
            check_start(on)?;
        }
        Ok(Box::new(JudgedPlain { layout, key_len: self.key_len, hash: self.hash }))
    }

    fn known(&self, _: &dyn Storage) -> Result<Known> {
        let cost = WayCost::Hash { name: self.hash.to_string(), digests: self.hash.digests(self.key_len) };
        let ways = vec![
            Way::new("passphrase", Takes::Passphrase, cost),
            Way::new("key file", Takes::KeyFile, WayCost::Nothing),
        ];
        Ok(Known { ways, ciphers: vec![self.volume.spec.to_string()] })
    }
}

/// Refuses to write where the device's start holds something else that is known.
pub(super) fn check_start(on: &Subject<'_>) -> Result<()> {
    if !on.writes {
        return Ok(());
    }
    let found = probe::probe(&**on.data);
    let found = found.map_err(|source| Error::Io { what: "reading the device's start".into(), source })?;
    match found.is_empty() {
        true => Ok(()),
        false => Err(Refusal::Exists.because(format!("There is something else on {} already.", on.device))),
    }
}

/// A plain volume that is within its device.
struct JudgedPlain {
    layout: Layout,
    key_len: usize,
    hash: PassphraseHash,
}

impl Judged for JudgedPlain {
    fn volume_key_len(&self) -> Option<usize> {
        Some(self.key_len)
    }

    fn key_file_len(&self) -> Option<usize> {
        Some(self.key_len)
    }

    /// A passphrase is hashed; a key file starts with the key itself.
    fn open(&self, key: Key<'_>, _: &UnlockOptions) -> Result<Found> {
        let volume_key = match key {
            Key::Passphrase(passphrase) => self.hash.key(passphrase, self.key_len)?,
            Key::File(key) | Key::Volume(key) if key.len() == self.key_len => Secret::copy_from(key.expose()),
            Key::File(_) | Key::Volume(_) => return Err(Error::WrongVolumeKey),
        };
        Ok(Found { layout: self.layout.clone(), volume_key })
    }
}

/// The parameters of a plain volume. Offsets and sizes are in 512-byte sectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainVolume {
    /// Cipher, mode and IV.
    pub spec: CipherSpec,
    /// Encryption sector size.
    pub sector_size: SectorSize,
    /// Whether IVs count encryption sectors instead of 512-byte units.
    pub iv_large_sectors: bool,
    /// Where the data starts on the device.
    pub offset: Sectors,
    /// IV of the first sector.
    pub skip: Sectors,
    /// How much of the device is mapped; `None`: all from the offset on.
    pub size: Option<Sectors>,
}

impl PlainVolume {
    /// All of a device, in sectors of 512 bytes.
    pub fn new(spec: CipherSpec) -> Self {
        let (offset, skip) = (Sectors(0), Sectors(0));
        Self { spec, sector_size: SectorSize::S512, iv_large_sectors: false, offset, skip, size: None }
    }

    /// The layout on a device of `device_len` bytes; messages call the device `device`.
    ///
    /// # Errors
    /// [`crate::Error::Refused`]: the device is too small, or offset, size and sector size do not
    /// fit together.
    pub fn layout(&self, device: &str, device_len: u64) -> Result<Layout> {
        self.spec.check_sector_size(self.sector_size)?;
        let units = self.sector_size.units();
        let device_sectors = device_len / Sectors::SIZE;
        if self.offset.0 >= device_sectors {
            return refuse(format!("Requested offset is beyond real size of device {device}."));
        }
        let room = device_sectors - self.offset.0;
        // This rule applies to the whole device, however much of it is mapped.
        if !room.is_multiple_of(units) {
            return Err(unaligned(room * Sectors::SIZE, units * Sectors::SIZE));
        }
        let size = self.size.filter(|size| size.0 > 0).map_or(room, |size| size.0);
        if size > room {
            return refuse(format!("Device {device} is too small."));
        }
        if !size.is_multiple_of(units) {
            return refuse("The device size is not multiple of the requested sector size.");
        }
        if !self.skip.0.is_multiple_of(units) {
            return refuse("The IV offset is not multiple of the requested sector size.");
        }
        let mapping = Mapping::Crypt {
            spec: self.spec.clone(),
            sector_size: self.sector_size,
            iv_tweak: self.skip.0,
            iv_large_sectors: self.iv_large_sectors,
        };
        let segment = MappedSegment {
            plaintext_start: 0,
            length: Some(size * Sectors::SIZE),
            storage_offset: self.offset.0 * Sectors::SIZE,
            mapping,
            second_key: false,
        };
        Ok(Layout::new(vec![segment]))
    }
}

fn refuse<T>(why: impl Into<String>) -> Result<T> {
    Err(Refusal::Geometry.because(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume() -> PlainVolume {
        PlainVolume {
            spec: CipherSpec::parse("aes-xts-plain64").unwrap(),
            sector_size: SectorSize::S4096,
            iv_large_sectors: false,
            offset: Sectors(3),
            skip: Sectors(16),
            size: None,
        }
    }

    fn refusal(volume: &PlainVolume, device_len: u64) -> String {
        volume.layout("disk", device_len).unwrap_err().to_string()
    }

    #[test]
    fn the_rest_of_the_device_or_what_was_asked_for() {
        let found = volume().layout("disk", 512 * 19 + 511).unwrap().segments;
        assert_eq!((found[0].storage_offset, found[0].length), (1536, Some(8192)));
        let smaller = PlainVolume { size: Some(Sectors(8)), ..volume() };
        assert_eq!(smaller.layout("disk", 512 * 19).unwrap().segments[0].length, Some(4096));
        let zero = PlainVolume { size: Some(Sectors(0)), ..volume() };
        assert_eq!(zero.layout("disk", 512 * 19).unwrap().segments, found);
    }

    #[test]
    fn what_does_not_fit_is_refused_in_cryptsetups_words() {
        assert_eq!(refusal(&volume(), 1536), "Requested offset is beyond real size of device disk.");
        assert_eq!(
            refusal(&volume(), 512 * 20),
            "Device size is not aligned to requested sector size: 8704 bytes of data are not a multiple of \
             4096; 8192 are, and \
             --sector-size 512 fits."
        );
        let larger = PlainVolume { size: Some(Sectors(17)), ..volume() };
        assert_eq!(refusal(&larger, 512 * 19), "Device disk is too small.");
        let odd = PlainVolume { size: Some(Sectors(9)), ..volume() };
        let why = "The device size is not multiple of the requested sector size.";
        assert_eq!(refusal(&odd, 512 * 19), why);
        let skewed = PlainVolume { skip: Sectors(1), ..volume() };
        assert_eq!(refusal(&skewed, 512 * 19), "The IV offset is not multiple of the requested sector size.");
        let far = PlainVolume { offset: Sectors(u64::MAX), ..volume() };
        assert_eq!(refusal(&far, 512 * 19), "Requested offset is beyond real size of device disk.");
    }
}
