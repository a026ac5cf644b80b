//! One program at a time derives a key that takes a lot of memory: flock(2) on the file that
//! cryptsetup locks for `--serialize-memory-hard-pbkdf` (lib/utils_device_locking.c,
//! crypt_serialize_lock).

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::io;
use std::os::fd::OwnedFd;

/// This program's turn to use a lot of memory, until it is dropped.
#[derive(Debug)]
pub struct Turn(#[allow(dead_code, reason = "holds the lock")] OwnedFd);

impl Turn {
    /// The file that is locked.
    pub const FILE: &str = "/run/cryptsetup/LN_memory-hard-access";

    /// Waits until no other program has its turn.
    ///
    /// # Errors
    /// cryptsetup's lock directory cannot be used. (cryptsetup then derives without waiting.)
    pub fn wait() -> io::Result<Self> {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = open(Self::FILE, flags, Mode::RUSR | Mode::WUSR)?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(Self(file))
    }
}
