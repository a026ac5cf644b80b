//! A System V semaphore, through its system calls (semget(2), semop(2), semctl(2)).

use rustix::io::{Errno, Result};
use std::io::Error;
use std::ptr::null;
use std::time::Duration;

/// A semaphore that is removed on drop.
#[derive(Debug)]
pub(in crate::dm) struct Semaphore(libc::c_long);

impl Semaphore {
    /// Creates a semaphore with this key and value; `EXIST` when the key is taken.
    pub(in crate::dm) fn new(key: i32, value: i32) -> Result<Self> {
        let flags = 0o600 | libc::IPC_CREAT | libc::IPC_EXCL;
        // SAFETY: semget takes three numbers.
        let id = checked(unsafe { libc::syscall(libc::SYS_semget, key, 1, flags) })?;
        let semaphore = Self(id);
        // SAFETY: SETVAL takes four numbers.
        checked(unsafe { libc::syscall(libc::SYS_semctl, id, 0, libc::SETVAL, value) })?;
        Ok(semaphore)
    }

    /// Returns when the semaphore is zero; `AGAIN` when that takes longer than the limit.
    pub(in crate::dm) fn wait_for_zero(&self, limit: Duration) -> Result<()> {
        let zero = libc::sembuf { sem_num: 0, sem_op: 0, sem_flg: 0 };
        let limit = [limit.as_secs() as libc::c_long, libc::c_long::from(limit.subsec_nanos())];
        // SAFETY: both pointers are valid for the call: one sembuf, and a timespec of two words.
        checked(unsafe {
            libc::syscall(libc::SYS_semtimedop, self.0, &raw const zero, 1_usize, limit.as_ptr())
        })
        .map(drop)
    }
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        // SAFETY: IPC_RMID ignores its last argument.
        unsafe { libc::syscall(libc::SYS_semctl, self.0, 0, libc::IPC_RMID, null::<u8>()) };
    }
}

fn checked(result: libc::c_long) -> Result<libc::c_long> {
    if result >= 0 {
        return Ok(result);
    }
    Err(Errno::from_io_error(&Error::last_os_error()).unwrap_or(Errno::IO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_at_zero_or_at_the_limit() {
        let key = 0x0d4e_0000 | i32::try_from(std::process::id() & 0xffff).unwrap();
        let one = Semaphore::new(key, 1).unwrap();
        assert_eq!(Semaphore::new(key, 1).unwrap_err(), Errno::EXIST);
        assert_eq!(one.wait_for_zero(Duration::from_millis(20)), Err(Errno::AGAIN));
        drop(one);
        Semaphore::new(key, 0).unwrap().wait_for_zero(Duration::from_secs(5)).unwrap();
    }
}
