//! Key files and headers: in the image, on another device (`PATH:DEVICE`), which is mounted read-only while
//! the file is needed, or a device themselves.

use super::find;
use crate::output::failure::{Exit, Failure, Result};
use keyway_boot::device_spec::{is_device, parts};
use keyway_volume::Storage;
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
    pub(super) fn reach(named: &OsStr, limit: Duration, what: &str) -> Result<Self> {
        let text = named.to_string_lossy();
        let node = |device: &str| {
            find::reach(device.as_ref(), limit)
                .map_err(|why| Failure::new(Exit::Device, format!("The {what}'s device {why}.")))
        };
        match parts(&text)[..] {
            [path, device] => {
                let place = mount_read_only(&node(device)?, what)?;
                Ok(Self { path: place.join(path.trim_start_matches('/')), mounted: Some(place) })
            }
            [device] if is_device(device) => Ok(Self { path: node(device)?, mounted: None }),
            _ => Ok(Self { path: named.into(), mounted: None }),
        }
    }

    /// Overwrites and removes the file (keyfile-erase); one on another device, which is mounted for reading only, stays.
    pub(super) fn erase(&self) {
        let shown = self.path.display();
        let is_file = fs::symlink_metadata(&self.path).is_ok_and(|found| found.is_file());
        if self.mounted.is_some() || !is_file {
            say!("WARNING: {shown} is not erased: it is not a file of this system.");
            return;
        }
        let erased = overwrite(&self.path).and_then(|()| fs::remove_file(&self.path));
        if let Err(error) = erased {
            say!("WARNING: {shown} is not erased: {error}.");
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

fn overwrite(path: &Path) -> std::io::Result<()> {
    let file = File::overwrite(path)?;
    let (zeros, length) = (vec![0; BLOCK], file.len());
    for start in (0..length).step_by(BLOCK) {
        let left = usize::try_from(length - start).unwrap_or(BLOCK);
        file.write_at(&zeros[..left.min(BLOCK)], start)?;
    }
    file.flush()
}

/// Tries the kernel's file systems one after the other; the mount point is private to this process.
fn mount_read_only(node: &Path, what: &str) -> Result<PathBuf> {
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
    match mount_any(node, &place, flags, None) {
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
/// As much of a file is overwritten at a time: one with a key may be a whole stick's.
const BLOCK: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_any_length_is_overwritten_whole() {
        let path = std::env::temp_dir().join(format!("keyway-erased-{}", std::process::id()));
        for length in [0, 1, BLOCK - 1, BLOCK, 3 * BLOCK + 5] {
            fs::write(&path, vec![7; length]).unwrap();
            overwrite(&path).unwrap();
            assert_eq!(fs::read(&path).unwrap(), vec![0; length]);
        }
        fs::remove_file(&path).unwrap();
    }
}
