//! The kernel's key retention service, through its system calls (add_key(2), request_key(2),
//! keyctl(2)).

use keyway_crypto::Secret;
use rustix::io::{Errno, Result};
use std::ffi::CStr;
use std::io::Error;
use std::ptr::null;

/// Adds a key to a keyring and returns its serial number.
pub(in crate::dm) fn add_key(kind: &CStr, description: &CStr, payload: &[u8], keyring: i32) -> Result<i32> {
    // SAFETY: two NUL-terminated strings, and a payload with its own length.
    checked(unsafe {
        libc::syscall(
            libc::SYS_add_key,
            kind.as_ptr(),
            description.as_ptr(),
            payload.as_ptr(),
            payload.len(),
            keyring,
        )
    })
}

/// The serial number of a key in this process's keyrings, or of one that other users let it find.
pub(in crate::dm) fn request_key(kind: &CStr, description: &CStr) -> Result<i32> {
    // SAFETY: two NUL-terminated strings; no callout text, no destination keyring.
    checked(unsafe {
        libc::syscall(libc::SYS_request_key, kind.as_ptr(), description.as_ptr(), null::<u8>(), 0)
    })
}

/// Performs an operation on a key and a keyring.
pub(in crate::dm) fn keyctl(operation: u32, key: i32, keyring: i32) -> Result<()> {
    // SAFETY: the operations take two numbers.
    checked(unsafe { libc::syscall(libc::SYS_keyctl, operation, key, keyring) }).map(drop)
}

/// A key's payload.
pub(in crate::dm) fn read_key(key: i32) -> Result<Secret> {
    let mut payload = Secret::zeroed(0);
    loop {
        let len = payload.len();
        let out = payload.expose_mut().as_mut_ptr();
        // SAFETY: the pointer is valid for `len` bytes; the kernel writes no more.
        let needed =
            checked(unsafe { libc::syscall(libc::SYS_keyctl, KEYCTL_READ, key, out, len) })? as usize;
        if needed <= len {
            return Ok(payload);
        }
        payload = Secret::zeroed(needed);
    }
}

fn checked(result: libc::c_long) -> Result<i32> {
    if result >= 0 {
        return Ok(result as i32);
    }
    Err(Errno::from_io_error(&Error::last_os_error()).unwrap_or(Errno::IO))
}

/// Operations (include/uapi/linux/keyctl.h).
pub(in crate::dm) const KEYCTL_UNLINK: u32 = 9;
const KEYCTL_READ: u32 = 11;
