//! What a block device says of itself that decides where a new volume's data starts, and in which
//! sectors it is encrypted (Linux, Documentation/ABI/stable/sysfs-block). The rules are
//! cryptsetup's.

use super::{LockTarget, Storage};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Sizes in bytes. The default is that of a regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topology {
    /// The encryption sector size that suits it: 512, 1024, 2048 or 4096.
    pub sector_size: u32,
    /// The size of the sectors that the device is addressed by: 512, or up to 4096.
    pub logical_size: u32,
    /// Data should start at a multiple of this, which is 1 MiB unless the device asks for a size
    /// that does not divide 1 MiB.
    pub alignment: u64,
    /// The first aligned byte of the device: not 0 for a partition that starts inside a physical
    /// sector.
    pub alignment_offset: u64,
    /// Its zones must be written from start to end, so that no header on it can be changed.
    pub zoned: bool,
}

impl Default for Topology {
    fn default() -> Self {
        Self {
            sector_size: LARGEST,
            logical_size: 512,
            alignment: DEFAULT_ALIGNMENT,
            alignment_offset: 0,
            zoned: false,
        }
    }
}

impl Topology {
    /// That of the block device `storage`, and the default for everything else.
    pub fn of(storage: &dyn Storage) -> Self {
        match storage.lock_target() {
            Some(LockTarget::BlockDevice { major, minor, .. }) => {
                Self::read(&PathBuf::from(format!("/sys/dev/block/{major}:{minor}")))
            }
            _ => Self::default(),
        }
    }

    fn read(device: &Path) -> Self {
        let logical = limit(device, "logical_block_size").unwrap_or(512);
        let physical = limit(device, "physical_block_size").unwrap_or(logical);
        let minimum = limit(device, "minimum_io_size").unwrap_or(0);
        let optimal = limit(device, "optimal_io_size").unwrap_or(0);
        Self {
            sector_size: sector_size(logical, physical),
            logical_size: logical.clamp(512, LARGEST),
            alignment: alignment(minimum, optimal),
            // -1: the kernel does not know.
            alignment_offset: number(&device.join("alignment_offset")).unwrap_or(0),
            zoned: limit::<String>(device, "zoned").is_some_and(|kind| kind != "none"),
        }
    }
}

/// A limit of the device's queue; a partition has that of its disk.
fn limit<T: FromStr>(device: &Path, name: &str) -> Option<T> {
    let own = number(&device.join("queue").join(name));
    own.or_else(|| number(&device.join("../queue").join(name)))
}

fn number<T: FromStr>(file: &Path) -> Option<T> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The physical sector size if it can be an encryption sector size, else the logical one.
fn sector_size(logical: u32, physical: u32) -> u32 {
    match physical.max(logical) {
        size @ 512..=LARGEST if size.is_power_of_two() => size,
        _ if logical >= LARGEST && logical.is_multiple_of(LARGEST) => LARGEST,
        _ => 512,
    }
}

/// An optimal size that is no multiple of 4 KiB or of the minimum is a wrong one: some USB adapters
/// report such.
fn alignment(minimum: u64, optimal: u64) -> u64 {
    let is_usable = optimal > minimum && optimal.is_multiple_of(4096);
    let unit = if is_usable && minimum > 0 && optimal.is_multiple_of(minimum) { optimal } else { minimum };
    if unit == 0 || DEFAULT_ALIGNMENT.is_multiple_of(unit) { DEFAULT_ALIGNMENT } else { unit }
}

const LARGEST: u32 = 4096;
const DEFAULT_ALIGNMENT: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::storage::Memory;

    #[test]
    fn sectors_are_those_that_the_device_writes_whole() {
        for (logical, physical, chosen) in [
            (512, 512, 512),
            (512, 4096, 4096),
            (512, 2048, 2048),
            (4096, 4096, 4096),
            (4096, 512, 4096),
            (512, 8192, 512),
            (512, 3072, 512),
            (8192, 8192, 4096),
        ] {
            assert_eq!(sector_size(logical, physical), chosen, "{logical}/{physical}");
        }
    }

    #[test]
    fn only_sizes_that_do_not_divide_a_mebibyte_change_the_alignment() {
        let mebi = 1 << 20;
        for (minimum, optimal, chosen) in [
            (512, 0, mebi),
            (0, 0, mebi),
            (4096, 32768, mebi),
            (65536, 3 * 65536, 3 * 65536),
            (65536, 48 * 65536, 48 * 65536),
            (512, 33_553_920, mebi),
            (512, 512 * 1025, mebi),
            (3 * 4096, 0, 3 * 4096),
            (8192, 12288, mebi),
        ] {
            assert_eq!(alignment(minimum, optimal), chosen, "{minimum}/{optimal}");
        }
    }

    #[test]
    fn a_partition_has_its_disk_s_limits_and_its_own_offset() {
        let disk = std::env::temp_dir().join(format!("keyway-topology-{}", std::process::id()));
        let (queue, partition) = (disk.join("queue"), disk.join("sda1"));
        fs::create_dir_all(&queue).unwrap();
        fs::create_dir_all(&partition).unwrap();
        for (name, value) in [
            ("logical_block_size", "512\n"),
            ("physical_block_size", "4096\n"),
            ("minimum_io_size", "4096\n"),
            ("optimal_io_size", "0\n"),
            ("zoned", "host-managed\n"),
        ] {
            fs::write(queue.join(name), value).unwrap();
        }
        fs::write(partition.join("alignment_offset"), "3584\n").unwrap();
        fs::write(disk.join("alignment_offset"), "-1\n").unwrap();
        let on_disk = Topology { zoned: true, ..Topology::default() };
        assert_eq!(Topology::read(&disk), on_disk);
        assert_eq!(Topology::read(&partition), Topology { alignment_offset: 3584, ..on_disk });
        fs::write(queue.join("zoned"), "none\n").unwrap();
        assert_eq!(Topology::read(&disk), Topology::default());
        fs::remove_dir_all(disk).unwrap();
        assert_eq!(Topology::of(&Memory::zeroed(4096)), Topology::default());
    }
}
