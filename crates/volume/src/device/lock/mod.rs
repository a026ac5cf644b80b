//! Locks that cryptsetup honours, so that both programs can work on one device at the same time.
//!
//! Regular files are locked by `flock` on the file itself; block devices through
//! `/run/cryptsetup/L_major:minor` (cryptsetup, lib/utils_device_locking.c), in a directory that is
//! created as cryptsetup creates it. If that directory cannot be used, a reader locks the device
//! itself, and an edit is refused, because cryptsetup would not see its lock. Readers share the
//! lock; a writer holds it exclusively. All partitions of an image share its lock, which is held for
//! moments only.

use crate::device::in_use::{Holder, locker_of};
use crate::device::storage::{LockTarget, image_of};
use crate::{Error, Result, Storage};
use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, flock, fstat, major, minor, mkdir, open, openat, stat,
    statat, unlinkat,
};
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// Whether and how long to wait for the header's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locking {
    /// Take the lock, waiting at most this long for its holder.
    Wait(Duration),
    /// Take no lock at all (`--disable-locks`): recovery of a damaged copy is then disabled, as in
    /// cryptsetup.
    Disabled,
}

impl Default for Locking {
    fn default() -> Self {
        Self::Wait(Duration::from_secs(10))
    }
}

/// Shared or exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockMode {
    Shared,
    Exclusive,
}

/// A lock that is held until dropped.
#[derive(Debug)]
pub(crate) struct HeaderLock {
    fd: OwnedFd,
    /// The lock file of a block device, removed with the lock when nobody else waits for it.
    resource: Option<Resource>,
}

/// The lock of a reencryption that a process is at, as cryptsetup's: a file named by the volume's
/// UUID. Whoever reads the volume as it is meanwhile shares it. Where no such file can be made (no root), the claim on the data has to do.
#[derive(Debug)]
pub(crate) struct ReencryptionLock {
    _lock: HeaderLock,
}

impl ReencryptionLock {
    /// Takes the lock of the volume with this UUID, whose header is on `storage`.
    ///
    /// # Errors
    /// [`Error::Busy`] when another process holds it.
    pub(crate) fn acquire(
        storage: &dyn Storage,
        uuid: &str,
        mode: LockMode,
        locking: Locking,
    ) -> Result<Option<Self>> {
        if locking == Locking::Disabled || storage.lock_target().is_none() {
            return Ok(None);
        }
        let name = format!("LN_LUKS2-reencryption-{uuid}");
        loop {
            let Ok(lock) = HeaderLock::of_resource(LOCK_DIRECTORY, name.clone()) else { return Ok(None) };
            lock.wait(mode, Instant::now()).map_err(|error| match error {
                Error::Busy(_) => Error::Busy("a reencryption of this volume".into()),
                other => other,
            })?;
            if lock.is_current() {
                return Ok(Some(Self { _lock: lock }));
            }
        }
    }
}

/// A lock file's directory and its name in there.
#[derive(Debug)]
struct Resource {
    directory: OwnedFd,
    name: String,
}

impl HeaderLock {
    /// Takes the lock of `storage`; `None` where there is nothing to lock or locks are off.
    pub(crate) fn acquire(storage: &dyn Storage, mode: LockMode, locking: Locking) -> Result<Option<Self>> {
        Self::acquire_in(LOCK_DIRECTORY, storage, mode, locking)
    }

    fn acquire_in(
        directory: &str,
        storage: &dyn Storage,
        mode: LockMode,
        locking: Locking,
    ) -> Result<Option<Self>> {
        let (Locking::Wait(timeout), Some(target)) = (locking, storage.lock_target()) else {
            return Ok(None);
        };
        let deadline = Instant::now() + timeout;
        loop {
            let lock = Self::open(directory, &target, mode)?;
            lock.wait(mode, deadline)?;
            if lock.is_current() {
                return Ok(Some(lock));
            }
        }
    }

    /// Waits, without an end, for the lock of something that is no device: `LN_` and its name.
    pub(crate) fn of_name(name: &str) -> std::io::Result<Self> {
        Self::of_name_in(LOCK_DIRECTORY, name)
    }

    fn of_name_in(directory: &str, name: &str) -> std::io::Result<Self> {
        loop {
            let lock = Self::of_resource(directory, name.to_owned())?;
            flock(&lock.fd, FlockOperation::LockExclusive)?;
            if lock.is_current() {
                return Ok(lock);
            }
        }
    }

    fn open(directory: &str, target: &LockTarget<'_>, mode: LockMode) -> Result<Self> {
        match *target {
            LockTarget::File { fd, .. } => Ok(Self { fd: reopen(fd)?, resource: None }),
            LockTarget::BlockDevice { major, minor, fd, .. } => {
                match Self::of_resource(directory, format!("L_{major}:{minor}")) {
                    Ok(lock) => Ok(lock),
                    Err(why) if mode == LockMode::Exclusive => {
                        Err(Error::NoLock(format!("{directory} cannot be used, {why}")))
                    }
                    Err(_) => Ok(Self { fd: reopen(fd)?, resource: None }),
                }
            }
        }
    }

    fn of_resource(directory: &str, name: String) -> std::io::Result<Self> {
        let directory = lock_directory(directory)?;
        let flags = OFlags::CREATE | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        let fd = openat(&directory, name.as_str(), flags, mode)?;
        Ok(Self { fd, resource: Some(Resource { directory, name }) })
    }

    /// `flock` has no timeout of its own: retries until the deadline.
    fn wait(&self, mode: LockMode, deadline: Instant) -> Result<()> {
        let operation = match mode {
            LockMode::Shared => FlockOperation::NonBlockingLockShared,
            LockMode::Exclusive => FlockOperation::NonBlockingLockExclusive,
        };
        loop {
            match flock(&self.fd, operation) {
                Ok(()) => return Ok(()),
                Err(Errno::WOULDBLOCK) if Instant::now() < deadline => std::thread::sleep(POLL),
                Err(Errno::WOULDBLOCK) => return Err(Error::Busy("the LUKS header".into())),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(lock_error(errno)),
            }
        }
    }

    /// Whether the lock file is still the one with this name: its previous holder may have removed
    /// it while we waited.
    fn is_current(&self) -> bool {
        let Some(Resource { directory, name }) = &self.resource else { return true };
        let named = statat(directory, name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
        match (fstat(&self.fd), named) {
            (Ok(ours), Ok(named)) => ours.st_ino == named.st_ino && ours.st_dev == named.st_dev,
            _ => false,
        }
    }
}

impl Drop for HeaderLock {
    fn drop(&mut self) {
        if let Some(Resource { directory, name }) = &self.resource
            && flock(&self.fd, FlockOperation::NonBlockingLockExclusive).is_ok()
            && self.is_current()
        {
            // A lock file that is left behind does no harm.
            let _ = unlinkat(directory, name.as_str(), AtFlags::empty());
        }
    }
}

/// The process that holds the lock of the header on `device`, if it can be seen.
pub fn holder(device: &Path) -> Option<Holder> {
    let device = &image_of(device);
    let found = stat(device).ok()?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::BlockDevice => {
            let name = format!("L_{}:{}", major(found.st_rdev), minor(found.st_rdev));
            locker_of(&Path::new(LOCK_DIRECTORY).join(name))
        }
        _ => locker_of(device),
    }
}

/// The directory of the lock files, created if missing. Users who can write to it could block every
/// edit, or hide it from cryptsetup.
fn lock_directory(path: &str) -> std::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    let opened = open(path, flags, Mode::empty()).or_else(|error| match error {
        Errno::NOENT => match mkdir(path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => open(path, flags, Mode::empty()),
            Err(error) => Err(error),
        },
        error => Err(error),
    });
    let directory = opened?;
    let found = fstat(&directory)?;
    let is_trusted = [0, rustix::process::geteuid().as_raw()].contains(&found.st_uid);
    if !is_trusted || found.st_mode & OTHERS_MAY_WRITE != 0 {
        return Err(std::io::Error::other("users other than root can write to it"));
    }
    Ok(directory)
}

/// A separate open file description, so that the lock belongs to us and is not shared with the
/// holder of `fd`.
fn reopen(fd: BorrowedFd<'_>) -> Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let flags = OFlags::CLOEXEC | OFlags::NONBLOCK;
    open(path.as_str(), flags | OFlags::RDWR, Mode::empty())
        .or_else(|_| open(path.as_str(), flags | OFlags::RDONLY, Mode::empty()))
        .or_else(|_| rustix::io::fcntl_dupfd_cloexec(fd.as_fd(), 0))
        .map_err(lock_error)
}

fn lock_error(errno: Errno) -> Error {
    Error::Io { what: "locking the LUKS header".into(), source: errno.into() }
}

const LOCK_DIRECTORY: &str = "/run/cryptsetup";
const OTHERS_MAY_WRITE: u32 = 0o022;
const POLL: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests;
