//! The conditions for removing anything from a root file system: facts about this process and its
//! root, and the decision based on them.
//!
//! An initramfs exists in memory only, on the kernel's rootfs, and only its first process may give
//! it up. util-linux' switch_root requires ramfs or tmpfs, and a new root on another device;
//! BusyBox's also requires process 1 and an /init. All of that is checked here, as well as cases
//! that merely look alike: a chroot into a directory of a tmpfs is not a root file system, and a
//! container on a tmpfs does not have Keyway as its /init.

use rustix::fs::{AtFlags, Stat, StatxAttributes, StatxFlags, fstat, fstatfs, stat, statx};
use rustix::io;
use std::fmt;
use std::fs;
use std::os::fd::BorrowedFd;

/// What is known about this process and its root file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The process ID, in the process's own namespace.
    pub pid: u32,
    /// The root file system's type, from statfs.
    pub kind: u32,
    /// Whether `/` is a mount point; `None` on kernels that do not report it (before Linux 5.8).
    pub is_mount: Option<bool>,
    /// Whether /init is a regular file of the root file system, or a link to one.
    pub has_init: bool,
}

/// What is known when another root is to replace the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The device of the root file system.
    pub from: u64,
    /// The device of the file system that replaces it.
    pub to: u64,
    /// Whether the new root's directory is a mount point.
    pub is_mount: Option<bool>,
    /// Whether the kernel unpacked an image into the root file system, which is then called rootfs.
    pub is_rootfs: bool,
    /// Whether /init is the running program.
    pub is_own_init: bool,
}

/// Why nothing is removed or mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Another process is the first one.
    NotFirst(u32),
    /// The root file system is on a disk or some other persistent storage.
    NotInMemory(u32),
    /// The root is a directory within a file system, not its root.
    Chroot,
    /// There is no /init.
    NoInit,
    /// The new root is the same file system.
    SameDevice,
    /// Nothing is mounted on the new root's directory.
    NotMounted,
    /// A file system in memory that was not made by the kernel and on which Keyway is not the
    /// /init.
    Foreign,
}

impl Facts {
    /// Gathers the facts about this process and `root`, its root directory.
    pub fn gather(root: BorrowedFd<'_>) -> io::Result<Self> {
        let device = fstat(root)?.st_dev;
        let init = stat("/init");
        Ok(Self {
            pid: std::process::id(),
            kind: fstatfs(root)?.f_type as u32,
            is_mount: is_mount(root),
            has_init: init.is_ok_and(|init| is_file(&init) && init.st_dev == device),
        })
    }

    /// Decides whether this is the first process of an initramfs.
    pub fn judge(self) -> Result<(), Refusal> {
        match self {
            Self { pid, .. } if pid != 1 => Err(Refusal::NotFirst(pid)),
            Self { kind, .. } if kind != RAMFS && kind != TMPFS => Err(Refusal::NotInMemory(kind)),
            Self { is_mount: Some(false), .. } => Err(Refusal::Chroot),
            Self { has_init: false, .. } => Err(Refusal::NoInit),
            _ => Ok(()),
        }
    }
}

impl Change {
    /// Gathers the facts for a change from `root`, this process's root directory, to `new_root`.
    /// /proc must be mounted.
    pub fn gather(root: BorrowedFd<'_>, new_root: BorrowedFd<'_>) -> io::Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = stat("/proc/self/exe").ok().zip(stat("/init").ok());
        Ok(Self {
            from: fstat(root)?.st_dev,
            to: fstat(new_root)?.st_dev,
            is_mount: is_mount(new_root),
            is_rootfs: kind_of_root(&mounts) == Some("rootfs"),
            is_own_init: own
                .is_some_and(|(own, init)| (own.st_dev, own.st_ino) == (init.st_dev, init.st_ino)),
        })
    }

    /// Decides whether the content of the old root may be removed once the new one has replaced it.
    pub fn judge(self) -> Result<(), Refusal> {
        match self {
            Self { from, to, .. } if from == to => Err(Refusal::SameDevice),
            Self { is_mount: Some(false), .. } => Err(Refusal::NotMounted),
            Self { is_rootfs: false, is_own_init: false, .. } => Err(Refusal::Foreign),
            _ => Ok(()),
        }
    }
}

/// Whether this directory is a mount point.
fn is_mount(directory: BorrowedFd<'_>) -> Option<bool> {
    let found = statx(directory, "", AtFlags::EMPTY_PATH, StatxFlags::empty()).ok()?;
    let tells = found.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT);
    tells.then(|| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

fn is_file(found: &Stat) -> bool {
    rustix::fs::FileType::from_raw_mode(found.st_mode).is_file()
}

/// The type of the file system mounted on `/`, from proc_pid_mountinfo(5); the last of several is
/// the topmost.
fn kind_of_root(mounts: &str) -> Option<&str> {
    let of_root = |line: &&str| line.split(' ').nth(4) == Some("/");
    let line = mounts.lines().rfind(of_root)?;
    line.split_once(" - ")?.1.split(' ').next()
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFirst(pid) => write!(f, "this is process {pid}, not process 1"),
            Self::NotInMemory(kind) => {
                write!(f, "/ is neither ramfs nor tmpfs (its type is {kind:#x}): this is not an initramfs")
            }
            Self::Chroot => {
                write!(f, "/ is a directory of a tmpfs, not a file system: this is not an initramfs")
            }
            Self::NoInit => write!(f, "there is no /init: this is not an initramfs"),
            Self::SameDevice => write!(f, "the new root is on the same file system as /"),
            Self::NotMounted => write!(f, "nothing is mounted on the new root"),
            Self::Foreign => {
                write!(
                    f,
                    "/ is not the kernel's rootfs, and its /init is another program: this is not an initramfs"
                )
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// RAMFS_MAGIC and TMPFS_MAGIC (Linux, include/uapi/linux/magic.h).
const RAMFS: u32 = 0x8584_58f6;
const TMPFS: u32 = 0x0102_1994;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    const GOOD: Facts = Facts { pid: 1, kind: TMPFS, is_mount: Some(true), has_init: true };

    #[test]
    fn every_fact_counts() {
        assert_eq!(GOOD.judge(), Ok(()));
        assert_eq!(Facts { kind: RAMFS, is_mount: None, ..GOOD }.judge(), Ok(()));
        for pid in [0, 2, 4711] {
            assert_eq!(Facts { pid, ..GOOD }.judge(), Err(Refusal::NotFirst(pid)));
        }
        // ext4, overlayfs, btrfs, squashfs, proc.
        for kind in [0xef53, 0x794c_7630, 0x9123_683e, 0x7371_7368, 0x9fa0, 0] {
            assert_eq!(Facts { kind, ..GOOD }.judge(), Err(Refusal::NotInMemory(kind)));
        }
        assert_eq!(Facts { is_mount: Some(false), ..GOOD }.judge(), Err(Refusal::Chroot));
        assert_eq!(Facts { has_init: false, ..GOOD }.judge(), Err(Refusal::NoInit));
    }

    #[test]
    fn every_fact_about_the_new_root_counts() {
        let good = Change { from: 2, to: 65024, is_mount: Some(true), is_rootfs: true, is_own_init: false };
        assert_eq!(good.judge(), Ok(()));
        assert_eq!(Change { is_rootfs: false, is_own_init: true, is_mount: None, ..good }.judge(), Ok(()));
        assert_eq!(Change { to: 2, ..good }.judge(), Err(Refusal::SameDevice));
        assert_eq!(Change { is_mount: Some(false), ..good }.judge(), Err(Refusal::NotMounted));
        assert_eq!(Change { is_rootfs: false, ..good }.judge(), Err(Refusal::Foreign));
    }

    #[test]
    fn the_facts_here_are_no_initramfs() {
        let root = File::open("/").unwrap();
        let facts = Facts::gather(root.as_fd()).unwrap();
        assert_eq!(facts.pid, std::process::id());
        assert!(facts.judge().is_err(), "{facts:?}");
        let here = File::open(env!("CARGO_MANIFEST_DIR")).unwrap();
        assert_ne!(is_mount(here.as_fd()), Some(true));
        let proc = File::open("/proc").unwrap();
        assert_ne!(is_mount(proc.as_fd()), Some(false));
        let change = Change::gather(root.as_fd(), root.as_fd()).unwrap();
        assert_eq!(change.judge(), Err(Refusal::SameDevice));
        assert!(!change.is_own_init, "these tests are nobody's /init");
        assert!(is_file(&stat("/proc/self/exe").unwrap()) && !is_file(&stat("/").unwrap()));
    }

    #[test]
    fn the_kind_of_the_root() {
        let booted =
            "1 1 0:2 / / rw - rootfs rootfs rw,size=9k\n20 1 0:19 / /proc rw shared:1 - proc proc rw\n";
        assert_eq!(kind_of_root(booted), Some("rootfs"));
        let container = "600 500 0:50 / / rw,relatime master:9 - overlay overlay rw\n601 600 0:4 / /proc rw - proc proc rw\n";
        assert_eq!(kind_of_root(container), Some("overlay"));
        let covered = "1 1 0:2 / / rw - rootfs rootfs rw\n30 1 0:40 /deep / rw - tmpfs rootfs rw\n";
        assert_eq!(kind_of_root(covered), Some("tmpfs"));
        assert_eq!(kind_of_root("20 1 0:19 / /x rw - rootfs rootfs rw\n"), None);
        assert_eq!(kind_of_root(""), None);
    }
}
