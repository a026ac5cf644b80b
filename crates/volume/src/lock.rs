//! Locks that cryptsetup honours, so that both can work on one device at the same time.
//!
//! Regular files are locked by `flock` on the file itself; block devices through `/run/cryptsetup/L_major:minor` where
//! that directory can be used, otherwise by `flock` on the device. Readers share, writers exclude.

use crate::storage::LockTarget;
use crate::{Error, Result, Storage};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open, stat, unlink};
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Whether and how long to wait for the header's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locking {
    /// Take the lock, waiting at most this long for its holder.
    Wait(Duration),
    /// Take no lock at all (`--disable-locks`): recovery of a damaged copy is then off, as in cryptsetup.
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

/// A lock that is held until it is dropped.
pub(crate) struct HeaderLock {
    fd: OwnedFd,
    /// The lock file of a block device, removed with the lock when nobody else waits for it.
    resource: Option<String>,
}

impl HeaderLock {
    /// Takes the lock of `storage`; `None` where there is nothing to lock or locks are off.
    pub(crate) fn acquire(storage: &dyn Storage, mode: LockMode, locking: Locking) -> Result<Option<Self>> {
        let (Locking::Wait(patience), Some(target)) = (locking, storage.lock_target()) else {
            return Ok(None);
        };
        let deadline = Instant::now() + patience;
        loop {
            let lock = Self::open(&target)?;
            lock.wait(mode, deadline)?;
            if lock.is_current() {
                return Ok(Some(lock));
            }
        }
    }

    fn open(target: &LockTarget<'_>) -> Result<Self> {
        match *target {
            LockTarget::File(fd) => Ok(Self { fd: reopen(fd)?, resource: None }),
            LockTarget::BlockDevice { major, minor, fd } => {
                let path = format!("{LOCK_DIRECTORY}/L_{major}:{minor}");
                let flags = OFlags::CREATE | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
                let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
                match open(path.as_str(), flags, mode) {
                    Ok(fd) => Ok(Self { fd, resource: Some(path) }),
                    Err(_) => Ok(Self { fd: reopen(fd)?, resource: None }),
                }
            }
        }
    }

    /// `flock` has no timeout of its own: asks again until the deadline.
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

    /// Whether the lock file is still the one under its name: its holder may have removed it while we waited.
    fn is_current(&self) -> bool {
        let Some(path) = &self.resource else { return true };
        match (fstat(&self.fd), stat(path.as_str())) {
            (Ok(ours), Ok(named)) => ours.st_ino == named.st_ino && ours.st_dev == named.st_dev,
            _ => false,
        }
    }
}

impl Drop for HeaderLock {
    fn drop(&mut self) {
        if let Some(path) = &self.resource
            && flock(&self.fd, FlockOperation::NonBlockingLockExclusive).is_ok()
            && self.is_current()
        {
            // A file that stays behind does no harm.
            let _ = unlink(path.as_str());
        }
    }
}

/// A description of our own, so that the lock is ours and not shared with whoever holds `fd`.
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
const POLL: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::File;

    #[test]
    fn writers_exclude_and_readers_share() {
        let path = std::env::temp_dir().join(format!("keyway-lock-{}", std::process::id()));
        std::fs::write(&path, b"header").unwrap();
        let storage = File::open_rw(&path).unwrap();
        let soon = Locking::Wait(Duration::from_millis(60));
        let reader = HeaderLock::acquire(&storage, LockMode::Shared, soon).unwrap();
        assert!(HeaderLock::acquire(&storage, LockMode::Shared, soon).unwrap().is_some());
        let busy = HeaderLock::acquire(&storage, LockMode::Exclusive, soon);
        assert!(matches!(busy, Err(Error::Busy(_))));
        assert!(HeaderLock::acquire(&storage, LockMode::Exclusive, Locking::Disabled).unwrap().is_none());
        drop(reader);
        assert!(HeaderLock::acquire(&storage, LockMode::Exclusive, soon).unwrap().is_some());
        std::fs::remove_file(&path).unwrap();
    }
}
