//! Larger encryption sectors: what the volume holds may have smaller blocks, which the kernel does not mount from them.

use super::Asked;
use crate::output::failure::{Exit, Failure, Result};
use keyway::parts::Luks;
use keyway::storage::Storage;
use keyway::{Device, Header, VolumeKey, devices};
use keyway_format::luks2::SegmentKind;
use std::path::Path;
use std::sync::Arc;

/// The name in blkid of what is there, and the size of its blocks.
type Found = (&'static str, u32);

impl Asked {
    /// The sector size that is asked for, where it is larger than the volume's.
    fn larger_sectors(&self, luks: &Luks) -> Option<u32> {
        let keyway::parts::Header::Luks2 { metadata, .. } = luks.header() else { return None };
        let old = metadata.segments.values().find_map(|segment| match segment.kind {
            SegmentKind::Crypt { sector_size, .. } => Some(sector_size),
            _ => None,
        });
        old.zip(self.new_sector_size).filter(|(old, new)| new > old).map(|(_, new)| new)
    }

    /// As cryptsetup, which does not look into a volume that is closed: no larger sectors, unless forced.
    pub(super) fn check_sectors_offline(&self, luks: &Luks) -> Result<()> {
        match self.is_cryptsetup && !self.offline && self.larger_sectors(luks).is_some() {
            true => Err(Failure::new(Exit::Parameters, SECTORS_GROW)),
            false => Ok(()),
        }
    }

    /// Refuses sectors that are larger than the blocks in the volume on `device`, whose key this is.
    pub(super) fn check_blocks(&self, device: &Device, header: &Header, key: &VolumeKey) -> Result<()> {
        // Forced, cryptsetup does not look.
        let looks = !(self.is_cryptsetup && self.offline);
        match self.larger_sectors(header.luks()).filter(|_| looks) {
            Some(new) => {
                self.refuse_smaller(device.smaller_blocks(header, key, new)?, &self.target.device, new)
            }
            None => Ok(()),
        }
    }

    /// The same of a volume that is mapped at `mapped`.
    pub(super) fn check_blocks_mapped(
        &self,
        luks: &Luks,
        mapping: &dyn Storage,
        mapped: &Path,
    ) -> Result<()> {
        match self.larger_sectors(luks) {
            Some(new) => self.refuse_smaller(devices::smaller_blocks(mapping, new), mapped, new),
            None => Ok(()),
        }
    }

    /// The same of plaintext that is to become a volume with such sectors.
    pub(super) fn check_blocks_of_plaintext(&self, data: Arc<dyn Storage>) -> Result<()> {
        let Some(new) = self.new_sector_size else { return Ok(()) };
        // Where data is to move, it is at the device's start now.
        let offset = if self.reduce.is_some() { 0 } else { self.offset };
        let found = Device::from_storage(data).smaller_blocks_of_plaintext(offset, new)?;
        self.refuse_smaller(found, &self.target.device, new)
    }

    fn refuse_smaller(&self, found: Option<Found>, place: &Path, new: u32) -> Result<()> {
        let place = place.display();
        let message = match found {
            None => return Ok(()),
            // cryptsetup asks for superblocks only.
            Some(("gpt", _)) if self.is_cryptsetup => return Ok(()),
            Some((name, block)) if self.is_cryptsetup => format!(
                "Requested --sector-size {new} is incompatible with {name} superblock\n(block size: {block} bytes) detected \
                 on device {place}."
            ),
            Some((name, block)) => format!(
                "{place} holds {name} with blocks of {block} bytes, which cannot be mounted from sectors of {new}: use \
                 --sector-size {block}, or omit it. Nothing was changed."
            ),
        };
        Err(Failure::new(Exit::Parameters, message))
    }
}

const SECTORS_GROW: &str = "Encryption sector size increase on offline device is not supported.\nActivate the device \
     first or use --force-offline-reencrypt option (dangerous!).";
