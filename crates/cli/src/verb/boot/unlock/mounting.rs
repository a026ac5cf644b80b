//! Mounting: read-only at a place of this process's own, for a file that is needed; and as whatever file system is there.

use crate::output::failure::{Exit, Failure, Result};
use keyway_volume::device::probe::{Reach, file_system};
use keyway_volume::device::storage::File;
use rustix::mount::{MountFlags, mount};
use std::ffi::{CString, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Tries the kernel's file systems one after the other.
pub(super) fn mount_read_only(node: &Path, what: &str) -> Result<PathBuf> {
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
