//! btrfs's ioctl for a device of a file system over several (include/uapi/linux/btrfs.h):
//! `_IOW(0x94, 4, struct btrfs_ioctl_vol_args)`, which is an i64 and the path, NUL-terminated, in 4088 bytes.

use rustix::fd::BorrowedFd;
use rustix::io::{Errno, Result};
use rustix::ioctl::{Setter, ioctl, opcode};

/// Tells btrfs that a part of a file system is at `path`.
pub(super) fn scan_device(control: BorrowedFd<'_>, path: &[u8]) -> Result<()> {
    let mut named = [0; SIZE];
    let room = &mut named[NAME..SIZE - 1];
    room.get_mut(..path.len()).ok_or(Errno::NAMETOOLONG)?.copy_from_slice(path);
    // SAFETY: the kernel reads SIZE bytes, which are those of the array; its name ends with a NUL.
    unsafe { ioctl(control, Setter::<SCAN_DEV, [u8; SIZE]>::new(named)) }
}

const SCAN_DEV: rustix::ioctl::Opcode = opcode::write::<[u8; SIZE]>(0x94, 4);
const SIZE: usize = 4096;
const NAME: usize = 8;
