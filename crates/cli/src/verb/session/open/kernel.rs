//! The kernel's door: a dm-crypt mapping as cryptsetup makes it, to the byte.

use super::flags::PersistentFlags;
use crate::device::{self, explain};
use crate::mapping::{self, KeyPlace};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::{output, sentence};
use crate::volume::{Data, Format, Opening, Unlocked};
use keyway_attach::dm::crypt::{Features, Line, Options};
use keyway_attach::dm::keyring::{Key, Link};
use keyway_attach::dm::{self, Mapper, Target};
use keyway_volume::{InUse, MappedSegment, Mapping, in_use};

/// A volume to be mapped.
pub(super) struct KernelDoor {
    pub(super) name: String,
    pub(super) opening: Opening,
    pub(super) flags: PersistentFlags,
    pub(super) read_only: bool,
    /// The key may go through the kernel's keyring.
    pub(super) keyring: bool,
    /// `--link-vk-to-keyring`.
    pub(super) link: Option<String>,
}

impl KernelDoor {
    /// Maps it.
    pub(super) fn open(&self) -> Result<()> {
        if self.opening.direct {
            let message = "--direct-io is for doors of Keyway's own (--backend nbd, fuse or ublk): dm-crypt has no page cache below it.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        let device = &self.opening.target.device;
        if device::is_url(device) {
            let message = format!(
                "The kernel maps block devices and files, not {}: use --backend nbd, fuse or ublk.",
                device.display()
            );
            return Err(Failure::new(Exit::Parameters, message));
        }
        let mapper = mapping::mapper()?;
        super::refuse_taken(&self.name)?;
        if !self.opening.sharing.allowed {
            device::refuse_if_mapped(device)?;
        }
        let read_only = self.read_only || mapping::is_read_only(device);
        let unlocked = self.opening.unlock(if read_only { Data::Read } else { Data::Write })?;
        self.map(&mapper, &unlocked, read_only)?;
        self.debug(&format!("{} is mapped by the kernel.", mapping::place(&self.name).display()))?;
        self.flags.keep(&self.opening.target, &unlocked);
        Ok(())
    }

    fn map(&self, mapper: &Mapper, unlocked: &Unlocked, read_only: bool) -> Result<()> {
        let features = mapping::features(mapper)?;
        // Held until the kernel has claimed what it maps: of two who open it at once one is refused.
        let _mark = self.leave_to_the_kernel(unlocked)?;
        let sector_size = sector_size(&unlocked.layout.segments);
        let attached = mapping::Data::attach(&*unlocked.storage, &unlocked.device, read_only, sector_size)?;
        let place = self.place_key(unlocked, &features)?;
        let mut options = self.flags.of(&unlocked.format);
        for flag in mapping::drop_unknown(&mut options, &features) {
            self.debug(&format!("This kernel's dm-crypt has no --{flag}: left out."))?;
        }
        let below = Below { device: attached.number, len: unlocked.storage.len(), options };
        let table = table(&unlocked.layout.segments, &place, &below)?;
        let link = self.link.as_deref().map(|text| link_key(text, unlocked)).transpose()?;
        let flags = dm::Flags { read_only: attached.read_only, ..dm::Flags::default() };
        let created = mapper.create(&self.name, &uuid(&unlocked.format, &self.name), &table, flags);
        if let (Err(_), Some((key, link))) = (&created, link) {
            let _ = key.unlink(link.keyring);
        }
        created.map(drop).map_err(|e| sentence::door(&e))
    }

    /// Marks the volume as in use, but for the claim that dm-crypt makes itself.
    fn leave_to_the_kernel(&self, unlocked: &Unlocked) -> Result<Option<InUse>> {
        if self.opening.sharing.allowed {
            return Ok(None);
        }
        let mark = InUse::acquire(&*unlocked.storage, in_use::Access::Write, false);
        let mut mark = mark.map_err(|e| explain::on_device(&unlocked.device, &e))?;
        device::refuse_if_attached(&unlocked.device)?;
        mark.leave_to_the_kernel();
        Ok(Some(mark))
    }

    /// Where cryptsetup would put the key.
    fn place_key<'a>(&self, unlocked: &'a Unlocked, features: &Features) -> Result<KeyPlace<'a>> {
        let encrypts_nothing = unlocked.layout.segments.iter().all(|segment| match &segment.mapping {
            Mapping::Linear => true,
            Mapping::Crypt { spec, .. } => spec.to_string().starts_with("cipher_null"),
        });
        if encrypts_nothing {
            return Ok(KeyPlace::Absent);
        }
        mapping::place_key(self.keyring, &unlocked.volume_key, luks2(&unlocked.format), features)
    }

    fn debug(&self, line: &str) -> Result<()> {
        output::debug(self.opening.target.manner, line)
    }
}

/// UUID and digest of a LUKS2 volume's key.
fn luks2(format: &Format) -> Option<(&str, u32)> {
    match format {
        Format::Luks { luks, digest, .. } if luks.version() == 2 => Some((luks.uuid(), *digest)),
        _ => None,
    }
}

/// What all segments share.
struct Below {
    device: dm::DeviceNumber,
    /// Bytes of the device.
    len: u64,
    options: Options,
}

/// A target a segment.
fn table(segments: &[MappedSegment], place: &KeyPlace<'_>, below: &Below) -> Result<Vec<Target>> {
    segments.iter().map(|segment| target(segment, place, below)).collect()
}

fn target(segment: &MappedSegment, place: &KeyPlace<'_>, below: &Below) -> Result<Target> {
    let left = below.len.saturating_sub(segment.storage_offset);
    let (start, offset) = (segment.plaintext_start / SECTOR, segment.storage_offset / SECTOR);
    match &segment.mapping {
        Mapping::Linear => {
            let length = segment.length.unwrap_or(left) / SECTOR;
            Ok(Target::linear(start, length, below.device, offset))
        }
        Mapping::Crypt { spec, sector_size, iv_tweak, iv_large_sectors } => {
            let bytes = sector_size.bytes() as u64;
            // As everywhere, what does not fill a sector at the end is no part of the volume.
            let length = segment.length.unwrap_or(left) / bytes * bytes / SECTOR;
            if length == 0 {
                return Err(Failure::new(Exit::Parameters, "There is no remaining space for data."));
            }
            let line = Line {
                cipher: spec.to_string(),
                key: place.key(),
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

fn sector_size(segments: &[MappedSegment]) -> u32 {
    let sizes = segments.iter().filter_map(|segment| match &segment.mapping {
        Mapping::Linear => None,
        Mapping::Crypt { sector_size, .. } => Some(sector_size.bytes() as u32),
    });
    sizes.max().unwrap_or(SECTOR as u32)
}

fn uuid(format: &Format, name: &str) -> String {
    match format {
        Format::Plain { .. } => dm::uuid::of_mapping("PLAIN", None, name),
        Format::Luks { luks, .. } => {
            dm::uuid::of_mapping(&format!("LUKS{}", luks.version()), Some(luks.uuid()), name)
        }
    }
}

/// `--link-vk-to-keyring`: the key stays in a keyring of the user's choice.
fn link_key(text: &str, unlocked: &Unlocked) -> Result<(Key, Link)> {
    if luks2(&unlocked.format).is_none() {
        let message = "--link-vk-to-keyring is for LUKS2 volumes.";
        return Err(Failure::new(Exit::Parameters, message));
    }
    let link: Link = text.parse().map_err(|_| {
        let message = format!("--link-vk-to-keyring {text}: KEYRING::KEY is needed, such as @u::%user:home.");
        Failure::new(Exit::Parameters, message)
    })?;
    let key = Key::add(link.kind, &link.description, &unlocked.volume_key, link.keyring);
    Ok((key.map_err(|e| sentence::door(&e))?, link))
}

/// Lengths and offsets in tables count these bytes.
const SECTOR: u64 = keyway_format::Sectors::SIZE;
