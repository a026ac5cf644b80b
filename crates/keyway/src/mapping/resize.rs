//! A mapping in use grows or shrinks.

use super::{Mapping, Reopened, Unchanged, WatchMapping, device};
use crate::Result;
use crate::error::At;
use keyway_attach::dm::crypt::{Key, Line};
use keyway_attach::dm::{DeviceNumber, Mapper, Target, loopback};
use std::fs;
use std::path::PathBuf;

impl Mapping {
    /// Whether [`Mapping::resize`] needs the volume unlocked again: the kernel had its key from a keyring, where it
    /// is no more.
    ///
    /// # Errors
    /// [`Unchanged::Suspended`], [`Unchanged::Kind`], [`Unchanged::Table`]: it cannot be resized.
    pub fn resize_needs_key(&self) -> Result<bool> {
        let kind = self.kind().unwrap_or_default();
        if !Self::can_resize(kind) {
            return Err(self.stays(Unchanged::Kind(kind.to_owned())));
        }
        self.check_not_suspended()?;
        self.line(false).map(|(_, line)| matches!(line.key, Key::InKeyring(_)))
    }

    /// Whether open volumes of this kind can have another length. That of other kinds is their header's: behind it lie
    /// a backup header, an outer volume's data, metadata.
    ///
    /// ```
    /// assert!(keyway::Mapping::can_resize("LUKS2") && !keyway::Mapping::can_resize("TCRYPT"));
    /// ```
    pub fn can_resize(kind: &str) -> bool {
        ["", "LUKS1", "LUKS2", "PLAIN", "LOOPAES"].contains(&kind)
    }

    /// Gives it another length in bytes, which counts in whole sectors of 512; without one (or with 0), all of the device below. A
    /// loop device gets the length of its file first. What is on the volume and its header are left alone.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// struct Silent;
    ///
    /// impl WatchMapping for Silent {}
    ///
    /// let mapping = Mapping::find("swap")?;
    /// if !mapping.resize_needs_key()? {
    ///     mapping.resize(Some(1 << 30), None, &mut Silent)?;
    /// }
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Mapping::resize_needs_key`]; [`Unchanged::NoHeader`] where it does, and `volume` is `None`;
    /// [`Unchanged`]'s about lengths; the kernel's, as [`Unchanged::Failed`]; those of `watch`.
    pub fn resize(
        &self,
        len: Option<u64>,
        volume: Option<&Reopened>,
        watch: &mut dyn WatchMapping,
    ) -> Result<()> {
        let held = match (self.resize_needs_key()?, volume) {
            (false, _) => None,
            (true, Some(volume)) => Some(volume.hold_key().at(&self.name())?),
            (true, None) => return Err(self.stays(Unchanged::NoHeader)),
        };
        let (target, line) = self.line(true)?;
        if loopback::backing_file(line.device).is_some()
            && let Err(error) = loopback::update_size(line.device)
        {
            watch.loop_device_stays(&error.into())?;
        }
        let length = self.new_length(len, &line)?;
        if length != target.length {
            self.replace(&Target::crypt(target.start, length, &line), self.is_read_only())?;
        }
        drop(held);
        Ok(())
    }

    /// The new length in sectors.
    fn new_length(&self, len: Option<u64>, line: &Line) -> Result<u64> {
        let sector_size = u64::from(line.options.sector_size.unwrap_or(512));
        let (all, sector) = (sysfs_number(line.device, "size").unwrap_or(0), sector_size / SECTOR);
        let Some(room) = all.checked_sub(line.offset).filter(|room| *room > 0) else {
            return Err(self.stays(Unchanged::Beyond { device: node(line.device)? }));
        };
        let why = match len.map(|len| len / SECTOR).filter(|size| *size > 0) {
            None => return Ok(room / sector * sector),
            Some(size) if size > room => Unchanged::TooSmall { device: node(line.device)? },
            Some(size) if size % sector != 0 => Unchanged::Unaligned { len: size * SECTOR, sector_size },
            Some(size) if size % (block_size(line.device) / SECTOR) != 0 => Unchanged::UnalignedBlocks,
            Some(size) => return Ok(size),
        };
        Err(self.stays(why))
    }
}

fn node(number: DeviceNumber) -> Result<PathBuf> {
    Ok(device::node_of(&Mapper::open()?, number).unwrap_or_default())
}

/// The device's logical block size in bytes; for a partition, that of its disk.
fn block_size(device: DeviceNumber) -> u64 {
    let own = sysfs_number(device, "queue/logical_block_size");
    own.or_else(|| sysfs_number(device, "../queue/logical_block_size")).unwrap_or(SECTOR).max(SECTOR)
}

fn sysfs_number(device: DeviceNumber, file: &str) -> Option<u64> {
    fs::read_to_string(format!("/sys/dev/block/{device}/{file}")).ok()?.trim().parse().ok()
}

/// The unit of lengths in tables and in sysfs, in bytes.
const SECTOR: u64 = keyway_format::Sectors::SIZE;
