//! The device below a mapping: its node, named as cryptsetup names it, and the file of a loop device.

use super::place_of;
use keyway_attach::dm::{DeviceNumber, Mapper, loopback};
use keyway_volume::device::partitions::Partitions;
use keyway_volume::device::storage::{File, PartitionName};
use std::path::{Path, PathBuf};

/// The node of a block device as cryptsetup shows it:
/// `/dev/mapper/NAME` for a mapping, else the kernel's name.
pub(super) fn node_of(mapper: &Mapper, number: DeviceNumber) -> Option<PathBuf> {
    let kernel_name = number.kernel_name()?;
    match mapper.status_of(number) {
        Ok(info) if kernel_name.starts_with("dm-") => Some(place_of(&info.name)),
        _ => kernel_node(number),
    }
}

/// The node that has the kernel's name.
pub(super) fn kernel_node(number: DeviceNumber) -> Option<PathBuf> {
    Some(Path::new("/dev").join(number.kernel_name()?.replace('!', "/")))
}

/// The file behind a loop device, or the partition of it that the loop device shows: `disk.img#2`.
/// `None` if there is none. The partition is looked up in the file that is attached, and in no other that
/// has its name by now.
pub(super) fn image_behind(number: DeviceNumber) -> Option<PathBuf> {
    let file = loopback::backing_file(number)?;
    let Some(part) = loopback::part(number) else { return Some(file) };
    let disk = loopback::open_backing_file(number).and_then(|disk| File::from_file(disk, &file).ok());
    let table = disk.and_then(|disk| Partitions::of(&disk).ok().flatten());
    let found = table.and_then(|table| table.all.into_iter().find(|it| it.bytes == part.range()));
    let named = found.map(|found| PartitionName { image: file.clone(), number: found.number }.at(&file));
    Some(named.unwrap_or(file))
}
