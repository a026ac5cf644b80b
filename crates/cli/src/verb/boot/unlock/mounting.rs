//! Mounting: read-only at a place of this process's own, for a file that is needed; and as whatever file system is there.

use crate::output::failure::{Exit, Failure, Result};
use keyway::devices::{self, WriteProtection};
use keyway::storage::File;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file system that is mounted read-only at a place of this process's own while this value exists.
pub(super) struct Mounted {
    place: PathBuf,
    /// Until nothing is mounted any more; none on a device that is in use.
    _protection: Option<WriteProtection>,
}

impl Mounted {
    /// Where the file is that has this path from the file system's root. A path or link that leads out of the file system is
    /// an error: whoever made the link would choose which file of this system is read.
    pub(super) fn file(&self, path: &str) -> io::Result<PathBuf> {
        let file = fs::canonicalize(self.place.join(path.trim_start_matches('/')))?;
        if !file.starts_with(fs::canonicalize(&self.place)?) {
            return Err(io::Error::other("it leads out of the device"));
        }
        // To open a pipe is to wait for its writer.
        match fs::metadata(&file)?.is_file() {
            true => Ok(file),
            false => Err(io::Error::other("it is not a file")),
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = unmount(&self.place, UnmountFlags::DETACH);
        let _ = fs::remove_dir(&self.place);
    }
}

/// Mounts whatever file system is there, without a change of a byte: the machine may have been suspended.
pub(super) fn mount_read_only(node: &Path, what: &str) -> Result<Mounted> {
    use std::os::unix::fs::DirBuilderExt;
    let cannot = |why: String| {
        Failure::new(Exit::Device, format!("Cannot mount {} for the {what}: {why}.", node.display()))
    };
    // Where it is in use, the kernel puts nothing right, and whoever uses it may write.
    let protection = if devices::is_mounted(node) { None } else { Some(devices::protect(node)) };
    let protection = protection.transpose().map_err(|error| cannot(error.to_string()))?;
    let place = PathBuf::from(format!("/run/keyway-{}-{}", what.replace(' ', "-"), std::process::id()));
    fs::DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(&place)
        .map_err(|error| cannot(error.to_string()))?;
    let flags = MountFlags::RDONLY | MountFlags::NOEXEC | MountFlags::NOSUID | MountFlags::NODEV;
    match mount_unchanged(node, &place, flags) {
        Ok(()) => Ok(Mounted { place, _protection: protection }),
        Err(why) => {
            let _ = fs::remove_dir(&place);
            Err(cannot(why))
        }
    }
}

/// Without the journal where the file system has one: on a device that is read-only the kernel would refuse to mount it.
fn mount_unchanged(node: &Path, place: &Path, flags: MountFlags) -> std::result::Result<(), String> {
    let option = detected(node).and_then(|kind| WITHOUT_JOURNAL.iter().find(|(name, _)| *name == kind));
    match option {
        Some((kind, option)) if mount(node, place, *kind, flags, Some(*option)).is_ok() => Ok(()),
        _ => mount_any(node, place, flags, None),
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
    let mut first = None;
    for kind in detected(node).into_iter().chain(USUAL.iter().copied()).chain(known) {
        match mount(node, place, kind, flags, options.map(CString::as_c_str)) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::NODEV) => {}
            // The first error is more useful than that of the last file system tried.
            Err(error) => drop(first.get_or_insert_with(|| format!("as {kind}: {error}"))),
        }
    }
    Err(first.unwrap_or_else(|| "the kernel supports no file system".to_owned()))
}

/// The kernel's name for the file system that is there.
fn detected(node: &Path) -> Option<&'static str> {
    let found = File::open(node).and_then(|device| devices::file_system(&device));
    found.ok().flatten().map(|signature| driver(signature.blkid))
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

/// File systems with a journal, and their options against replaying it.
const WITHOUT_JOURNAL: &[(&str, &CStr)] = &[
    ("ext3", c"noload"),
    ("ext4", c"noload"),
    ("xfs", c"norecovery"),
    ("btrfs", c"rescue=nologreplay"),
    ("f2fs", c"norecovery"),
];
