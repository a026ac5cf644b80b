//! The block devices of this machine as the kernel lists them (`/sys/class/block`), and by which
//! names they can be found without udev: the UUID and label of what is on them, and those of the
//! partition that they are.

use crate::device::probe::{self, Identity, Partition};
use crate::device::storage;
use keyway_format::Sectors;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A block device.
#[derive(Debug, Clone)]
pub struct BlockDevice {
    sys: PathBuf,
    node: PathBuf,
}

/// All block devices that have a node, by name.
pub fn all() -> Vec<BlockDevice> {
    let names = fs::read_dir(SYS).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    let devices = names.into_iter().map(|name| BlockDevice::at(Path::new(SYS).join(name)));
    devices.flatten().filter(|device| device.node.exists()).collect()
}

/// The number of the block device at `path`: major and minor.
pub(super) fn number_at(path: &Path) -> Option<(u32, u32)> {
    let found = fs::metadata(path).ok().filter(|found| found.file_type().is_block_device())?;
    Some((rustix::fs::major(found.rdev()), rustix::fs::minor(found.rdev())))
}

/// The kernel's device for a partition of the disk at `disk`.
pub fn partition(disk: &Path, number: u32) -> Option<PathBuf> {
    let (major, minor) = number_at(disk)?;
    let below = fs::read_dir(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let devices = below.flatten().filter_map(|entry| BlockDevice::at(entry.path()));
    let mut partitions = devices.filter(|device| device.number() == Some(number) && device.node.exists());
    partitions.next().map(|device| device.node)
}

/// The disk of the partition at `path`, and the sector of it where the partition starts.
pub fn disk_of(path: &Path) -> Option<(PathBuf, Sectors)> {
    let (major, minor) = number_at(path)?;
    let sys = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let start = fs::read_to_string(sys.join("start")).ok()?.trim().parse().ok()?;
    let is_partition = sys.join("partition").exists();
    is_partition
        .then(|| BlockDevice::at(sys.parent()?.to_owned()))
        .flatten()
        .map(|disk| (disk.node, Sectors(start)))
}

impl BlockDevice {
    fn at(sys: PathBuf) -> Option<Self> {
        // A slash in the kernel's name of a device is an exclamation mark in that of its directory.
        let name = sys.file_name()?.to_string_lossy().replace('!', "/");
        Some(Self { node: Path::new("/dev").join(name), sys })
    }

    /// Its node below /dev.
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// Its directory in sysfs, and that of the disk if it is a partition.
    pub fn in_sysfs(&self) -> (PathBuf, Option<u32>) {
        let number = self.number();
        let disk = || fs::canonicalize(&self.sys).ok()?.parent().map(Path::to_owned);
        let disk = number.and_then(|_| disk());
        (disk.unwrap_or_else(|| self.sys.clone()), number)
    }

    /// The kernel's names of the devices that consist of it.
    pub fn holders(&self) -> Vec<String> {
        let holders = fs::read_dir(self.sys.join("holders")).into_iter().flatten().flatten();
        holders.map(|holder| holder.file_name().to_string_lossy().into_owned()).collect()
    }

    /// The node of the partition that many after it, on the same disk.
    pub fn partition_after(&self, count: i32) -> Option<PathBuf> {
        let wanted = self.number()?.checked_add_signed(count)?;
        partition(&Self::at(self.in_sysfs().0)?.node, wanted)
    }

    /// The UUID and label of the volume or file system on it.
    pub fn identity(&self) -> Option<Identity> {
        probe::identity(&storage::File::open(&self.node).ok()?).ok()?
    }

    /// The UUID of the partition that it is.
    pub fn partition_uuid(&self) -> Option<String> {
        self.told("PARTUUID=").or_else(|| self.partition().map(|partition| partition.uuid))
    }

    /// The name of the partition that it is.
    pub fn partition_label(&self) -> Option<String> {
        self.told("PARTNAME=").or_else(|| self.partition()?.label)
    }

    /// A property that newer kernels report.
    fn told(&self, key: &str) -> Option<String> {
        let facts = fs::read_to_string(self.sys.join("uevent")).ok()?;
        facts.lines().find_map(|line| line.strip_prefix(key)).map(str::to_owned)
    }

    /// The number of the partition that it is.
    fn number(&self) -> Option<u32> {
        fs::read_to_string(self.sys.join("partition")).ok()?.trim().parse().ok()
    }

    fn partition(&self) -> Option<Partition> {
        let number = self.number()?;
        let disk = Self::at(fs::canonicalize(&self.sys).ok()?.parent()?.to_owned())?;
        let block = fs::read_to_string(disk.sys.join("queue/logical_block_size"));
        let block = block.ok().and_then(|size| size.trim().parse().ok()).unwrap_or(512);
        probe::partition(&storage::File::open(&disk.node).ok()?, number, block)
    }
}

const SYS: &str = "/sys/class/block";

#[cfg(test)]
mod tests {
    use super::*;

    fn device(content: &[u8]) -> (PathBuf, BlockDevice) {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("keyway-find-{}-{number}", std::process::id()));
        let mut padded = content.to_vec();
        padded.resize(padded.len().max(1 << 16), 0);
        fs::write(&path, padded).unwrap();
        (path.clone(), BlockDevice { sys: "/nowhere".into(), node: path })
    }

    #[test]
    fn names_of_volumes_and_file_systems() {
        let mut luks = b"LUKS\xba\xbe\0\x02".to_vec();
        luks.resize(2048, 0);
        luks[24..28].copy_from_slice(b"disk");
        luks[168..172].copy_from_slice(b"0815");
        let (path, found) = device(&luks);
        let identity = found.identity().unwrap();
        assert_eq!((&*identity.uuid, &*identity.label), ("0815", "disk"));
        fs::remove_file(path).unwrap();

        let mut ext = vec![0; 2048];
        ext[1024 + 56..1024 + 58].copy_from_slice(b"\x53\xef");
        ext[1024 + 0x68..1024 + 0x78].copy_from_slice(&[0xab; 16]);
        ext[1024 + 0x78..1024 + 0x7c].copy_from_slice(b"keys");
        let (path, found) = device(&ext);
        let identity = found.identity().unwrap();
        assert_eq!(identity.uuid, "abababab-abab-abab-abab-abababababab");
        assert_eq!(identity.label, "keys");
        fs::remove_file(path).unwrap();
    }
}
