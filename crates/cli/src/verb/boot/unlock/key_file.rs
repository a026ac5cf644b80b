//! Key files and headers: in the image, on another device (`PATH:DEVICE`), which is mounted read-only while
//! the file is needed, or a device themselves.

use super::lvm::Lvm;
use super::{anywhere, erase, find};
use crate::output::failure::{Exit, Failure, Result};
use keyway_boot::device_spec::{ANYWHERE, is_device, parts};
use keyway_volume::device::probe::{Reach, file_system};
use keyway_volume::device::storage::File;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::ffi::{CString, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file that can be read while this value exists.
pub(super) struct KeyFile {
    path: PathBuf,
    mounted: Option<PathBuf>,
}

impl KeyFile {
    /// Makes the file reachable; waits for its device at most `limit`. A device alone is the file itself.
    pub(super) fn reach(named: &OsStr, limit: Duration, lvm: Lvm, what: &str) -> Result<Self> {
        let text = named.to_string_lossy();
        let node = |device: &str| {
            find::reach(device.as_ref(), limit, lvm)
                .map_err(|why| Failure::new(Exit::Device, format!("The {what}'s device {why}.")))
        };
        match parts(&text)[..] {
            [path, ANYWHERE] if Path::new(path).is_file() => Ok(Self { path: path.into(), mounted: None }),
            [path, ANYWHERE] => {
                let place = anywhere::reach(path, limit, what)?;
                Ok(Self { path: place.join(path.trim_start_matches('/')), mounted: Some(place) })
            }
            [path, device] => {
                let place = mount_read_only(&node(device)?, what)?;
                Ok(Self { path: place.join(path.trim_start_matches('/')), mounted: Some(place) })
            }
            [device] if is_device(device) => Ok(Self { path: node(device)?, mounted: None }),
            _ => Ok(Self { path: named.into(), mounted: None }),
        }
    }

    /// Erases it, as keyfile-erase asks; one on another device, which is mounted for reading only, stays.
    pub(super) fn erase(&self) {
        if let Err(why) = erase::erase(&self.path, self.mounted.is_none()) {
            say!("WARNING: {} is not erased: {why}.", self.path.display());
        }
    }

    /// Whether it is no file on another device.
    pub(super) fn mounted_nowhere(&self) -> bool {
        self.mounted.is_none()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        if let Some(place) = &self.mounted {
            let _ = unmount(place, UnmountFlags::DETACH);
            let _ = fs::remove_dir(place);
        }
    }
}

/// Tries the kernel's file systems one after the other.
fn mount_read_only(node: &Path, what: &str) -> Result<PathBuf> {
    mount_privately(node, what, |place, flags| mount_any(node, place, flags, None))
}

/// Mounts at a place that is private to this process.
pub(super) fn mount_privately(
    node: &Path,
    what: &str,
    mount: impl FnOnce(&Path, MountFlags) -> std::result::Result<(), String>,
) -> Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    let place = PathBuf::from(format!("/run/keyway-{}-{}", what.replace(' ', "-"), std::process::id()));
    let cannot = |why: String| {
        Failure::new(Exit::Device, format!("Cannot mount {} for the {what}: {why}.", node.display()))
    };
    fs::DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(&place)
        .map_err(|error| cannot(error.to_string()))?;
    let flags = MountFlags::RDONLY | MountFlags::NOEXEC | MountFlags::NOSUID | MountFlags::NODEV;
    match mount(&place, flags) {
        Ok(()) => Ok(place),
        Err(why) => {
            let _ = fs::remove_dir(&place);
            Err(cannot(why))
        }
    }
}

/// Mounts with the file system that is detected, else the first that works.
pub(super) fn mount_any(
    node: &Path,
    place: &Path,
    flags: MountFlags,
    options: Option<&CString>,
) -> std::result::Result<(), String> {
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let known = known.lines().filter_map(|line| line.strip_prefix('\t')).filter(|name| !USUAL.contains(name));
    let found = File::open(node).and_then(|device| file_system(&device, Reach::Start));
    let found = found.ok().flatten().map(|signature| driver(signature.blkid));
    let mut first = None;
    for kind in found.into_iter().chain(USUAL.iter().copied()).chain(known) {
        match mount(node, place, kind, flags, options.map(CString::as_c_str)) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::NODEV) => {}
            // The first error is more useful than that of the last file system tried.
            Err(error) => drop(first.get_or_insert_with(|| format!("as {kind}: {error}"))),
        }
    }
    Err(first.unwrap_or_else(|| "the kernel supports no file system".to_owned()))
}

/// The kernel's name for the file system that blkid calls `name`.
fn driver(name: &'static str) -> &'static str {
    if name == "ntfs" { "ntfs3" } else { name }
}

/// A string in the form that the kernel takes in mount options.
pub(super) fn c_string(text: &str) -> Option<CString> {
    CString::new(OsStr::new(text).as_bytes()).ok()
}

/// Tried next: some of them are modules that the kernel loads only when they are requested by name;
/// other file systems would make the kernel print errors on the console.
const USUAL: &[&str] = &["ext4", "vfat", "xfs", "btrfs", "f2fs", "iso9660", "exfat"];
