//! The mounts that exist (proc(5), /proc/PID/mountinfo).
//!
//! ```text
//! 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//! id parent device root point options tags…  - type source super-options
//! ```

use crate::device::block_devices::number_at;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Its mount ID.
    pub id: u64,
    /// The ID of the mount that it is mounted on.
    pub parent: u64,
    /// Major and minor number of the file system's device.
    pub device: (u32, u32),
    /// The directory of the file system that it shows.
    pub root: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    /// The file system's type ("fuse.keyway").
    pub kind: String,
    /// The mount source: a device, or any word.
    pub source: PathBuf,
    /// The file system's own options.
    pub options: String,
}

impl Mount {
    fn parse(line: &str) -> Option<Self> {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ');
        let (id, parent) = (mount.next()?.parse().ok()?, mount.next()?.parse().ok()?);
        let (major, minor) = mount.next()?.split_once(':')?;
        let (root, point) = (unescaped(mount.next()?), unescaped(mount.next()?));
        let mut file_system = file_system.split(' ');
        Some(Self {
            id,
            parent,
            device: (major.parse().ok()?, minor.parse().ok()?),
            root,
            point,
            kind: file_system.next()?.to_owned(),
            source: unescaped(file_system.next()?),
            options: file_system.next().unwrap_or_default().to_owned(),
        })
    }
}

/// All mounts that this process sees.
pub fn all() -> Vec<Mount> {
    parse(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

/// Whether a file system on the block device at `device` is mounted.
pub fn is_mounted(device: &Path) -> bool {
    let Some(number) = number_at(device) else { return false };
    // (btrfs has numbers of its own.)
    let is_on = |mount: Mount| mount.device == number || number_at(&mount.source) == Some(number);
    all().into_iter().any(is_on)
}

/// The mount at `point` that hides all others there.
pub fn topmost(mounts: &[Mount], point: &Path) -> Option<Mount> {
    let here = || mounts.iter().filter(|mount| mount.point == point);
    here().find(|mount| !here().any(|above| above.parent == mount.id)).cloned()
}

fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(Mount::parse).collect()
}

/// Decodes space, tab, newline and backslash, which are written as a backslash and three octal
/// digits.
fn unescaped(word: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let octal = behind.get(..3).filter(|_| *first == b'\\');
        let code = octal.and_then(|octal| u8::from_str_radix(std::str::from_utf8(octal).ok()?, 8).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &behind[3..] } else { behind };
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
        40 22 0:45 / /mnt/a\\040b rw,nosuid shared:7 master:2 - fuse.keyway /srv/disk\\134.luks rw,user_id=0\n\
        nonsense\n\
        41 40 8:2 /sub /mnt/a\\040b rw - ext4 /dev/sdb rw\n\
        42 22 0:46 / /mnt/x rw - fuse.keyway";

    #[test]
    fn mountinfo_is_understood() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.len(), 3, "what cannot be understood is passed over");
        let expected = Mount {
            id: 40,
            parent: 22,
            device: (0, 45),
            root: "/".into(),
            point: "/mnt/a b".into(),
            kind: "fuse.keyway".into(),
            source: "/srv/disk\\.luks".into(),
            options: "rw,user_id=0".into(),
        };
        assert_eq!(mounts[1], expected);
        assert_eq!((mounts[2].root.as_path(), mounts[2].id), (Path::new("/sub"), 41));
    }

    #[test]
    fn the_topmost_mount_hides_the_others() {
        let mut mounts = parse(TEXT);
        let id = |mounts: &[Mount], point: &str| topmost(mounts, Path::new(point)).map(|mount| mount.id);
        assert_eq!(
            (id(&mounts, "/mnt/a b"), id(&mounts, "/"), id(&mounts, "/mnt")),
            (Some(41), Some(22), None)
        );
        mounts.reverse();
        assert_eq!(id(&mounts, "/mnt/a b"), Some(41));
    }

    #[test]
    fn the_kernel_lists_this_machines() {
        assert!(all().iter().any(|mount| mount.kind == "proc"));
    }

    #[test]
    fn escapes_are_octal() {
        assert_eq!(unescaped("a\\011b\\x\\04"), Path::new("a\tb\\x\\04"));
        assert_eq!(unescaped("\\134040"), Path::new("\\040"));
    }
}
