//! The block devices of this machine, and what can be seen from outside of any device: what is on it, what it is built of,
//! who holds it. Nothing is changed, and no key is needed.
//!
//! ```
//! use keyway::devices;
//!
//! for device in devices::all() {
//!     let on_it = device.identity().map(|found| found.uuid).unwrap_or_default();
//!     println!("{} {on_it} {:?}", device.node().display(), devices::layers(device.node()));
//! }
//! ```
//!
//! | to … | use |
//! |------|-----|
//! | list them; find a partition, or the disk of one | [`all`], [`partition`], [`disk_of`] |
//! | see what is on one: signatures, UUID and label, partitions | [`signatures`], [`file_system`], [`identity`], [`partitions`] |
//! | tell noise from content; learn the size of its blocks | [`is_noise`], [`smaller_blocks`] |
//! | see what one is built of: dm-crypt, LVM, md … | [`layers`], [`is_encrypted`] |
//! | see where it is mounted | [`mounts`], [`mount_at`], [`is_mounted`] |
//! | see who holds it, and claim it | [`check_unused`], [`holder_of`], [`lock_holder`], [`claim`] |
//! | see the file behind a loop device (feature `dm`) | `file_behind`, `image_behind` |
//! | map logical volumes without LVM's programs (feature `dm`) | `map_logical_volume` |

mod content;
mod holders;
#[cfg(feature = "dm")]
mod kernel;
#[cfg(feature = "dm")]
mod logical;

pub use content::{file_system, identity, is_noise, signatures, signatures_at_start, smaller_blocks};
#[cfg(feature = "parts")]
pub use holders::claim_replaced;
pub use holders::{check_unused, claim, holder_of, lock_holder, loop_device_of, opener_of};
#[cfg(feature = "dm")]
pub use kernel::{
    WriteProtection, file_behind, image_behind, is_read_only, kernel_name, other_logical_volume, protect,
};
/// A block device: from [`all`].
pub use keyway_volume::device::block_devices::BlockDevice;
/// Who holds a device: from [`holder_of`].
pub use keyway_volume::device::in_use::Holder;
/// The mark of a device's user, until it is dropped: from [`claim`].
pub use keyway_volume::device::in_use::InUse;
/// What a device is built of: from [`layers`] and [`arrays`].
pub use keyway_volume::device::layers::{Array, Layer};
/// A mount: from [`mounts`].
pub use keyway_volume::device::mounts::Mount;
/// A partition of a disk: from [`Partitions`].
pub use keyway_volume::device::partitions::Partition;
/// The partitions of a disk: from [`partitions`].
pub use keyway_volume::device::partitions::Partitions;
/// UUID and label: from [`identity`].
pub use keyway_volume::device::probe::Identity;
#[cfg(feature = "dm")]
pub use logical::{LogicalPiece, logical_volume, map_logical_volume, unmap_logical_volume};

use keyway_format::Sectors;
use keyway_volume::Storage;
use keyway_volume::device::{block_devices, layers as built_of, mounts as mounted};
use std::io;
use std::path::{Path, PathBuf};

/// All block devices that have a node, by name. See [`devices`](self) for an example.
pub fn all() -> Vec<BlockDevice> {
    block_devices::all()
}

/// The kernel's device for a partition of the disk at `disk`.
///
/// ```
/// assert_eq!(keyway::devices::partition(std::path::Path::new("disk.img"), 2), None);
/// ```
pub fn partition(disk: &Path, number: u32) -> Option<PathBuf> {
    block_devices::partition(disk, number)
}

/// The disk of the partition at `partition`, and the sector of it where that starts.
///
/// ```
/// assert_eq!(keyway::devices::disk_of(std::path::Path::new("disk.img")), None);
/// ```
pub fn disk_of(partition: &Path) -> Option<(PathBuf, Sectors)> {
    block_devices::disk_of(partition)
}

/// The partitions of a disk or its image; `None` if it has no table of them.
///
/// ```
/// # use keyway::{devices, storage::Memory};
/// assert!(devices::partitions(&Memory::zeroed(1 << 20))?.is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// It cannot be read.
pub fn partitions(disk: &dyn Storage) -> io::Result<Option<Partitions>> {
    Partitions::of(disk)
}

/// What the block device at `device` is built of, the topmost layer first; partitions and disks are none. See
/// [`devices`](self) for an example.
pub fn layers(device: &Path) -> Vec<Layer> {
    built_of::below(device)
}

/// The arrays of md RAID that the block device at `device` is on.
///
/// ```
/// assert!(keyway::devices::arrays(std::path::Path::new("disk.img")).is_empty());
/// ```
pub fn arrays(device: &Path) -> Vec<Array> {
    built_of::arrays(device)
}

/// Whether all that the block device at `device` consists of is within volumes of dm-crypt's.
///
/// ```
/// assert!(!keyway::devices::is_encrypted(std::path::Path::new("disk.img")));
/// ```
pub fn is_encrypted(device: &Path) -> bool {
    built_of::is_encrypted(device)
}

/// All mounts that this process sees.
///
/// ```
/// use keyway::devices;
/// assert!(devices::mounts().iter().any(|mount| mount.kind == "proc"));
/// assert_eq!(devices::mount_at("/proc".as_ref()).unwrap().kind, "proc");
/// ```
pub fn mounts() -> Vec<Mount> {
    mounted::all()
}

/// The mount at `point` that hides all others there. See [`mounts`] for an example.
pub fn mount_at(point: &Path) -> Option<Mount> {
    mounted::topmost(&mounted::all(), point)
}

/// Whether a file system on the block device at `device` is mounted.
///
/// ```
/// assert!(!keyway::devices::is_mounted(std::path::Path::new("disk.img")));
/// ```
pub fn is_mounted(device: &Path) -> bool {
    mounted::is_mounted(device)
}
