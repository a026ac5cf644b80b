//! Where bytes are stored: anything that can be read and written at an offset.

pub mod claimed;
mod differing;
pub mod direct;
pub mod exclusive;
pub mod faulty;
pub mod file;
pub mod memory;
pub mod new_file;
pub mod part;
pub mod partition_name;
pub mod place;
pub mod readers;
pub mod topology;

pub use claimed::Claimed;
pub(crate) use differing::{read_readable, write_differing};
pub use direct::Direct;
pub use exclusive::Exclusive;
pub use faulty::Faulty;
pub use file::{File, Sectors};
pub use memory::Memory;
pub use new_file::NewFile;
pub use part::Part;
pub use partition_name::{NoPartition, PartitionName, image_of};
pub use place::{Place, Planted};
pub use readers::Readers;
pub use topology::Topology;

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

/// Bytes at offsets. Can be shared between threads; offsets and lengths need no alignment.
pub trait Storage: Send + Sync {
    /// Length in bytes.
    fn len(&self) -> u64;

    /// Whether there are no bytes at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Determines the current length, which others may have changed; [`Storage::len`] returns this
    /// length from then on.
    ///
    /// # Errors
    /// The storage does not report its length.
    fn refresh_len(&self) -> io::Result<u64> {
        Ok(self.len())
    }

    /// Whether a write beyond the end extends it, as with a regular file.
    fn can_grow(&self) -> bool {
        false
    }

    /// Whether it holds `len` bytes, or would have room for them now if it grew.
    fn can_hold(&self, len: u64) -> bool {
        len <= self.len() || self.can_grow()
    }

    /// Fills `buf` from `offset`; `UnexpectedEof` when the storage ends before.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `buf` at `offset`.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;

    /// As [`Storage::write_at`], but may use `buf` as a workspace: the content of `buf` afterwards
    /// is undefined. A [`Volume`](crate::Volume) encrypts in place here instead of in a copy.
    fn write_from(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.write_at(buf, offset)
    }

    /// Returns when everything written is on stable storage.
    fn flush(&self) -> io::Result<()>;

    /// Whether all writes are known to be on stable storage, without asking the storage.
    fn is_settled(&self) -> bool {
        false
    }

    /// Tells the storage that a range is no longer needed. Its content afterwards is undefined.
    fn discard(&self, range: Range<u64>) -> io::Result<()>;

    /// Makes a range read as zeros; with `may_discard` the storage need not keep space allocated
    /// for it.
    fn write_zeroes(&self, range: Range<u64>, may_discard: bool) -> io::Result<()> {
        let _ = may_discard;
        let mut zeros = vec![0; (range.end - range.start).min(ZEROS) as usize];
        let mut at = range.start;
        while at < range.end {
            let len = (range.end - at).min(ZEROS - at % ZEROS) as usize;
            // `write_from` leaves undefined content in its buffer.
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

    /// The next range at or after `offset` that holds data; `None` when only holes follow. Storage
    /// that cannot report holes returns everything up to its end.
    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        Ok((offset < self.len()).then(|| offset..self.len()))
    }

    /// The unit in which bytes are stored: writes of whole units, at multiples of the unit, need no
    /// read before.
    fn unit(&self) -> u64 {
        1
    }

    /// Whether nobody else can be using it: it was claimed ([`Exclusive`]), or no other process can
    /// see it.
    fn is_exclusive(&self) -> bool {
        self.lock_target().is_none()
    }

    /// Whether it is behind a network, so that requests are better made in parallel than one after
    /// another.
    fn is_distant(&self) -> bool {
        false
    }

    /// Whether what was just read is at hand: reading it again costs a copy, not the device.
    fn is_cached(&self) -> bool {
        !self.is_distant()
    }

    /// Whether [`Storage::flush`] makes sure of anything: an NBD server may offer no flush, and nobody
    /// knows then what a power failure takes back.
    fn can_flush(&self) -> bool {
        true
    }

    /// The target of a lock on this storage; `None` where no other process can see it.
    fn lock_target(&self) -> Option<LockTarget<'_>> {
        None
    }
}

/// Extends growable storage to at least `len` bytes; the extension reads as zeros.
pub(crate) fn extend_to(storage: &dyn Storage, len: u64) -> io::Result<()> {
    if storage.len() < len { storage.write_at(&[0], len - 1) } else { Ok(()) }
}

/// The number of zeros that are written at once.
const ZEROS: u64 = 1 << 20;

/// The object that other processes lock to lock a storage.
#[derive(Debug, Clone, Copy)]
pub enum LockTarget<'a> {
    /// A regular file: flock on the file itself.
    File {
        /// The open file.
        fd: BorrowedFd<'a>,
        /// Which of its bytes the storage is; `None` for all of them.
        part: Option<Extent>,
    },
    /// A block device: a lock file named by the device number.
    BlockDevice {
        /// The device's major number.
        major: u32,
        /// The device's minor number.
        minor: u32,
        /// The open device.
        fd: BorrowedFd<'a>,
        /// Which of its bytes the storage is; `None` for all of them.
        part: Option<Extent>,
    },
}

impl<'a> LockTarget<'a> {
    /// The open file or device.
    pub fn fd(&self) -> BorrowedFd<'a> {
        match *self {
            Self::File { fd, .. } | Self::BlockDevice { fd, .. } => fd,
        }
    }

    /// Which of its bytes the storage is; `None` for all of them.
    pub fn part(&self) -> Option<Extent> {
        match *self {
            Self::File { part, .. } | Self::BlockDevice { part, .. } => part,
        }
    }
}

/// Bytes of a file or a device: those of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The first byte.
    pub start: u64,
    /// The number of bytes.
    pub len: u64,
}

impl Extent {
    /// The same as a range.
    pub fn range(self) -> Range<u64> {
        self.start..self.start.saturating_add(self.len)
    }

    /// Whether two parts of an object share bytes; `None` is all of it.
    pub fn overlap(one: Option<Self>, other: Option<Self>) -> bool {
        let (one, other) = (one.map_or(0..u64::MAX, Self::range), other.map_or(0..u64::MAX, Self::range));
        one.start < other.end && other.start < one.end
    }
}
