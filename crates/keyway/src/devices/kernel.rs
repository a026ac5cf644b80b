//! What the kernel says of its block devices (feature `dm`).

use crate::Result;
use crate::storage::Extent;
use keyway_attach::dm::{DeviceNumber, Mapper, loopback, uuid};
use keyway_volume::device::storage::image_of;
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Keeps the kernel's file systems from writing to a device: from [`protect`].
pub use keyway_attach::dm::WriteProtection;

/// The file behind the loop device at `device`, as the kernel names it; `None` if that is no loop device.
///
/// ```
/// assert_eq!(keyway::devices::file_behind("/dev/null".as_ref()), None);
/// ```
pub fn file_behind(device: &Path) -> Option<PathBuf> {
    loopback::backing_file_of(device)
}

/// The file behind the loop device of which this is said, and the part of it that is shown, unless that is all of it. See
/// [`file_behind`] for the same by its path.
pub fn image_behind(found: &Metadata) -> Option<(PathBuf, Option<Extent>)> {
    let number = DeviceNumber::from_dev(found.rdev());
    let file = loopback::backing_file(number).filter(|_| found.file_type().is_block_device())?;
    Some((file, loopback::part(number)))
}

/// Whether the file or device at `path`, or the image of a partition, refuses writes, whoever asks.
///
/// ```
/// assert!(keyway::devices::is_read_only("/nowhere/disk.img".as_ref()));
/// ```
pub fn is_read_only(path: &Path) -> bool {
    let path = &image_of(path);
    match DeviceNumber::at(path) {
        Ok(number) => number.is_read_only(),
        Err(_) => File::options().write(true).open(path).is_err(),
    }
}

/// The kernel's name of the block device at `device`: "sda1", "dm-0".
///
/// ```
/// assert_eq!(keyway::devices::kernel_name("/dev/null".as_ref()), None);
/// ```
pub fn kernel_name(device: &Path) -> Option<String> {
    DeviceNumber::at(device).ok()?.kernel_name()
}

/// Makes the block device at `device` read-only until the value is dropped: a file system that is mounted for reading is
/// written to nevertheless, unless its device is. One that is read-only already stays so.
///
/// ```
/// assert!(keyway::devices::protect("/dev/null".as_ref()).is_err());
/// ```
///
/// # Errors
/// It is no block device, or cannot be opened.
pub fn protect(device: &Path) -> Result<WriteProtection> {
    Ok(WriteProtection::of(device)?)
}

/// The first logical volume of LVM's below the block device at `device` that is neither linear nor striped, as the kernel's
/// tables tell: its mapping's name and its kind. See [`layers`](super::layers) for whether LVM is there at all.
///
/// # Errors
/// [`ErrorKind::PermissionDenied`](crate::ErrorKind::PermissionDenied) for users other than root.
pub fn other_logical_volume(device: &Path) -> Result<Option<(String, String)>> {
    let mut other = None;
    look_below(&Mapper::open()?, DeviceNumber::at(device)?, &mut other, MOST)?;
    Ok(other)
}

fn look_below(
    mapper: &Mapper,
    device: DeviceNumber,
    other: &mut Option<(String, String)>,
    depth: usize,
) -> keyway_attach::Result<()> {
    let Ok(info) = mapper.status_of(device) else { return Ok(()) };
    if uuid::is_lvm(&info.uuid) {
        let table = mapper.table(&info.name, false)?;
        let kind = table.into_iter().map(|target| target.kind).find(|kind| !SIMPLE.contains(&&**kind));
        if let Some(kind) = kind {
            other.get_or_insert((info.name, kind));
            return Ok(());
        }
    }
    for below in mapper.deps(&info.name)? {
        if other.is_none() && depth > 0 {
            look_below(mapper, below, other, depth - 1)?;
        }
    }
    Ok(())
}

/// Targets of the kernel's for linear and striped volumes.
const SIMPLE: &[&str] = &["linear", "striped"];
/// Of mappings on top of each other.
const MOST: usize = 16;
