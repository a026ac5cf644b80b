//! One program at a time derives a key that takes a lot of memory: flock(2) on the file that
//! cryptsetup locks for `--serialize-memory-hard-pbkdf` (lib/utils_device_locking.c,
//! crypt_serialize_lock).

use crate::device::lock::HeaderLock;
use std::io;

/// This program's turn to use a lot of memory, until it is dropped.
#[derive(Debug)]
pub struct Turn(#[allow(dead_code, reason = "holds the lock")] HeaderLock);

impl Turn {
    /// The file that is locked, and removed by the last that held it.
    pub const FILE: &str = "/run/cryptsetup/LN_memory-hard-access";

    /// Waits until no other program has its turn.
    ///
    /// # Errors
    /// cryptsetup's lock directory cannot be used. (cryptsetup then derives without waiting.)
    pub fn wait() -> io::Result<Self> {
        HeaderLock::of_name("LN_memory-hard-access").map(Self)
    }
}
