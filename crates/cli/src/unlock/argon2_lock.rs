//! `--serialize-memory-hard-pbkdf`: only one program at a time derives a key that takes a lot of
//! memory.
//!
//! cryptsetup takes the same lock (lib/utils_device_locking.c, crypt_serialize_lock): flock on a
//! file in its lock directory.

use crate::say::failure::Result;
use crate::say::output;
use crate::unlock::KeyOptions;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::os::fd::OwnedFd;

/// Waits for this program's turn, if requested; the turn ends when the result is dropped. If
/// cryptsetup's lock directory cannot be used, the program does not wait, as in cryptsetup.
pub(super) fn turn(key: &KeyOptions) -> Result<Option<OwnedFd>> {
    if !key.one_at_a_time {
        return Ok(None);
    }
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = open(LOCK, flags, Mode::RUSR | Mode::WUSR).and_then(|file| {
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    });
    if let Err(error) = &file {
        output::debug(key.manner, &format!("{LOCK} cannot be locked: {error}."))?;
    }
    Ok(file.ok())
}

const LOCK: &str = "/run/cryptsetup/LN_memory-hard-access";
