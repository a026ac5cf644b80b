//! Where bytes live: anything that can be read and written at an offset.

pub mod claimed;
pub mod direct;
pub mod exclusive;
pub mod faulty;
pub mod file;
pub mod memory;
pub mod new_file;
pub mod place;
pub mod readers;

pub use claimed::Claimed;
pub use direct::Direct;
pub use exclusive::Exclusive;
pub use faulty::Faulty;
pub use file::{File, Sectors};
pub use memory::Memory;
pub use new_file::NewFile;
pub use place::{Place, Planted};
pub use readers::Readers;

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

/// Bytes at offsets. Shared between threads; offsets and lengths need no alignment.
pub trait Storage: Send + Sync {
    /// Length in bytes.
    fn len(&self) -> u64;

    /// Whether there are no bytes at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Looks up how long it is now, which others may have changed;
    /// [`Storage::len`] says so from then on.
    ///
    /// # Errors
    /// The storage does not say.
    fn refresh_len(&self) -> io::Result<u64> {
        Ok(self.len())
    }

    /// Whether a write behind the end makes it longer, as it does a regular file.
    fn can_grow(&self) -> bool {
        false
    }

    /// Fills `buf` from `offset`; `UnexpectedEof` when the storage ends before.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `buf` at `offset`.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;

    /// As [`Storage::write_at`], but may use `buf` as its workspace: what it holds afterwards is
    /// undefined. A [`Volume`](crate::Volume) encrypts in place here instead of in a copy.
    fn write_from(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.write_at(buf, offset)
    }

    /// Returns when everything written is on stable storage.
    fn flush(&self) -> io::Result<()>;

    /// Whether it is known, without asking, that everything written is on stable storage.
    fn is_settled(&self) -> bool {
        false
    }

    /// Tells the storage that a range is no longer needed. Its content afterwards is undefined.
    fn discard(&self, range: Range<u64>) -> io::Result<()>;

    /// Makes a range read as zeros; with `may_discard` the storage need not keep room for it.
    fn write_zeroes(&self, range: Range<u64>, may_discard: bool) -> io::Result<()> {
        let _ = may_discard;
        let mut zeros = vec![0; (range.end - range.start).min(ZEROS) as usize];
        let mut at = range.start;
        while at < range.end {
            let len = (range.end - at).min(ZEROS) as usize;
            // What `write_from` leaves in its buffer is undefined.
            zeros[..len].fill(0);
            self.write_from(&mut zeros[..len], at)?;
            at += len as u64;
        }
        Ok(())
    }

    /// Whether every write will be refused.
    fn is_read_only(&self) -> bool {
        false
    }

    /// The next range at or after `offset` that holds data; `None` when only holes follow.
    /// Storage that cannot tell answers with everything up to its end.
    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        Ok((offset < self.len()).then(|| offset..self.len()))
    }

    /// Bytes that are stored as one: writes of whole units, at
    /// multiples of it, need no read before.
    fn unit(&self) -> u64 {
        1
    }

    /// Whether nobody else can be using it: it was claimed
    /// ([`Exclusive`]), or no other process can see it.
    fn is_exclusive(&self) -> bool {
        self.lock_target().is_none()
    }

    /// Whether there is a network between, so that requests are
    /// better made side by side than one after another.
    fn is_distant(&self) -> bool {
        false
    }

    /// What a lock on this storage is held on; `None` where no other process can see it.
    fn lock_target(&self) -> Option<LockTarget<'_>> {
        None
    }
}

/// Makes storage that can grow at least `len` bytes long; what is added reads as zeros.
pub(crate) fn extend_to(storage: &dyn Storage, len: u64) -> io::Result<()> {
    if storage.len() < len { storage.write_at(&[0], len - 1) } else { Ok(()) }
}

/// So many zeros are written at once.
const ZEROS: u64 = 1 << 20;

/// What stands for a storage in the eyes of other processes that want to lock it.
#[derive(Debug, Clone, Copy)]
pub enum LockTarget<'a> {
    /// A regular file: flock on the file itself.
    File(BorrowedFd<'a>),
    /// A block device: a lock file named by the device number.
    BlockDevice {
        /// The device's major number.
        major: u32,
        /// The device's minor number.
        minor: u32,
        /// The open device.
        fd: BorrowedFd<'a>,
    },
}
