//! The byte locks by which QEMU tells its own processes apart (qemu,
//! block/file-posix.c, "raw_apply_lock_bytes" and docs/system/qemu-block-drivers, "Disk
//! image file locking"), so that QEMU and Keyway refuse each other.
//!
//! Byte 100+N is locked by who uses permission N, byte 200+N by who does not share it with
//! others; all locks are shared ones, held by the open file description, and looking for
//! another's is asking whether an exclusive one could be had.

use super::{Access, failed, reopen};
use crate::Result;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use std::os::fd::{BorrowedFd, OwnedFd};

/// What came of marking a file.
#[derive(Debug)]
pub(super) enum Marks {
    /// It is marked until this is dropped.
    Set(OwnedFd),
    /// Its file system, or this kernel, has no such locks.
    Unknown,
    /// Somebody else's marks say that it is in use.
    Refused,
}

impl Marks {
    /// Marks `file` for this use of it.
    pub(super) fn set(file: BorrowedFd<'_>, access: Access, shared: bool) -> Result<Self> {
        // A description of our own: locks live and die with it.
        let own = reopen(file, OFlag::empty()).map_err(failed)?;
        let wants = Wants::of(access, shared);
        // First the marks, then a look around: of two who come at the
        // same time at least one sees the other.
        for byte in wants.marks() {
            match fcntl(&own, FcntlArg::F_OFD_SETLK(&at(byte, libc::F_RDLCK))) {
                Ok(_) => {}
                // An exclusive lock there is nothing that QEMU or Keyway does.
                Err(Errno::EAGAIN | Errno::EACCES) => return Ok(Self::Refused),
                Err(_) => return Ok(Self::Unknown),
            }
        }
        for byte in wants.conflicts() {
            let mut found = at(byte, libc::F_WRLCK);
            fcntl(&own, FcntlArg::F_OFD_GETLK(&mut found)).map_err(failed)?;
            if found.l_type != libc::F_UNLCK as libc::c_short {
                return Ok(Self::Refused);
            }
        }
        Ok(Self::Set(own))
    }
}

/// QEMU's permissions, as bits (include/block/block-common.h): what a
/// user needs, and what it denies others.
#[derive(Debug, Clone, Copy)]
struct Wants {
    uses: u8,
    denies: u8,
    /// Whether anybody else's use is looked at.
    looks: bool,
}

impl Wants {
    fn of(access: Access, shared: bool) -> Self {
        let uses = match access {
            Access::ReadOnly => CONSISTENT_READ,
            Access::Write => CONSISTENT_READ | WRITE,
        };
        let denies = if shared { 0 } else { WRITE | RESIZE };
        Self { uses, denies, looks: !shared }
    }

    /// The bytes that say so.
    fn marks(self) -> impl Iterator<Item = u8> {
        bytes(USED, self.uses).chain(bytes(DENIED, self.denies))
    }

    /// The bytes by which others say the contrary.
    fn conflicts(self) -> impl Iterator<Item = u8> {
        bytes(DENIED, self.uses).chain(bytes(USED, self.denies)).filter(move |_| self.looks)
    }
}

fn bytes(base: u8, permissions: u8) -> impl Iterator<Item = u8> {
    (0..8).filter(move |bit| permissions >> bit & 1 == 1).map(move |bit| base + bit)
}

/// A lock of `kind` on one byte.
fn at(byte: u8, kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: byte.into(),
        l_len: 1,
        // Open file description locks belong to no process.
        l_pid: 0,
    }
}

const CONSISTENT_READ: u8 = 1 << 0;
const WRITE: u8 = 1 << 1;
const RESIZE: u8 = 1 << 3;

/// RAW_LOCK_PERM_BASE.
const USED: u8 = 100;
/// RAW_LOCK_SHARED_BASE.
const DENIED: u8 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a11_marks_are_those_that_qemu_sets_and_looks_for() {
        let bytes = |access, shared| {
            let wants = Wants::of(access, shared);
            (wants.marks().collect::<Vec<_>>(), wants.conflicts().collect::<Vec<_>>())
        };
        assert_eq!(bytes(Access::ReadOnly, false), (vec![100, 201, 203], vec![200, 101, 103]));
        assert_eq!(bytes(Access::Write, false), (vec![100, 101, 201, 203], vec![200, 201, 101, 103]));
        assert_eq!(bytes(Access::ReadOnly, true), (vec![100], vec![]));
        assert_eq!(bytes(Access::Write, true), (vec![100, 101], vec![]));
    }
}
