//! What a block device is built of, by sysfs: `/sys/dev/block/MAJOR:MINOR` has `dm/uuid` with a prefix of
//! who made it, or `md/`, or `bcache/`, and `slaves/` with what lies below (Linux,
//! Documentation/ABI/testing/sysfs-block-dm, sysfs-bcache; Documentation/admin-guide/md.rst).

use crate::device::block_devices::number_at;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// One layer between a file system and the disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// A volume of dm-crypt's.
    Crypt,
    /// A logical volume of LVM's.
    Lvm,
    /// An array of md's.
    Md,
    /// Several paths to one disk.
    Multipath,
    /// An array of a controller's BIOS.
    DmRaid,
    /// A cache of bcache's.
    Bcache,
}

/// The layers of the block device at this path, the topmost first; partitions and disks are none.
pub fn below(device: &Path) -> Vec<Layer> {
    in_sysfs(device).map(|device| layers_of(Path::new("/sys"), &device)).unwrap_or_default()
}

/// An array of md's that a device is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// The kernel's name of it.
    pub name: String,
    /// "raid1"
    pub level: String,
    /// "1.2", or "external:" and what a controller's BIOS keeps.
    pub metadata: String,
    /// Whether it has a journal of writes.
    pub has_journal: bool,
    /// Whether machines of a cluster share it.
    pub is_shared: bool,
    /// Whether it is being made to another level or number of members.
    pub is_reshaped: bool,
}

/// The arrays that the block device at this path is on.
pub fn arrays(device: &Path) -> Vec<Array> {
    in_sysfs(device).map(|device| arrays_of(Path::new("/sys"), &device)).unwrap_or_default()
}

fn arrays_of(sys: &Path, device: &Path) -> Vec<Array> {
    let array = |device: &PathBuf| {
        let told = |file: &str| fs::read_to_string(device.join("md").join(file)).unwrap_or_default();
        Array {
            name: fs::canonicalize(device)
                .unwrap_or_default()
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into(),
            level: told("level").trim().to_owned(),
            metadata: told("metadata_version").trim().to_owned(),
            has_journal: told("consistency_policy").trim() == "journal",
            is_shared: told("bitmap/metadata").trim() == "clustered",
            is_reshaped: !["", "none"].contains(&told("reshape_position").trim()),
        }
    };
    walked(sys, device).iter().filter(|device| Layer::of(device) == Some(Layer::Md)).map(array).collect()
}

/// Whether all that the block device at this path consists of is within a volume of dm-crypt's.
pub fn is_encrypted(device: &Path) -> bool {
    in_sysfs(device).is_some_and(|device| is_within_crypt(Path::new("/sys"), &device, &mut 0))
}

fn in_sysfs(device: &Path) -> Option<PathBuf> {
    let (major, minor) = number_at(device)?;
    Some(PathBuf::from(format!("/sys/dev/block/{major}:{minor}")))
}

fn is_within_crypt(sys: &Path, device: &Path, seen: &mut usize) -> bool {
    *seen += 1;
    if Layer::of(device) == Some(Layer::Crypt) {
        return true;
    }
    let slaves = fs::read_dir(device.join("slaves")).into_iter().flatten().flatten();
    let mut below: Vec<PathBuf> =
        slaves.map(|slave| sys.join("class/block").join(slave.file_name())).collect();
    if device.join("partition").exists() {
        below.extend(fs::canonicalize(device).ok().and_then(|place| Some(place.parent()?.to_owned())));
    }
    *seen < MOST && !below.is_empty() && below.iter().all(|below| is_within_crypt(sys, below, seen))
}

fn layers_of(sys: &Path, device: &Path) -> Vec<Layer> {
    let mut layers = Vec::new();
    for layer in walked(sys, device).iter().filter_map(|device| Layer::of(device)) {
        if !layers.contains(&layer) {
            layers.push(layer);
        }
    }
    layers
}

/// The device and all below it, as often as they are reached.
fn walked(sys: &Path, device: &Path) -> Vec<PathBuf> {
    let (mut walked, mut next) = (Vec::new(), vec![device.to_owned()]);
    while let Some(device) = next.pop().filter(|_| walked.len() < MOST) {
        let slaves = fs::read_dir(device.join("slaves")).into_iter().flatten().flatten();
        next.extend(slaves.map(|slave| sys.join("class/block").join(slave.file_name())));
        // A partition's disk may be an array.
        if device.join("partition").exists() {
            next.extend(fs::canonicalize(&device).ok().and_then(|place| Some(place.parent()?.to_owned())));
        }
        walked.push(device);
    }
    walked
}

impl Layer {
    fn of(device: &Path) -> Option<Self> {
        let uuid = fs::read_to_string(device.join("dm/uuid")).unwrap_or_default();
        // Of partitions on a mapped disk, kpartx says "part1-mpath-…".
        let made =
            DM.iter().find(|(prefix, _)| uuid.starts_with(prefix) || uuid.contains(&format!("-{prefix}")));
        let there = |name: &str| device.join(name).is_dir();
        match made {
            Some((_, layer)) => Some(*layer),
            None if there("md") => Some(Self::Md),
            None if there("bcache") => Some(Self::Bcache),
            None => None,
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Crypt => "dm-crypt",
            Self::Lvm => "LVM",
            Self::Md => "md RAID",
            Self::Multipath => "multipath",
            Self::DmRaid => "dmraid",
            Self::Bcache => "bcache",
        })
    }
}

const DM: &[(&str, Layer)] = &[
    ("CRYPT-", Layer::Crypt),
    ("LVM-", Layer::Lvm),
    ("mpath-", Layer::Multipath),
    ("DMRAID-", Layer::DmRaid),
];
/// An array may have hundreds of members; they do not go in circles.
const MOST: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_lies_between_a_file_system_and_its_disks() {
        let sys = std::env::temp_dir().join(format!("keyway-layers-{}", std::process::id()));
        let class = sys.join("class/block");
        let device = |name: &str, slaves: &[&str]| {
            fs::create_dir_all(class.join(name).join("slaves")).unwrap();
            slaves
                .iter()
                .for_each(|slave| symlink("x", class.join(name).join("slaves").join(slave)).unwrap());
        };
        let uuid = |name: &str, uuid: &str| {
            fs::create_dir_all(class.join(name).join("dm")).unwrap();
            fs::write(class.join(name).join("dm/uuid"), uuid).unwrap();
        };
        device("sda1", &[]);
        device("sdb1", &[]);
        device("md0", &["sda1", "sdb1"]);
        fs::create_dir(class.join("md0/md")).unwrap();
        device("dm-0", &["md0"]);
        uuid("dm-0", "CRYPT-LUKS2-0815-root\n");
        device("dm-1", &["dm-0"]);
        uuid("dm-1", "LVM-abc\n");
        device("dm-2", &["dm-3"]);
        uuid("dm-2", "CRYPT-PLAIN-x\n");
        device("dm-3", &["dm-4"]);
        uuid("dm-3", "part2-mpath-3600\n");
        device("dm-4", &["dm-4"]);
        device("md127", &[]);
        fs::create_dir(class.join("md127/md")).unwrap();
        fs::create_dir(class.join("md127/md127p1")).unwrap();
        fs::write(class.join("md127/md127p1/partition"), "1\n").unwrap();
        symlink("md127/md127p1", class.join("md127p1")).unwrap();
        let layers = |name: &str| layers_of(&sys, &class.join(name));
        assert_eq!(layers("sda1"), []);
        assert_eq!(layers("dm-0"), [Layer::Crypt, Layer::Md]);
        assert_eq!(layers("dm-1"), [Layer::Lvm, Layer::Crypt, Layer::Md]);
        assert_eq!(layers("dm-2"), [Layer::Crypt, Layer::Multipath], "a circle ends");
        assert_eq!(layers("md127p1"), [Layer::Md], "a partition of an array");
        assert_eq!(layers("nowhere"), []);
        fs::write(class.join("md0/md/level"), "raid5\n").unwrap();
        fs::write(class.join("md0/md/metadata_version"), "1.2\n").unwrap();
        fs::write(class.join("md0/md/consistency_policy"), "journal\n").unwrap();
        let arrays = arrays_of(&sys, &class.join("dm-1"));
        let [array] = &arrays[..] else { panic!("{arrays:?}") };
        assert_eq!((&*array.name, &*array.level, &*array.metadata), ("md0", "raid5", "1.2"));
        assert_eq!((array.has_journal, array.is_shared, array.is_reshaped), (true, false, false));
        for (position, is_reshaped) in [("none\n", false), ("4096\n", true)] {
            fs::write(class.join("md0/md/reshape_position"), position).unwrap();
            assert_eq!(arrays_of(&sys, &class.join("md0"))[0].is_reshaped, is_reshaped);
        }
        assert_eq!(arrays_of(&sys, &class.join("sda1")), []);

        device("dm-5", &["dm-0", "sdb1"]);
        uuid("dm-5", "LVM-def\n");
        device("dm-6", &["dm-0", "dm-1"]);
        let is_encrypted = |name: &str| is_within_crypt(&sys, &class.join(name), &mut 0);
        for whole in ["dm-0", "dm-1", "dm-6", "dm-2"] {
            assert!(is_encrypted(whole), "{whole}");
        }
        for partly in ["dm-5", "sda1", "md0", "md127p1", "dm-4", "nowhere"] {
            assert!(!is_encrypted(partly), "{partly}");
        }
        fs::remove_dir_all(sys).unwrap();
    }
}
