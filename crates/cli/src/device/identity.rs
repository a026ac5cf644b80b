//! Whether two names, or two open files, are the same device.

use crate::device::location::url;
use crate::process::handed::handed;
use keyway_attach::dm::{DeviceNumber, loopback};
use keyway_volume::Storage;
use keyway_volume::storage::LockTarget;
use rustix::fd::AsFd;
use rustix::fs::fstat;
use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Whether both name the same file, the same block device (under any node), a file and its loop
/// device, or the same URL.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    if url(one).is_some() {
        return one == other;
    }
    Identity::at(one).is_some_and(|one| Some(one) == Identity::at(other))
}

/// A regular file by device and inode, or a block device by its number, whatever its name; a loop
/// device is the file behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    is_block: bool,
    device: u64,
    inode: u64,
}

handed!(Identity { is_block, device, inode });

impl Identity {
    /// Of what is at `path`, links followed.
    pub(super) fn at(path: &Path) -> Option<Self> {
        Self::of(&std::fs::metadata(path).ok()?)
    }

    /// Of an open file.
    pub(super) fn of_open(file: impl AsFd) -> Option<Self> {
        let copy = file.as_fd().try_clone_to_owned().ok()?;
        Self::of(&std::fs::File::from(copy).metadata().ok()?)
    }

    pub(super) fn is_block(self) -> bool {
        self.is_block
    }

    fn of(found: &Metadata) -> Option<Self> {
        let is_block = |found: &Metadata| found.file_type().is_block_device();
        let behind = loopback::backing_file(DeviceNumber::from_dev(found.rdev())).filter(|_| is_block(found));
        let behind = behind.and_then(|file| std::fs::metadata(file).ok());
        let found = behind.as_ref().unwrap_or(found);
        match found.is_file() {
            true => Some(Self { is_block: false, device: found.dev(), inode: found.ino() }),
            false => is_block(found).then(|| Self { is_block: true, device: found.rdev(), inode: 0 }),
        }
    }
}

/// Whether both are open files or block devices, but not the same one.
pub(crate) fn is_exchanged(one: &dyn Storage, other: &dyn Storage) -> bool {
    let identity = |storage: &dyn Storage| match storage.lock_target()? {
        LockTarget::BlockDevice { major, minor, .. } => Some((true, u64::from(major), u64::from(minor))),
        LockTarget::File(file) => fstat(file).ok().map(|found| (false, found.st_dev, found.st_ino)),
    };
    identity(one).is_some_and(|one| identity(other).is_some_and(|other| one != other))
}
