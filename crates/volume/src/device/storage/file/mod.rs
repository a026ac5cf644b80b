//! Regular files and block devices, read and written at offsets
//! (pread, pwrite): many threads share one descriptor. Of an image or a disk it may be one partition:
//! then nothing outside of that is read or written.

#[cfg(test)]
mod tests;

use super::Place;
use super::{Extent, LockTarget, PartitionName, Storage};
use rustix::fs::{FallocateFlags, FileType, OFlags, SeekFrom};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A regular file or a block device, or a partition of one.
#[derive(Debug)]
pub struct File {
    file: fs::File,
    path: PathBuf,
    kind: Kind,
    /// The partition that is meant.
    part: Option<Extent>,
    len: AtomicU64,
    read_only: bool,
}

/// The sector sizes of a block device, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sectors {
    /// The smallest addressable unit.
    pub logical: u32,
    /// The smallest unit that the device writes without reading it first.
    pub physical: u32,
}

impl File {
    /// Opens for reading; [`Storage::write_at`] will fail. `disk.img#2` is a partition
    /// ([`PartitionName`]).
    ///
    /// # Errors
    /// The path cannot be opened, or is neither a regular file nor a block device; `NotFound` with
    /// [`NoPartition`](super::NoPartition).
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::opened(path.as_ref(), |path| fs::File::open(path))
    }

    /// Opens for reading and writing what is there, to be edited in place. Links that another user
    /// may have put there are not followed ([`Place::find_to_edit`]).
    ///
    /// # Errors
    /// As [`File::open`]; [`Planted`](super::Planted) at what others may have put there.
    pub fn open_rw(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::opened(path.as_ref(), |path| Place::find_to_edit(path)?.open_in_place())
    }

    /// As [`File::open_rw`], but for what is to be overwritten, as if it were made: no link in a
    /// directory that others may write to is followed.
    ///
    /// # Errors
    /// As [`File::open_rw`].
    pub fn overwrite(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::opened(path.as_ref(), |path| Place::find(path, true)?.open_in_place())
    }

    /// Creates a new empty file, for reading and writing, that only its owner may open.
    ///
    /// # Errors
    /// The path exists or cannot be created.
    pub fn create_new(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = Place::find(path.as_ref(), false)?.make(0o600)?;
        Self::from_file(file, path.as_ref())
    }

    /// Wraps an open file; errors name it by `path`.
    ///
    /// # Errors
    /// It is neither a regular file nor a block device.
    pub fn from_file(file: fs::File, path: impl Into<PathBuf>) -> io::Result<Self> {
        let stat = rustix::fs::fstat(&file)?;
        let (kind, len) = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => (Kind::Regular, stat.st_size as u64),
            // stat gives no length for a block device; seeking to its end does.
            FileType::BlockDevice => {
                let (major, minor) = (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev));
                (Kind::BlockDevice { major, minor }, rustix::fs::seek(&file, SeekFrom::End(0))?)
            }
            _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file or a block device")),
        };
        let access = rustix::fs::fcntl_getfl(&file)? & OFlags::RWMODE;
        let read_only = access == OFlags::RDONLY || kind.is_write_protected();
        Ok(Self { file, path: path.into(), kind, part: None, len: AtomicU64::new(len), read_only })
    }

    /// What `path` names, opened by `open`: a partition's image is, and then the partition looked up.
    fn opened(path: &Path, open: impl FnOnce(&Path) -> io::Result<fs::File>) -> io::Result<Self> {
        let Some(partition) = PartitionName::of(path) else { return Self::from_file(open(path)?, path) };
        let image = Self::from_file(open(&partition.image)?, &partition.image)?;
        let part = partition.find(&image)?;
        Ok(Self { path: path.to_owned(), part: Some(part), len: AtomicU64::new(part.len), ..image })
    }

    /// Its path when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it begins in what was opened: not at byte 0 if it is a partition.
    pub fn start(&self) -> u64 {
        self.part.map_or(0, |part| part.start)
    }

    /// Which bytes it is of what was opened; `None` for all of them.
    pub fn part(&self) -> Option<Extent> {
        self.part
    }

    /// Whether it is a block device, whose length is fixed.
    pub fn is_block_device(&self) -> bool {
        matches!(self.kind, Kind::BlockDevice { .. })
    }

    /// The sector sizes of a block device; `None` for a regular file.
    pub fn sectors(&self) -> Option<Sectors> {
        let logical = rustix::fs::ioctl_blksszget(&self.file).ok().filter(|_| self.is_block_device())?;
        let physical = rustix::fs::ioctl_blkpbszget(&self.file).unwrap_or(logical);
        Some(Sectors { logical, physical })
    }

    /// Truncates or extends a regular file to `len` bytes; the extension is a hole.
    ///
    /// # Errors
    /// It is a block device or a partition, or the file system refuses.
    pub fn set_len(&self, len: u64) -> io::Result<()> {
        if self.part.is_some() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the partition table sets a partition's length",
            ));
        }
        self.file.set_len(len)?;
        self.len.store(len, Ordering::Release);
        Ok(())
    }

    /// The open file.
    pub fn as_file(&self) -> &fs::File {
        &self.file
    }

    fn ends_before(&self, buf: &[u8], offset: u64) -> io::Error {
        let end = offset.saturating_add(buf.len() as u64);
        let now = self.end_now().unwrap_or(0);
        let what = format!("it ends at byte {now}, bytes {offset} to {end} were requested");
        io::Error::new(io::ErrorKind::UnexpectedEof, what)
    }

    /// The length that it has now, whatever others do: a partition ends with its image at the latest.
    fn end_now(&self) -> io::Result<u64> {
        let end = rustix::fs::seek(&self.file, SeekFrom::End(0))?;
        Ok(self.part.map_or(end, |part| end.saturating_sub(part.start).min(part.len)))
    }

    /// The place of these bytes in what was opened; `None` if a partition does not have them.
    fn place(&self, offset: u64, len: u64) -> Option<u64> {
        let Some(part) = self.part else { return Some(offset) };
        offset.checked_add(len).filter(|end| *end <= part.len).map(|_| part.start + offset)
    }
}

impl Storage for File {
    fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    fn refresh_len(&self) -> io::Result<u64> {
        let len = self.end_now()?;
        self.len.store(len, Ordering::Release);
        Ok(len)
    }

    fn can_grow(&self) -> bool {
        matches!(self.kind, Kind::Regular) && self.part.is_none()
    }

    /// A file system that does not tell its free space (FUSE) is taken to have enough.
    fn can_hold(&self, len: u64) -> bool {
        let lacks = len.saturating_sub(self.len());
        let has_room = || match rustix::fs::fstatvfs(&self.file) {
            Ok(found) if found.f_blocks > 0 => found.f_bavail.saturating_mul(found.f_frsize) >= lacks,
            _ => true,
        };
        lacks == 0 || (self.can_grow() && has_room())
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let Some(place) = self.place(offset, buf.len() as u64) else {
            return Err(self.ends_before(buf, offset));
        };
        self.file.read_exact_at(buf, place).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => self.ends_before(buf, offset),
            _ => e,
        })
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let Some(place) = self.place(offset, buf.len() as u64) else {
            let what = self.ends_before(buf, offset).to_string();
            return Err(io::Error::new(io::ErrorKind::StorageFull, what));
        };
        self.file.write_all_at(buf, place)?;
        if self.can_grow() {
            self.len.fetch_max(offset + buf.len() as u64, Ordering::AcqRel);
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Punches a hole. A block device treats this as a request to zero the range (and to unmap it,
    /// if it can).
    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let len = range.end - range.start;
        let Some(place) = self.place(range.start, len) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it ends before"));
        };
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match rustix::fs::fallocate(&self.file, flags, place, len) {
            Ok(()) | Err(Errno::OPNOTSUPP) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        let len = self.len();
        if offset >= len {
            return Ok(None);
        }
        let base = self.start();
        let start = match rustix::fs::seek(&self.file, SeekFrom::Data(base + offset)) {
            Ok(start) if start - base < len => start,
            Ok(_) | Err(Errno::NXIO) => return Ok(None),
            // Block devices and some file systems cannot report holes.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some(offset..len)),
            Err(e) => return Err(e.into()),
        };
        let end = rustix::fs::seek(&self.file, SeekFrom::Hole(start))?;
        Ok(Some(start - base..(end - base).min(len)))
    }

    fn lock_target(&self) -> Option<LockTarget<'_>> {
        let (fd, part) = (self.file.as_fd(), self.part);
        Some(match self.kind {
            Kind::Regular => LockTarget::File { fd, part },
            Kind::BlockDevice { major, minor } => LockTarget::BlockDevice { major, minor, fd, part },
        })
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Regular,
    BlockDevice { major: u32, minor: u32 },
}

impl Kind {
    /// Whether a block device refuses writes regardless of its open mode (`blockdev --setro`,
    /// write-protected media).
    fn is_write_protected(self) -> bool {
        let Self::BlockDevice { major, minor } = self else { return false };
        let flag = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/ro"));
        flag.is_ok_and(|flag| flag.trim() == "1")
    }
}
