//! A volume as a mapping's table: one target per segment, and the key where cryptsetup would put
//! it.

use super::crypt::{Features, Key, Line, Options};
use super::keyring::{self, VolumeKey};
use super::{DeviceNumber, Target};
use crate::{Refusal, Result};
use keyway_crypto::Secret;
use keyway_volume::{Layout, MappedSegment, Mapping};

/// A volume key ready for table lines. A key in the keyring stays there until this is dropped; by
/// then dm-crypt has its own copy.
pub enum KeyPlace<'a> {
    /// `cipher_null` has no key.
    Absent,
    /// In the table line.
    Line(&'a Secret),
    /// In this thread's keyring.
    Keyring(VolumeKey),
}

impl<'a> KeyPlace<'a> {
    /// Decides where cryptsetup would put the key. The key of a LUKS2 volume (for which its UUID
    /// and digest are given) goes into the keyring, if the kernel's dm-crypt can take it from there
    /// and this is `allowed` (no `--disable-keyring`).
    ///
    /// # Errors
    /// Those of [`VolumeKey::add`].
    pub fn find(
        allowed: bool,
        key: &'a Secret,
        luks2: Option<(&str, u32)>,
        features: &Features,
    ) -> Result<Self> {
        if key.is_empty() {
            return Ok(Self::Absent);
        }
        let may = allowed && features.keyring && keyring::is_available();
        match luks2 {
            Some((uuid, digest)) if may => VolumeKey::add(uuid, digest, key).map(Self::Keyring),
            _ => Ok(Self::Line(key)),
        }
    }

    /// The key as it appears in a table line or message.
    pub fn key(&self) -> Key {
        match self {
            Self::Absent => Key::Absent,
            Self::Line(key) => Key::Bytes(Secret::copy_from(key.expose())),
            Self::Keyring(held) => Key::InKeyring(held.reference.clone()),
        }
    }
}

/// What all segments have in common.
#[derive(Debug, Clone)]
pub struct Below {
    /// The encrypted device.
    pub device: DeviceNumber,
    /// The device's length in bytes.
    pub len: u64,
    /// dm-crypt's options; those that a segment needs are added.
    pub options: Options,
}

/// Builds the table, one target per segment.
///
/// # Errors
/// [`Refusal::NoRoom`] if the device ends before the first sector; [`Refusal::Table`] for what the kernel has no target
/// for.
pub fn table(layout: &Layout, places: Places<'_>, below: &Below) -> Result<Vec<Target>> {
    if layout.protected.is_some() {
        let why = "The kernel does not protect a hidden volume from being overwritten: --backend nbd, fuse or \
            ublk does.";
        return Err(Refusal::Table.because(why));
    }
    layout.segments.iter().map(|segment| target(segment, places.of(segment)?, below)).collect()
}

/// The keys of a table's lines.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    /// The volume key.
    pub first: &'a KeyPlace<'a>,
    /// The one that replaces it, for the segments that have it already.
    pub second: Option<&'a KeyPlace<'a>>,
}

impl<'a> Places<'a> {
    fn of(self, segment: &MappedSegment) -> Result<&'a KeyPlace<'a>> {
        match segment.second_key {
            false => Ok(self.first),
            true => self.second.ok_or_else(|| Refusal::Key.because("A segment's volume key is missing.")),
        }
    }
}

impl<'a> From<&'a KeyPlace<'a>> for Places<'a> {
    fn from(first: &'a KeyPlace<'a>) -> Self {
        Self { first, second: None }
    }
}

fn target(segment: &MappedSegment, place: &KeyPlace<'_>, below: &Below) -> Result<Target> {
    let left = below.len.saturating_sub(segment.storage_offset);
    let (start, offset) = (segment.plaintext_start / SECTOR, segment.storage_offset / SECTOR);
    match &segment.mapping {
        Mapping::Linear => {
            let length = segment.length.unwrap_or(left) / SECTOR;
            Ok(Target::linear(start, length, below.device, offset))
        }
        Mapping::Zero => {
            let length = segment.length.unwrap_or(left) / SECTOR;
            Ok(Target::zero(start, length))
        }
        // (Scripts look for cryptsetup's words "TCRYPT legacy mode".)
        Mapping::Chain { ciphers, mode, .. } => Err(Refusal::Table.because(format!(
            "The kernel has no target for this TCRYPT legacy mode, {ciphers}-{mode}: --backend nbd, fuse or ublk opens it."
        ))),
        Mapping::Bytes(_) => Err(Refusal::Table.because(
            "A BitLocker volume of Windows Vista begins with a sector that no table can describe: --backend nbd, fuse or ublk \
             opens it.",
        )),
        Mapping::Crypt { spec, sector_size, iv_tweak, iv_large_sectors } => {
            let bytes = sector_size.bytes() as u64;
            // As everywhere, an incomplete sector at the end is not part of the volume.
            let length = segment.length.unwrap_or(left) / bytes * bytes / SECTOR;
            if length == 0 {
                return Err(Refusal::NoRoom.because("There is no remaining space for data."));
            }
            let line = Line {
                cipher: spec.to_string(),
                // The kernel's cipher_null takes none, also where the volume has one for other segments.
                key: if spec.is_null() { Key::Absent } else { place.key() },
                iv_offset: *iv_tweak,
                device: below.device,
                offset,
                options: Options {
                    sector_size: (bytes > SECTOR).then_some(bytes as u32),
                    iv_large_sectors: *iv_large_sectors,
                    ..below.options.clone()
                },
            };
            Ok(Target::crypt(start, length, &line))
        }
    }
}

/// The largest encryption sector among the segments, in bytes, used as the block size of a loop
/// device below.
pub fn sector_size(segments: &[MappedSegment]) -> u32 {
    let sizes = segments.iter().map(|segment| segment.mapping.unit() as u32);
    sizes.max().unwrap_or(SECTOR as u32)
}

/// Whether no segment needs a key.
pub fn encrypts_nothing(segments: &[MappedSegment]) -> bool {
    segments.iter().all(|segment| match &segment.mapping {
        Mapping::Linear | Mapping::Zero | Mapping::Bytes(_) => true,
        Mapping::Crypt { spec, .. } => spec.is_null(),
        Mapping::Chain { .. } => false,
    })
}

/// The unit of lengths and offsets in tables, in bytes.
pub(super) const SECTOR: u64 = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_crypto::{CipherSpec, SectorSize};

    fn segment(mapping: Mapping) -> MappedSegment {
        MappedSegment {
            plaintext_start: 0,
            length: None,
            storage_offset: 16 << 20,
            mapping,
            second_key: false,
        }
    }

    fn crypt(cipher: &str) -> MappedSegment {
        segment(Mapping::Crypt {
            spec: CipherSpec::parse(cipher).unwrap(),
            sector_size: SectorSize::new(4096).unwrap(),
            iv_tweak: 0,
            iv_large_sectors: false,
        })
    }

    fn below(len: u64) -> Below {
        Below { device: DeviceNumber { major: 7, minor: 1 }, len, options: Options::default() }
    }

    #[test]
    fn a_volume_ends_with_its_last_whole_sector() {
        let (key, segments) = (Secret::copy_from(&[1; 64]), vec![crypt("aes-xts-plain64")]);
        let layout = Layout::new(segments.clone());
        let made = table(&layout, (&KeyPlace::Line(&key)).into(), &below((17 << 20) + 4095)).unwrap();
        let line = made[0].as_crypt().unwrap();
        assert_eq!((made[0].start, made[0].length, line.offset), (0, 2048, 32768));
        assert_eq!((line.options.sector_size, sector_size(&segments)), (Some(4096), 4096));
        assert!(table(&layout, (&KeyPlace::Line(&key)).into(), &below((16 << 20) + 4095)).is_err());
        let protected = Layout { protected: Some(512..1024), ..layout };
        let refused = table(&protected, (&KeyPlace::Line(&key)).into(), &below(17 << 20)).err().unwrap();
        assert!(
            refused.to_string().contains("does not protect a hidden volume from being overwritten"),
            "{refused}"
        );
    }

    /// Nothing of it is mapped before the table is whole.
    #[test]
    fn a_volume_of_windows_vista_has_no_table() {
        let boot_sector = MappedSegment {
            length: Some(SECTOR),
            storage_offset: 0,
            ..segment(Mapping::Bytes([0; 512].into()))
        };
        let layout = Layout::new(vec![boot_sector.clone()]);
        let refused = table(&layout, (&KeyPlace::Absent).into(), &below(17 << 20)).err().unwrap();
        assert_eq!(
            refused.to_string(),
            "A BitLocker volume of Windows Vista begins with a sector that no table can describe: --backend nbd, fuse or ublk opens it."
        );
        assert!(encrypts_nothing(&layout.segments));
        assert!(!encrypts_nothing(&[boot_sector, crypt("aes-xts-plain64")]));
    }

    #[test]
    fn what_encrypts_nothing_needs_no_key() {
        let linear = segment(Mapping::Linear);
        assert!(encrypts_nothing(&[linear.clone(), crypt("cipher_null-ecb")]));
        assert!(!encrypts_nothing(&[linear.clone(), crypt("aes-xts-plain64")]));
        let made = table(&Layout::new(vec![linear]), (&KeyPlace::Absent).into(), &below(17 << 20)).unwrap();
        assert_eq!((made[0].kind.as_str(), made[0].length), ("linear", 2048));
        let key = Secret::copy_from(&[1; 64]);
        let layout = Layout::new(vec![crypt("cipher_null-ecb"), crypt("aes-xts-plain64")]);
        let made = table(&layout, (&KeyPlace::Line(&key)).into(), &below(17 << 20)).unwrap();
        let keys = made.iter().map(|target| target.as_crypt().unwrap().key);
        assert!(
            matches!(&keys.collect::<Vec<_>>()[..], [Key::Absent, Key::Bytes(own)] if own.ct_eq(key.expose()))
        );
        let (empty, features) = (Secret::zeroed(0), Features::of(None));
        assert!(matches!(KeyPlace::find(true, &empty, None, &features), Ok(KeyPlace::Absent)));
    }
}
