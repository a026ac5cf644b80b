//! A block device's flag against writes (include/uapi/linux/fs.h).

use rustix::fd::BorrowedFd;
use rustix::io::Result;
use rustix::ioctl::{Getter, Opcode, Setter, ioctl};
use std::ffi::c_int;

/// `BLKROGET`: whether the device, or the disk that it is a part of, refuses writes.
pub(in crate::dm) fn read_only(device: BorrowedFd<'_>) -> Result<bool> {
    // SAFETY: the kernel writes one int.
    unsafe { ioctl(device, Getter::<BLKROGET, c_int>::new()) }.map(|flag| flag != 0)
}

/// `BLKROSET`: refuses writes to the device, or takes them again.
pub(in crate::dm) fn set_read_only(device: BorrowedFd<'_>, flag: bool) -> Result<()> {
    // SAFETY: the kernel reads one int.
    unsafe { ioctl(device, Setter::<BLKROSET, c_int>::new(c_int::from(flag))) }
}

const BLKROSET: Opcode = 0x125d;
const BLKROGET: Opcode = 0x125e;
