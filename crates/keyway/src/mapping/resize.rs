//! A mapping in use grows or shrinks.

use super::change::features;
use super::{MapOptions, Mapping, Reopened, Unchanged, WatchMapping, device};
use crate::Result;
use crate::error::At;
use keyway_attach::dm::crypt::{Key, Line};
use keyway_attach::dm::volume::KeyPlace;
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
        let (_, line) = self.resizable_now()?.line(false)?;
        Ok(matches!(line.key, Key::InKeyring(_)))
    }

    /// It as it is now, if it can be resized.
    fn resizable_now(&self) -> Result<Self> {
        let kind = self.kind().unwrap_or_default();
        if !Self::can_resize(kind) {
            return Err(self.stays(Unchanged::Kind(kind.to_owned())));
        }
        let now = self.now()?;
        now.check_not_suspended()?;
        Ok(now)
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

    /// Gives it another length in bytes, which counts in whole sectors of 512; without one (or with 0), all of the
    /// device below. A loop device gets the length of its file first. What is on the volume and its header are left
    /// alone. If `volume` is given, its key is the one that the mapping has from then on.
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
    /// [`Unchanged::NoHeader`], [`Unchanged::OtherHeader`] where that is another mapping's; [`Unchanged`]'s about
    /// lengths; the kernel's, as [`Unchanged::Failed`]; those of `watch`.
    pub fn resize(
        &self,
        len: Option<u64>,
        volume: Option<&Reopened>,
        watch: &mut dyn WatchMapping,
    ) -> Result<()> {
        let now = self.resizable_now()?;
        let (target, mut line) = now.line(true)?;
        if matches!(line.key, Key::InKeyring(_)) && volume.is_none() {
            return Err(self.stays(Unchanged::NoHeader));
        }
        let held = volume.map(|volume| now.renew_key(&mut line, volume)).transpose()?;
        now.check_not_wiped(&line)?;
        if loopback::backing_file(line.device).is_some()
            && let Err(error) = loopback::update_size(line.device)
        {
            watch.loop_device_stays(&error.into())?;
        }
        let length = self.new_length(len, &line)?;
        if length != target.length {
            now.replace(&Target::crypt(target.start, length, &line), now.is_read_only())?;
        }
        drop(held);
        Ok(())
    }

    /// Puts the volume's key where the line has its own: into the keyring, or into the line.
    fn renew_key<'a>(&self, line: &mut Line, volume: &'a Reopened) -> Result<KeyPlace<'a>> {
        let how = match line.key {
            Key::InKeyring(_) => MapOptions::new(),
            _ => MapOptions::new().without_keyring(),
        };
        let features = Mapper::open().and_then(|mapper| features(&mapper)).at(&self.name())?;
        self.give_key(line, volume, &how, &features)
    }

    /// The new length in sectors.
    fn new_length(&self, len: Option<u64>, line: &Line) -> Result<u64> {
        let sector_size = u64::from(line.options.sector_size.unwrap_or(512));
        let all = sysfs_number(line.device, "size").unwrap_or(0);
        let Some(room) = all.checked_sub(line.offset).filter(|room| *room > 0) else {
            return Err(self.stays(Unchanged::Beyond { device: node(line.device)? }));
        };
        match fitting(len, room, sector_size, block_size(line.device)) {
            Ok(size) => Ok(size),
            Err(Some(why)) => Err(self.stays(why)),
            Err(None) => Err(self.stays(Unchanged::TooSmall { device: node(line.device)? })),
        }
    }
}

/// The length in sectors for one in bytes, where there is room for so many sectors. An error says why not; `None`: the
/// device is too small.
fn fitting(len: Option<u64>, room: u64, sector_size: u64, block_size: u64) -> Result<u64, Option<Unchanged>> {
    let Some(len) = len.filter(|len| *len > 0) else {
        let sector = sector_size / SECTOR;
        return Ok(room / sector * sector);
    };
    // What is more than whole sectors of 512 bytes does not count, but less than one is no length.
    let size = len / SECTOR;
    match size * SECTOR {
        0 => Err(Some(Unchanged::Unaligned { len, sector_size })),
        _ if size > room => Err(None),
        whole if whole % sector_size != 0 => Err(Some(Unchanged::Unaligned { len: whole, sector_size })),
        whole if whole % block_size != 0 => Err(Some(Unchanged::UnalignedBlocks)),
        _ => Ok(size),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_no_length_and_0_mean_all_of_the_device() {
        let of = |len: u64| fitting(Some(len), 1001, 4096, 512);
        for all in [fitting(None, 1001, 4096, 512), of(0)] {
            assert_eq!(all.unwrap(), 1000);
        }
        for len in [1, 511] {
            let refused = of(len).unwrap_err();
            assert!(
                matches!(refused, Some(Unchanged::Unaligned { len: said, sector_size: 4096 }) if said == len)
            );
        }
        for (len, sectors) in [(4096, 8), (4096 + 511, 8), (1000 * 512, 1000)] {
            assert_eq!(of(len).unwrap(), sectors);
        }
        assert!(matches!(of(4096 + 512), Err(Some(Unchanged::Unaligned { len: 4608, sector_size: 4096 }))));
        assert!(matches!(of(1002 * 512), Err(None)));
        assert!(matches!(fitting(Some(512), 1001, 512, 4096), Err(Some(Unchanged::UnalignedBlocks))));
        assert_eq!(fitting(Some(1001 * 512), 1001, 512, 512).unwrap(), 1001);
    }
}
