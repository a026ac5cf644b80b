//! Whether two names, or two open files, are the same device.

use crate::device::location::url;
use crate::process::encoding::encoded;
use keyway::devices;
use keyway::storage::{Extent, File, LockTarget, PartitionName, Storage, image_of};
use rustix::fd::AsFd;
use rustix::fs::fstat;
use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Whether both name the same file, the same block device (under any node), the same partition of
/// either, a file and its loop device, or the same URL.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    if url(one).is_some() {
        return one == other;
    }
    Identity::at(one).is_some_and(|one| Identity::at(other).is_some_and(|other| one.is(other)))
}

/// A regular file by device and inode, or a block device by its number, whatever its name; a loop
/// device is the file behind it. And which of its bytes are meant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Identity {
    is_block: bool,
    device: u64,
    inode: u64,
    /// From this byte on.
    start: u64,
    /// Up to this byte; `u64::MAX` for the end.
    end: u64,
}

encoded!(Identity { is_block, device, inode, start, end });

impl Identity {
    /// Of what is at `path`, links followed.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let whole = Self::of(&std::fs::metadata(image_of(path)).ok()?)?;
        if PartitionName::of(path).is_none() {
            return Some(whole);
        }
        Some(whole.within(File::open(path).ok()?.part()))
    }

    /// Of storage that is open; none of an export or an object.
    pub(super) fn of_storage(storage: &dyn Storage) -> Option<Self> {
        let target = storage.lock_target()?;
        Some(Self::of_open(target.fd())?.within(target.part()))
    }

    /// Of an open file.
    pub(super) fn of_open(file: impl AsFd) -> Option<Self> {
        let copy = file.as_fd().try_clone_to_owned().ok()?;
        Self::of(&std::fs::File::from(copy).metadata().ok()?)
    }

    pub(super) fn is_block(self) -> bool {
        self.is_block
    }

    fn is(self, other: Self) -> bool {
        self.is_of(other) && self.start == other.start
    }

    /// Whether both have some bytes in common.
    pub(super) fn overlaps(self, other: Self) -> bool {
        self.is_of(other) && self.start < other.end && other.start < self.end
    }

    /// Whether both are of the same file or device.
    fn is_of(self, other: Self) -> bool {
        (self.is_block, self.device, self.inode) == (other.is_block, other.device, other.inode)
    }

    /// A part of it.
    fn within(self, part: Option<Extent>) -> Self {
        let Some(part) = part else { return self };
        let place = |at: u64| self.start.saturating_add(at).min(self.end);
        Self { start: place(part.start), end: place(part.range().end), ..self }
    }

    fn of(found: &Metadata) -> Option<Self> {
        let is_block = |found: &Metadata| found.file_type().is_block_device();
        let behind = devices::image_behind(found);
        let behind = behind.and_then(|(file, part)| Some((std::fs::metadata(file).ok()?, part)));
        let part = behind.as_ref().and_then(|(_, part)| *part);
        let found = behind.as_ref().map_or(found, |(file, _)| file);
        let (device, inode) = match found.is_file() {
            true => (found.dev(), found.ino()),
            false if is_block(found) => (found.rdev(), 0),
            false => return None,
        };
        Some(Self { is_block: !found.is_file(), device, inode, start: 0, end: u64::MAX }.within(part))
    }
}

/// Whether both are open files or block devices, but not the same one, or not the same part of it.
pub(crate) fn is_exchanged(one: &dyn Storage, other: &dyn Storage) -> bool {
    let identity = |storage: &dyn Storage| {
        let target = storage.lock_target()?;
        let object = match target {
            LockTarget::BlockDevice { major, minor, .. } => (true, u64::from(major), u64::from(minor)),
            LockTarget::File { fd, .. } => {
                let found = fstat(fd).ok()?;
                (false, found.st_dev, found.st_ino)
            }
        };
        Some((object, target.part()))
    };
    identity(one).is_some_and(|one| identity(other).is_some_and(|other| one != other))
}
