//! Two programs that write to one volume destroy it: who uses a volume says so, and finds out who does already.
//!
//! Regular files: the byte locks by which QEMU tells its own processes apart (qemu, block/file-posix.c, "raw_apply_lock_bytes"
//! and docs/system/qemu-block-drivers, "Disk image file locking"), so that QEMU and Keyway refuse each other. Byte 100+N
//! is locked by who uses permission N, byte 200+N by who does not share it with others; all locks are shared ones,
//! held by the open file description, and looking for another's is asking whether an exclusive one could be had.
//! Block devices: O_EXCL besides, which also excludes whoever mounts or maps the device.
//!
//! The lock of the header ([`crate::lock`]), which cryptsetup knows, is another one: a volume in use can have its
//! keyslots edited.

use crate::storage::LockTarget;
use crate::{Error, Result, Storage};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl, open};
use nix::libc;
use nix::sys::stat::Mode;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// What is done to a volume that is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its data is read; nobody may write to it meanwhile.
    ReadOnly,
    /// Its data is read and written, by this process alone.
    Write,
}

/// The mark of a volume in use, gone when it is dropped.
#[derive(Debug)]
pub struct InUse {
    /// The locks' own open file description; `None` where there is nothing to lock.
    _locks: Option<OwnedFd>,
    /// A block device, claimed.
    _claim: Option<OwnedFd>,
}

impl InUse {
    /// Marks `storage` as in use. With `shared` others may use it, too, and may be using it: whoever says so answers
    /// for them. Storage that is no file or device, and files on file systems without locks, are not marked.
    ///
    /// # Errors
    /// [`Error::Busy`] when another process uses it in a way that this use does not go with, and still does so half a
    /// second later.
    pub fn acquire(storage: &dyn Storage, access: Access, shared: bool) -> Result<Self> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match Self::try_acquire(storage, access, shared) {
                Err(Error::Busy(_)) if Instant::now() < deadline => std::thread::sleep(POLL),
                result => return result,
            }
        }
    }

    fn try_acquire(storage: &dyn Storage, access: Access, shared: bool) -> Result<Self> {
        let claim = match storage.lock_target() {
            Some(LockTarget::BlockDevice { fd, .. }) if !shared => claim(fd, access)?,
            _ => None,
        };
        let locks = match storage.lock_target() {
            Some(LockTarget::File(fd) | LockTarget::BlockDevice { fd, .. }) => lock(fd, access, shared)?,
            None => None,
        };
        Ok(Self { _locks: locks, _claim: claim })
    }
}

/// Claims a block device for a writer. A reader only looks whether it could: others may read as well.
fn claim(device: BorrowedFd<'_>, access: Access) -> Result<Option<OwnedFd>> {
    match reopen(device, OFlag::O_EXCL) {
        Ok(claim) => Ok((access == Access::Write).then_some(claim)),
        Err(Errno::EBUSY) => Err(busy()),
        Err(errno) => Err(failed(errno)),
    }
}

fn lock(file: BorrowedFd<'_>, access: Access, shared: bool) -> Result<Option<OwnedFd>> {
    // A description of our own: locks live and die with it.
    let own = reopen(file, OFlag::empty()).map_err(failed)?;
    let wants = Wants::of(access, shared);
    // First the marks, then a look around: of two who come at the same time at least one sees the other.
    for byte in wants.marks() {
        match fcntl(&own, FcntlArg::F_OFD_SETLK(&at(byte, libc::F_RDLCK))) {
            Ok(_) => {}
            // An exclusive lock there is nothing that QEMU or Keyway does.
            Err(Errno::EAGAIN | Errno::EACCES) => return Err(busy()),
            // A file system without locks, or a kernel without this kind.
            Err(_) => return Ok(None),
        }
    }
    for byte in wants.conflicts() {
        let mut found = at(byte, libc::F_WRLCK);
        fcntl(&own, FcntlArg::F_OFD_GETLK(&mut found)).map_err(failed)?;
        if found.l_type != libc::F_UNLCK as libc::c_short {
            return Err(busy());
        }
    }
    Ok(Some(own))
}

/// QEMU's permissions, as bits (include/block/block-common.h): what a user needs, and what it denies others.
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

fn reopen(file: BorrowedFd<'_>, flags: OFlag) -> nix::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    open(path.as_str(), OFlag::O_RDONLY | OFlag::O_CLOEXEC | flags, Mode::empty())
}

fn busy() -> Error {
    Error::Busy("the volume (by another process: QEMU, Keyway, a mount or a mapping)".into())
}

fn failed(errno: Errno) -> Error {
    Error::Io { what: "marking the volume as in use".into(), source: errno.into() }
}

/// Whoever was unmounted or told to end a moment ago is still flushing.
const PATIENCE: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(20);

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
    use crate::storage::{File, Memory};

    #[test]
    fn writers_are_alone_readers_are_many_and_sharing_is_said() {
        let path = std::env::temp_dir().join(format!("keyway-in-use-{}", std::process::id()));
        std::fs::write(&path, b"volume").unwrap();
        let (reading, writing) = (File::open(&path).unwrap(), File::open_rw(&path).unwrap());
        let read = |shared| InUse::acquire(&reading, Access::ReadOnly, shared);
        let write = |shared| InUse::acquire(&writing, Access::Write, shared);

        let writer = write(false).unwrap();
        assert!(matches!(write(false), Err(Error::Busy(_))));
        assert!(matches!(read(false), Err(Error::Busy(_))));
        let beside = write(true).unwrap();
        drop(writer);
        assert!(matches!(write(false), Err(Error::Busy(_))), "the shared one is a writer, too");
        drop(beside);
        let readers = [read(false).unwrap(), read(false).unwrap()];
        assert!(matches!(write(false), Err(Error::Busy(_))));
        drop(readers);
        drop(write(false).unwrap());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn memory_is_nobody_elses() {
        let memory = Memory::zeroed(512);
        let _first = InUse::acquire(&memory, Access::Write, false).unwrap();
        assert!(InUse::acquire(&memory, Access::Write, false).is_ok());
    }
}
