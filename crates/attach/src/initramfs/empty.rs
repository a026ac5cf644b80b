//! Empties a directory of one file system, through descriptors: a path may come to lead elsewhere
//! in the meantime, a descriptor cannot.
//!
//! The kernel itself protects what must stay: removing a mount point fails with EBUSY, even for a
//! mount of the same file system (a bind mount). A directory is then opened without following links
//! or crossing mounts (openat2(2), where the kernel has it), and must be on the same device.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, ResolveFlags, fstat, openat, openat2, unlinkat};
use rustix::io::{self, Errno};
use std::ffi::CString;

/// Removes the content of `directory`. Anything that cannot be removed, or belongs to another file
/// system, stays.
pub(super) fn empty(directory: BorrowedFd<'_>) -> io::Result<()> {
    let device = fstat(directory)?.st_dev;
    remove_below(directory, device, 0)
}

fn remove_below(directory: BorrowedFd<'_>, device: u64, depth: usize) -> io::Result<()> {
    // Reads all names first: a directory modified while being read may skip some.
    for name in names(directory)? {
        if unlinkat(directory, &name, AtFlags::empty()).is_ok() || depth == DEEPEST {
            continue;
        }
        match unlinkat(directory, &name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            // It is gone, or it is a mount point.
            _ => continue,
        }
        let Ok(below) = open_below(directory, &name) else { continue };
        if fstat(&below)?.st_dev == device {
            let _ = remove_below(below.as_fd(), device, depth + 1);
            let _ = unlinkat(directory, &name, AtFlags::REMOVEDIR);
        }
    }
    Ok(())
}

fn names(directory: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if name.as_bytes() != b"." && name.as_bytes() != b".." {
            names.push(name);
        }
    }
    Ok(names)
}

/// Opens a directory in a directory: never a link's target, and only within the same mount.
fn open_below(directory: BorrowedFd<'_>, name: &CString) -> io::Result<OwnedFd> {
    match openat2(directory, name, BELOW, Mode::empty(), WITHIN) {
        // Before Linux 5.6, or forbidden by a container's filter: the device is compared in any
        // case.
        Err(Errno::NOSYS | Errno::PERM) => openat(directory, name, BELOW, Mode::empty()),
        opened => opened,
    }
}

const BELOW: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const WITHIN: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_XDEV);
/// The maximum nesting depth; each level needs an open descriptor.
const DEEPEST: usize = 200;

#[cfg(test)]
mod tests {
    use super::super::alone::alone;
    use super::*;
    use rustix::mount::{MountFlags, mount, mount_bind};
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("keyway-empty-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn everything_goes_and_no_link_is_followed() {
        let (place, outside) = (scratch("all"), scratch("outside"));
        fs::write(outside.join("mine"), "mine").unwrap();
        fs::create_dir_all(place.join("a/b/c")).unwrap();
        fs::create_dir_all(place.join("hollow")).unwrap();
        fs::write(place.join("a/b/c/file"), "x").unwrap();
        fs::write(place.join(".hidden"), "x").unwrap();
        symlink(&outside, place.join("a/link")).unwrap();
        symlink(outside.join("mine"), place.join("file-link")).unwrap();
        let opened = File::open(&place).unwrap();
        // Never the directory itself, nor its parent.
        let mut found = names(opened.as_fd()).unwrap();
        found.sort();
        assert_eq!(found, [c".hidden", c"a", c"file-link", c"hollow"].map(ToOwned::to_owned));
        // The path leads elsewhere by now; the descriptor does not.
        let moved = place.with_extension("moved");
        fs::rename(&place, &moved).unwrap();
        symlink(&outside, &place).unwrap();
        empty(opened.as_fd()).unwrap();
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(outside.join("mine")).unwrap(), "mine");
        assert!(open_below(opened.as_fd(), &CString::new("..").unwrap()).is_err());
        fs::remove_file(place).unwrap();
        fs::remove_dir(moved).unwrap();
        fs::remove_dir_all(outside).unwrap();
    }

    /// Only a directory nested deeper than the limit on open descriptors stays.
    #[test]
    fn depth_has_an_end() {
        let place = scratch("deep");
        let deep: PathBuf = std::iter::repeat_n("d", DEEPEST + 3).collect();
        fs::create_dir_all(place.join(deep)).unwrap();
        empty(File::open(&place).unwrap().as_fd()).unwrap();
        let left: PathBuf = std::iter::repeat_n("d", DEEPEST + 2).collect();
        assert!(place.join(&left).exists());
        empty(File::open(place.join("d/d/d")).unwrap().as_fd()).unwrap();
        empty(File::open(&place).unwrap().as_fd()).unwrap();
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
        fs::remove_dir(place).unwrap();
    }

    /// Other file systems, and the same one bind-mounted below itself.
    #[test]
    fn what_is_mounted_stays() {
        alone("initramfs::empty::tests::what_is_mounted_stays", || {
            let base = scratch("mounts");
            mount("tmpfs", &base, "tmpfs", MountFlags::empty(), None).unwrap();
            let (root, apart) = (base.join("root"), base.join("apart"));
            for directory in [&root.join("deep/other"), &root.join("deep/same"), &root.join("gone"), &apart] {
                fs::create_dir_all(directory).unwrap();
            }
            fs::write(apart.join("mine"), "mine").unwrap();
            fs::write(root.join("deep/file"), "").unwrap();
            fs::write(root.join("gone/file"), "").unwrap();
            mount("tmpfs", root.join("deep/other"), "tmpfs", MountFlags::empty(), None).unwrap();
            fs::write(root.join("deep/other/data"), "data").unwrap();
            // The same device at another place, and a single file of it.
            mount_bind(&apart, root.join("deep/same")).unwrap();
            mount_bind(apart.join("mine"), root.join("deep/file")).unwrap();
            let opened = File::open(&root).unwrap();
            let deep = File::open(root.join("deep")).unwrap();
            for name in ["other", "same"] {
                let name = CString::new(name).unwrap();
                assert!(open_below(deep.as_fd(), &name).is_err(), "{name:?}: another mount");
            }
            empty(opened.as_fd()).unwrap();
            assert_eq!(fs::read_to_string(apart.join("mine")).unwrap(), "mine");
            assert_eq!(fs::read_to_string(root.join("deep/other/data")).unwrap(), "data");
            assert_eq!(fs::read_to_string(root.join("deep/file")).unwrap(), "mine");
            assert!(!root.join("gone").exists());
            // Nothing on the other device is removed even without openat2 and EBUSY to prevent it.
            let other = File::open(root.join("deep/other")).unwrap();
            fs::create_dir(root.join("deep/other/below")).unwrap();
            fs::write(root.join("deep/other/below/x"), "").unwrap();
            remove_below(other.as_fd(), fstat(&opened).unwrap().st_dev, 0).unwrap();
            assert!(root.join("deep/other/below/x").exists());
        });
    }
}
