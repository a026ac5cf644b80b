//! The root file system that the kernel unpacked an image into, and how to give it up.
//!
//! An [`Initramfs`] is proof that the root file system is an initramfs and that this process is its
//! first one: nothing is mounted, moved or removed without this proof. All operations use the
//! descriptor of its root, which no other file system can replace.

#[cfg(test)]
mod alone;
mod empty;
mod facts;
mod keyboard;
#[expect(unsafe_code)]
mod sys;

pub use facts::{Change, Facts, Refusal};
pub use keyboard::Keyboard;

use crate::{Error, Result};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, fstat, open, openat, renameat, stat, unlinkat};
use rustix::io::Errno;
use rustix::mount::mount_move;
use rustix::process::{chdir, chroot, fchdir};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The root file system of an initramfs whose first process is this one.
#[derive(Debug)]
pub struct Initramfs {
    root: OwnedFd,
}

impl Initramfs {
    /// Establishes the proof, without changing anything.
    ///
    /// # Errors
    /// [`Error::Refused`] names the condition that does not hold.
    pub fn prove() -> Result<Self> {
        let root = open("/", DIRECTORY, Mode::empty()).map_err(|why| failed("opening /", why))?;
        let facts = Facts::gather(root.as_fd()).map_err(|why| failed("looking at /", why))?;
        facts.judge().map_err(refused)?;
        Ok(Self { root })
    }

    /// Replaces /init with `original` (a path from the root), and removes `directory` with all its
    /// content.
    ///
    /// # Errors
    /// If /init cannot be replaced; nothing is removed then.
    pub fn restore_init(&self, original: &str, directory: &str) -> Result<()> {
        renameat(&self.root, original, &self.root, "init")
            .map_err(|why| failed("putting the image's own /init back", why))?;
        if let Ok(ours) = openat(&self.root, directory, NO_LINK, Mode::empty())
            && fstat(&ours).ok().map(|it| it.st_dev) == fstat(&self.root).ok().map(|it| it.st_dev)
        {
            let _ = empty::empty(ours.as_fd());
            let _ = unlinkat(&self.root, directory, AtFlags::REMOVEDIR);
        }
        Ok(())
    }

    /// Tells the kernel's btrfs that a part of a file system is on this device: one over several devices is
    /// mounted once all are known.
    ///
    /// # Errors
    /// If there is no btrfs, or it does not take the device.
    pub fn btrfs_part(&self, device: &Path) -> Result<()> {
        let control = open("/dev/btrfs-control", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        let told =
            control.and_then(|control| sys::scan_device(control.as_fd(), device.as_os_str().as_bytes()));
        told.map_err(|why| failed(&format!("telling btrfs of {}", device.display()), why))
    }

    /// Decides whether `new_root` may replace the root. /proc must be mounted.
    ///
    /// # Errors
    /// [`Error::Refused`] gives the reason.
    pub fn replaceable_by(&self, new_root: &Path) -> Result<Replacement> {
        let new_root =
            open(new_root, NO_LINK, Mode::empty()).map_err(|why| failed("opening the new root", why))?;
        let change = Change::gather(self.root.as_fd(), new_root.as_fd())
            .map_err(|why| failed("looking at the new root", why))?;
        change.judge().map_err(refused)?;
        let old =
            self.root.try_clone().map_err(|source| Error::Io { what: "opening /".to_owned(), source })?;
        Ok(Replacement { old, new: new_root })
    }
}

/// An initramfs and the file system that replaces it.
#[derive(Debug)]
pub struct Replacement {
    old: OwnedFd,
    new: OwnedFd,
}

impl Replacement {
    /// Makes the new root the root of this process, then frees the memory of the old one, on which
    /// nothing is mounted any longer.
    ///
    /// # Errors
    /// If the kernel does not change the root; nothing is removed then.
    pub fn complete(self) -> Result<()> {
        let moved = fchdir(&self.new)
            .and_then(|()| mount_move(".", "/"))
            .and_then(|()| chroot("."))
            .and_then(|()| chdir("/"));
        moved.map_err(|why| failed("switching to the new root", why))?;
        // The root is the new one by now; the directory to be emptied is not.
        let root = stat("/").map_err(|why| failed("looking at the new root", why))?;
        let old = fstat(&self.old).map_err(|why| failed("looking at the old root", why))?;
        if root.st_dev == old.st_dev {
            return Err(refused(Refusal::SameDevice));
        }
        let _ = empty::empty(self.old.as_fd());
        Ok(())
    }
}

fn failed(what: &str, why: Errno) -> Error {
    Error::Io { what: what.to_owned(), source: why.into() }
}

fn refused(why: Refusal) -> Error {
    crate::Refusal::NotInitramfs.because(format!("Refused, with nothing changed: {why}"))
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const NO_LINK: OFlags = DIRECTORY.union(OFlags::NOFOLLOW);

#[cfg(test)]
mod tests {
    use super::alone::alone;
    use super::*;
    use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};
    use std::fs;

    const NO_FLAGS: MountFlags = MountFlags::empty();

    /// Sets up a machine in the state after the kernel started /init: this process is the first,
    /// and `/` is a tmpfs.
    fn booted() {
        let base = std::env::temp_dir().join(format!("keyway-initramfs-{}", std::process::id()));
        fs::create_dir_all(&base).unwrap();
        mount("tmpfs", &base, "tmpfs", NO_FLAGS, None).unwrap();
        for directory in ["proc", "sysroot", "keyway/keys", "bin", "outside"] {
            fs::create_dir_all(base.join(directory)).unwrap();
        }
        fs::write(base.join("keyway/original-init"), "#!/bin/sh\n").unwrap();
        fs::write(base.join("keyway/keys/root"), "secret").unwrap();
        fs::write(base.join("bin/program"), "x").unwrap();
        fs::write(base.join("init"), "").unwrap();
        mount("proc", base.join("proc"), "proc", NO_FLAGS, None).unwrap();
        // The running program, as /init: its file is elsewhere.
        mount_bind("/proc/self/exe", base.join("init")).unwrap();
        mount("tmpfs", base.join("outside"), "tmpfs", NO_FLAGS, None).unwrap();
        fs::write(base.join("outside/data"), "data").unwrap();
        chdir(&base).unwrap();
        chroot(".").unwrap();
    }

    #[test]
    fn the_root_of_this_system_is_none() {
        alone("initramfs::tests::the_root_of_this_system_is_none", || {
            let error = Initramfs::prove().unwrap_err().to_string();
            assert!(error.starts_with("Refused, with nothing changed: / is neither ramfs nor"), "{error}");
        });
    }

    #[test]
    fn an_initramfs_gets_its_own_init_back() {
        alone("initramfs::tests::an_initramfs_gets_its_own_init_back", || {
            booted();
            assert!(
                Initramfs::prove().unwrap_err().to_string().contains("there is no /init"),
                "another device's"
            );
            let root = open("/", DIRECTORY, Mode::empty()).unwrap();
            assert!(Change::gather(root.as_fd(), root.as_fd()).unwrap().is_own_init);
            unmount("/init", UnmountFlags::DETACH).unwrap();
            assert!(!Change::gather(root.as_fd(), root.as_fd()).unwrap().is_own_init);
            fs::write("/init", "ours").unwrap();
            let image = Initramfs::prove().unwrap();
            assert!(image.restore_init("keyway/none", "keyway").is_err());
            assert!(fs::exists("/keyway/keys/root").unwrap(), "nothing is removed before");
            image.restore_init("keyway/original-init", "keyway").unwrap();
            assert_eq!(fs::read_to_string("/init").unwrap(), "#!/bin/sh\n");
            assert!(!fs::exists("/keyway").unwrap() && fs::exists("/bin/program").unwrap());
            // The target of a link in place of the directory is left alone.
            fs::write("/again", "").unwrap();
            std::os::unix::fs::symlink("bin", "/keyway").unwrap();
            image.restore_init("again", "keyway").unwrap();
            assert!(fs::exists("/bin/program").unwrap());
            fs::remove_file("/keyway").unwrap();
            // So is a mount.
            fs::create_dir("/keyway").unwrap();
            mount("tmpfs", "/keyway", "tmpfs", NO_FLAGS, None).unwrap();
            fs::write("/keyway/data", "data").unwrap();
            fs::write("/next", "").unwrap();
            image.restore_init("next", "keyway").unwrap();
            assert!(fs::exists("/keyway/data").unwrap());
        });
    }

    #[test]
    fn the_root_is_emptied_when_another_has_its_place() {
        alone("initramfs::tests::the_root_is_emptied_when_another_has_its_place", || {
            booted();
            unmount("/init", UnmountFlags::DETACH).unwrap();
            fs::copy("/proc/self/exe", "/init").unwrap();
            let old = fs::File::open("/").unwrap();
            let why = |new: &str| {
                let refusal = Initramfs::prove().unwrap().replaceable_by(Path::new(new));
                refusal.unwrap_err().to_string()
            };
            assert!(why("/sysroot").contains("the same file system as /"));
            assert!(why("/nowhere").starts_with("opening the new root: "));
            std::os::unix::fs::symlink("/outside", "/link").unwrap();
            assert!(why("/link").starts_with("opening the new root: "));
            fs::remove_file("/link").unwrap();
            mount("tmpfs", "/sysroot", "tmpfs", NO_FLAGS, None).unwrap();
            fs::create_dir("/sysroot/below").unwrap();
            assert!(why("/sysroot/below").contains("nothing is mounted on the new root"));
            // The kernel did not make this root, and its /init is a copy of this program, not the
            // program itself.
            assert!(why("/sysroot").contains("its /init is another program"));
            fs::write("/sysroot/mine", "mine").unwrap();
            let there = |path: &str| fs::exists(path).unwrap();
            assert!(there("/bin/program") && there("/keyway/keys/root"), "refusals change nothing");
            let image = Initramfs::prove().unwrap();
            let new = open("/sysroot", DIRECTORY, Mode::empty()).unwrap();
            Replacement { old: image.root, new }.complete().unwrap();
            assert!(there("/mine") && there("/below") && !there("/bin"));
            // What was mounted there is still mounted; nothing of the old root is left.
            let left = rustix::fs::Dir::read_from(&old).unwrap().map(|it| it.unwrap().file_name().to_owned());
            let mut left: Vec<_> = left.filter(|name| !name.as_bytes().starts_with(b".")).collect();
            left.sort();
            assert_eq!(left, [c"outside", c"proc"]);
            let data = openat(&old, "outside/data", OFlags::RDONLY, Mode::empty()).unwrap();
            assert_eq!(std::io::read_to_string(fs::File::from(data)).unwrap(), "data");
        });
    }
}
