//! Holes in the file, and zeroing: `fallocate`.
//!
//! `fallocate` with FALLOC_FL_PUNCH_HOLE promises zeros afterwards, and loop devices, mke2fs and
//! QEMU rely on that. Linux's loop driver makes the same call for a discard and for a
//! REQ_OP_WRITE_ZEROES that may unmap (drivers/block/loop.c, `do_req_filebacked`), with which ext4
//! clears its inode tables. But the cipher turns a discarded sector into noise, so space cannot be
//! released here without breaking the promise. Where discards are allowed, a hole is filled with
//! zeros. Where they are not, punching is refused, which makes those programs write the few zeros
//! that they need themselves. Where the caller vouches for the users of the file
//! ([`Holes::Discarded`]), the hole is discarded. For the same reason SEEK_HOLE (which also
//! promises zeros) is left to the kernel: everything is data.

use super::{Directory, Holes, errno};
use fuser::Errno;
use std::sync::atomic::Ordering;

impl Directory {
    pub(super) fn zero(&self, offset: u64, len: u64, mode: i32) -> Result<(), Errno> {
        self.check_writable()?;
        let keeps_size = mode & FALLOC_FL_KEEP_SIZE != 0;
        let range = match self.range(offset, len) {
            Some(range) => range,
            None if keeps_size => offset.min(self.len())..self.len(),
            None => return Err(Errno::EPERM),
        };
        match mode & !FALLOC_FL_KEEP_SIZE {
            // All of the volume's space is already allocated.
            0 => Ok(()),
            FALLOC_FL_ZERO_RANGE => self.write_zeroes(range),
            FALLOC_FL_PUNCH_HOLE if self.punches_holes.load(Ordering::Relaxed) => match self.holes {
                Holes::Zeros => self.write_zeroes(range),
                Holes::Discarded => self.discard(range),
            },
            _ => Err(Errno::EOPNOTSUPP),
        }
    }

    fn write_zeroes(&self, range: std::ops::Range<u64>) -> Result<(), Errno> {
        self.note_write();
        self.export.storage.write_zeroes(range, false).map_err(|e| errno(&e))
    }

    fn discard(&self, range: std::ops::Range<u64>) -> Result<(), Errno> {
        self.note_write();
        self.export.storage.discard(range).map_err(|e| errno(&e))
    }
}

// include/uapi/linux/falloc.h
const FALLOC_FL_KEEP_SIZE: i32 = 0x01;
const FALLOC_FL_PUNCH_HOLE: i32 = 0x02;
const FALLOC_FL_ZERO_RANGE: i32 = 0x10;
