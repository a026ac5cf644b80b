//! The byte locks by which QEMU processes recognise each other's use of an image (qemu,
//! block/file-posix.c, "raw_apply_lock_bytes" and docs/system/qemu-block-drivers, "Disk image file
//! locking"), so that QEMU and Keyway refuse each other.
//!
//! Byte 100+N is locked by a process that uses permission N, byte 200+N by a process that does not
//! share permission N with others. All locks are shared ones, held by the open file description; to
//! look for another's lock is to ask whether an exclusive lock would be granted.
//!
//! Users of a partition mark the same bytes, all but byte 100, and again counted from the partition's
//! first byte; there they look for each other. QEMU and users of the whole image see their marks, and they
//! see those by byte 100, which everybody marks who uses the whole. To a reader of a partition, readers of
//! the whole do no harm: byte 101 is free then.

use super::{Access, failed, reopen};
use crate::Result;
use crate::device::storage::Extent;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use std::os::fd::{BorrowedFd, OwnedFd};

/// The result of marking a file.
#[derive(Debug)]
pub(super) enum Marks {
    /// The file is marked until this is dropped.
    Set(OwnedFd),
    /// Its file system, or this kernel, does not support such locks.
    Unknown,
    /// Marks of another process say that the file is in use.
    Refused,
}

impl Marks {
    /// Marks `file`, or a part of it, for this kind of use.
    pub(super) fn set(
        file: BorrowedFd<'_>,
        access: Access,
        shared: bool,
        part: Option<Extent>,
    ) -> Result<Self> {
        // A separate open file description: the locks are released with it.
        let own = reopen(file, OFlag::empty()).map_err(failed)?;
        let wants = Wants::of(access, shared);
        // First set the marks, then look for others: if two processes arrive at the same time, at
        // least one sees the other.
        for byte in wants.marks_of(part) {
            match fcntl(&own, FcntlArg::F_OFD_SETLK(&at(byte, libc::F_RDLCK))) {
                Ok(_) => {}
                // The error means an exclusive lock, which neither QEMU nor Keyway takes.
                Err(Errno::EAGAIN | Errno::EACCES) => return Ok(Self::Refused),
                Err(_) => return Ok(Self::Unknown),
            }
        }
        let start = part.map_or(0, |part| part.start);
        for byte in wants.conflicts() {
            if is_marked(&own, start + byte)? {
                return Ok(Self::Refused);
            }
        }
        match wants.of_the_whole().filter(|_| part.is_some()) {
            Some(bytes) if are_marked(&own, bytes)? => Ok(Self::Refused),
            _ => Ok(Self::Set(own)),
        }
    }
}

/// QEMU's permissions, as bits (include/block/block-common.h): those that a user needs, and those
/// that it denies others.
#[derive(Debug, Clone, Copy)]
struct Wants {
    uses: u8,
    denies: u8,
    /// Whether to check for uses by others.
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

    /// The bytes to mark, for all of a file or a part of it.
    fn marks_of(self, part: Option<Extent>) -> Vec<u64> {
        match part {
            None => self.marks().collect(),
            Some(part) => {
                let seen = self.marks().filter(|byte| *byte != USED);
                seen.chain(self.marks().map(|byte| part.start + byte)).collect()
            }
        }
    }

    /// To the user of a part, the bytes that are all marked if somebody uses the whole in a way that
    /// conflicts; `None` if it does not look.
    fn of_the_whole(self) -> Option<&'static [u64]> {
        let writes = self.uses & WRITE != 0;
        self.looks.then_some(if writes { &[USED] } else { &[USED, USED + 1] })
    }

    /// The bytes that express this.
    fn marks(self) -> impl Iterator<Item = u64> {
        bytes(USED, self.uses).chain(bytes(DENIED, self.denies))
    }

    /// The bytes by which others express a conflict.
    fn conflicts(self) -> impl Iterator<Item = u64> {
        bytes(DENIED, self.uses).chain(bytes(USED, self.denies)).filter(move |_| self.looks)
    }
}

/// The bytes by which others tell the users of a part that they use it, or the whole.
pub(super) fn saying_so(part: Extent) -> impl Iterator<Item = u64> {
    let own = bytes(USED, u8::MAX).chain(bytes(DENIED, u8::MAX));
    own.map(move |byte| part.start.saturating_add(byte)).chain([USED])
}

/// Whether somebody else has marked a byte.
fn is_marked(own: &OwnedFd, byte: u64) -> Result<bool> {
    let mut found = at(byte, libc::F_WRLCK);
    fcntl(own, FcntlArg::F_OFD_GETLK(&mut found)).map_err(failed)?;
    Ok(found.l_type != libc::F_UNLCK as libc::c_short)
}

/// Whether others have marked all of these bytes.
fn are_marked(own: &OwnedFd, bytes: &[u64]) -> Result<bool> {
    for byte in bytes {
        if !is_marked(own, *byte)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn bytes(base: u64, permissions: u8) -> impl Iterator<Item = u64> {
    (0..8).filter(move |bit| permissions >> bit & 1 == 1).map(move |bit| base + bit)
}

/// A lock of `kind` on one byte.
fn at(byte: u64, kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: byte.cast_signed(),
        l_len: 1,
        // Open file description locks do not belong to a process.
        l_pid: 0,
    }
}

const CONSISTENT_READ: u8 = 1 << 0;
const WRITE: u8 = 1 << 1;
const RESIZE: u8 = 1 << 3;

/// RAW_LOCK_PERM_BASE.
const USED: u64 = 100;
/// RAW_LOCK_SHARED_BASE.
const DENIED: u64 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_those_that_qemu_sets_and_looks_for() {
        let bytes = |access, shared| {
            let wants = Wants::of(access, shared);
            (wants.marks().collect::<Vec<_>>(), wants.conflicts().collect::<Vec<_>>())
        };
        assert_eq!(bytes(Access::ReadOnly, false), (vec![100, 201, 203], vec![200, 101, 103]));
        assert_eq!(bytes(Access::Write, false), (vec![100, 101, 201, 203], vec![200, 201, 101, 103]));
        assert_eq!(bytes(Access::ReadOnly, true), (vec![100], vec![]));
        assert_eq!(bytes(Access::Write, true), (vec![100, 101], vec![]));
    }

    #[test]
    fn users_of_a_partition_are_seen_as_what_they_are_and_see_the_whole_by_a_byte() {
        let part = Some(Extent { start: 1000, len: 1000 });
        let bytes = |access, shared| {
            let wants = Wants::of(access, shared);
            (wants.marks_of(part), wants.of_the_whole())
        };
        assert_eq!(bytes(Access::ReadOnly, false), (vec![201, 203, 1100, 1201, 1203], Some(&[100, 101][..])));
        assert_eq!(
            bytes(Access::Write, false),
            (vec![101, 201, 203, 1100, 1101, 1201, 1203], Some(&[100][..]))
        );
        assert_eq!(bytes(Access::Write, true), (vec![101, 1100, 1101], None));
    }
}
