//! Regular files and block devices, read and written at offsets
//! (pread, pwrite): many threads share one descriptor. Of an image or a disk it may be one partition:
//! then nothing outside of that is read or written.

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
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a partition's length is its table's"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_lengths_and_ends() {
        let path = std::env::temp_dir().join(format!("keyway-file-{}", std::process::id()));
        let file = File::create_new(&path).unwrap();
        fs::remove_file(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        file.write_at(&[7; 65536], 131072).unwrap();
        assert_eq!(file.next_data(0).unwrap(), Some(131072..196608));
        assert_eq!(file.next_data(140000).unwrap(), Some(140000..196608));
        assert_eq!(file.next_data(196608).unwrap(), None);
        // No file system has 8 EiB free.
        assert_eq!([1 << 20, (1 << 20) + 1, 1 << 63].map(|len| file.can_hold(len)), [true, true, false]);

        file.discard(131072..196608).unwrap();
        assert_eq!(file.next_data(0).unwrap(), None);

        file.write_at(&[1, 2, 3], (1 << 20) + 5).unwrap();
        assert_eq!(file.len(), (1 << 20) + 8);

        // Another program shrinks the file.
        file.as_file().set_len(1000).unwrap();
        let error = file.read_at(&mut [0; 512], 600).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(error.to_string(), "it ends at byte 1000, bytes 600 to 1112 were requested");
    }

    #[test]
    fn a_directory_is_no_storage() {
        let error = File::open(std::env::temp_dir()).unwrap_err();
        assert_eq!(error.to_string(), "not a file or a block device");
    }

    #[test]
    fn a_partition_ends_where_its_table_says() {
        let path = std::env::temp_dir().join(format!("keyway-file-part-{}", std::process::id()));
        let image = File::create_new(&path).unwrap();
        image.set_len(1 << 20).unwrap();
        let named = |number: u32| PathBuf::from(format!("{}#{number}", path.display()));
        let why = |number| {
            let error = File::open(named(number)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
            error.to_string().replace(&path.display().to_string(), "disk.img")
        };
        assert_eq!(why(1), "disk.img has no partition table");
        // Two partitions of 8 sectors from the sectors 64 and 80 on, and two that overlap.
        for (entry, first) in [(446u64, 64u32), (462, 80), (478, 800), (494, 804)] {
            image.write_at(&[0x83], entry + 4).unwrap();
            image.write_at(&[first.to_le_bytes(), 8u32.to_le_bytes()].concat(), entry + 8).unwrap();
        }
        image.write_at(&[0x55, 0xaa], 510).unwrap();
        assert_eq!(why(5), "disk.img has no partition 5, only 1, 2, 3, 4");
        assert!(why(3).contains("shares bytes"), "{}", why(3));

        let before = fs::read(&path).unwrap();
        let part = File::open_rw(named(2)).unwrap();
        assert_eq!((part.len(), part.start()), (4096, 40960));
        assert!(!part.can_grow() && !part.can_hold(4097));
        assert_eq!(part.next_data(0).unwrap(), None);
        part.write_at(&[7; 4096], 0).unwrap();
        for (len, offset) in [(4097, 0), (1, 4096), (2, 4095), (1, u64::MAX)] {
            let error = part.write_at(&vec![1; len], offset).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            let error = part.read_at(&mut vec![1; len], offset).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
        assert!(part.discard(0..4097).is_err() && part.set_len(1).is_err());
        let mut all = [0; 4096];
        part.read_at(&mut all, 0).unwrap();
        assert_eq!(all, [7; 4096]);
        part.write_zeroes(512..4096, true).unwrap();
        let mut after = fs::read(&path).unwrap();
        assert_eq!((&after[40960..41472], &after[41472..45056]), (&[7; 512][..], &[0; 3584][..]));
        after[40960..41472].fill(0);
        assert!(after == before, "nothing outside is touched");
        part.write_at(&[1; 4096], 0).unwrap();
        assert_eq!(part.next_data(5).unwrap(), Some(5..4096));
        part.discard(0..4096).unwrap();
        assert_eq!(part.next_data(0).unwrap(), None);

        image.set_len(41_000).unwrap();
        assert_eq!((part.refresh_len().unwrap(), part.len()), (40, 40));
        assert!(part.read_at(&mut [0; 41], 0).is_err());
        fs::write(named(2), "literal").unwrap();
        assert_eq!(File::open(named(2)).unwrap().len(), 7);
        fs::remove_file(named(2)).unwrap();
        fs::remove_file(path).unwrap();
    }
}
