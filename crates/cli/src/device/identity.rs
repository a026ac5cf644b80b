//! Whether two names, or two open files, are the same device.

use crate::device::location::url;
use keyway_attach::dm::{DeviceNumber, loopback};
use keyway_volume::Storage;
use keyway_volume::storage::LockTarget;
use rustix::fs::fstat;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Whether both name the same file, the same block device (under any node), a file and its loop
/// device, or the same URL.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    if url(one).is_some() {
        return one == other;
    }
    let identity = |path: &Path| {
        let found = std::fs::metadata(path).ok()?;
        let behind = loopback::backing_file(DeviceNumber::from_dev(found.rdev()));
        let behind = behind.filter(|_| found.file_type().is_block_device());
        let found = behind.and_then(|file| std::fs::metadata(file).ok()).unwrap_or(found);
        let is_block = found.file_type().is_block_device();
        Some(if is_block { (true, found.rdev(), 0) } else { (false, found.dev(), found.ino()) })
    };
    identity(one).is_some_and(|one| Some(one) == identity(other))
}

/// Whether both are open files or block devices, but not the same one.
pub(crate) fn is_exchanged(one: &dyn Storage, other: &dyn Storage) -> bool {
    let identity = |storage: &dyn Storage| match storage.lock_target()? {
        LockTarget::BlockDevice { major, minor, .. } => Some((true, u64::from(major), u64::from(minor))),
        LockTarget::File(file) => fstat(file).ok().map(|found| (false, found.st_dev, found.st_ino)),
    };
    identity(one).is_some_and(|one| identity(other).is_some_and(|other| one != other))
}
