//! `--serialize-memory-hard-pbkdf`: one program at a time derives a key that takes much memory.
//!
//! cryptsetup takes the same lock (lib/utils_device_locking.c,
//! crypt_serialize_lock): a file in its lock directory, by flock.

use crate::say::failure::Result;
use crate::say::output;
use crate::unlock::KeyOptions;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::os::fd::OwnedFd;

/// This program's turn, if turns are taken; it ends when this is dropped. Where cryptsetup's
/// directory may not be used nobody waits for anybody, as with cryptsetup.
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
