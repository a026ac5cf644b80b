//! The directory with its one file, as presented to the kernel: fuser's `Filesystem`.

mod holes;

use super::{FILE_NAME, Holes, MAX_REQUEST, Options};
use crate::Export;
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

/// The root directory and its file.
pub(super) struct Directory {
    export: Export,
    holes: Holes,
    punches_holes: Arc<AtomicBool>,
    owner: (u32, u32),
    /// Whether other users have access, too.
    shared: bool,
    open_flags: FopenFlags,
    writeback: bool,
    mounted: SystemTime,
    /// When the file was last written, in nanoseconds after `mounted`.
    written: AtomicU64,
    /// Whether there are unflushed writes.
    dirty: AtomicBool,
    open_files: Arc<AtomicUsize>,
}

impl Directory {
    pub(super) fn new(export: Export, options: &Options) -> Self {
        let owner = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        Self {
            holes: options.holes,
            punches_holes: Arc::new(AtomicBool::new(export.rights.discards)),
            export,
            owner,
            shared: options.allow_other,
            // Nobody else writes to the volume, so the cache stays valid from one open to the next.
            open_flags: if options.direct {
                FopenFlags::FOPEN_DIRECT_IO
            } else {
                FopenFlags::FOPEN_KEEP_CACHE
            },
            writeback: options.writeback,
            mounted: SystemTime::now(),
            written: AtomicU64::new(0),
            dirty: AtomicBool::new(false),
            open_files: Arc::default(),
        }
    }

    /// How many times the file is open.
    pub(super) fn open_files(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.open_files)
    }

    /// Whether holes may be punched.
    pub(super) fn punches_holes(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.punches_holes)
    }

    fn len(&self) -> u64 {
        self.export.storage.len()
    }

    fn is_read_only(&self) -> bool {
        self.export.rights.read_only || self.export.storage.is_read_only()
    }

    fn attributes(&self, inode: INodeNo) -> Option<FileAttr> {
        let writable = if self.is_read_only() { 0o444 } else { 0o666 };
        let (kind, size, perm) = match inode {
            INodeNo::ROOT => (FileType::Directory, 0, 0o555),
            FILE => (FileType::RegularFile, self.len(), writable),
            _ => return None,
        };
        let perm = if self.shared { perm } else { perm & 0o700 };
        let written = self.mounted + Duration::from_nanos(self.written.load(Ordering::Relaxed));
        Some(FileAttr {
            ino: inode,
            size,
            blocks: size.div_ceil(512),
            atime: self.mounted,
            mtime: written,
            ctime: written,
            crtime: self.mounted,
            kind,
            perm,
            nlink: if kind == FileType::Directory { 2 } else { 1 },
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: MAX_REQUEST,
            flags: 0,
        })
    }

    /// A range of the file; `None` if it exceeds the file.
    fn range(&self, offset: u64, len: u64) -> Option<std::ops::Range<u64>> {
        let end = offset.checked_add(len).filter(|end| *end <= self.len())?;
        Some(offset..end)
    }

    fn write_data(&self, offset: u64, data: &[u8]) -> Result<(), Errno> {
        self.check_writable()?;
        self.range(offset, data.len() as u64).ok_or(Errno::ENOSPC)?;
        self.note_write();
        self.export.storage.write_at(data, offset).map_err(|e| errno(&e))
    }

    fn check_writable(&self) -> Result<(), Errno> {
        if self.is_read_only() { Err(Errno::EROFS) } else { Ok(()) }
    }

    fn note_write(&self) {
        let since = self.mounted.elapsed().unwrap_or_default();
        self.written.fetch_max(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.dirty.store(true, Ordering::Release);
    }

    /// Flushes all writes to stable storage.
    fn flush_storage(&self) -> Result<(), Errno> {
        if !self.dirty.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        self.export.storage.flush().map_err(|e| {
            self.dirty.store(true, Ordering::Release);
            errno(&e)
        })
    }
}

impl Filesystem for Directory {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // If the kernel offers less, the smaller limit applies.
        let _ = config.set_max_write(MAX_REQUEST);
        let _ = config.set_max_readahead(MAX_REQUEST).or_else(|most| config.set_max_readahead(most));
        let _ = config.set_max_background(IN_FLIGHT);
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        if self.writeback {
            let _ = config.add_capabilities(InitFlags::FUSE_WRITEBACK_CACHE);
        }
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(FILE).filter(|_| parent == INodeNo::ROOT && name == FILE_NAME) {
            Some(attributes) => reply.entry(&FRESH, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some(attributes) => reply.attr(&FRESH, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// Timestamps may be set (but are not kept); owner, mode and size may only be set to their
    /// current values.
    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let Some(now) = self.attributes(inode) else { return reply.error(Errno::ENOENT) };
        let kept = mode.is_none_or(|mode| mode & 0o7777 == u32::from(now.perm))
            && uid.is_none_or(|uid| uid == now.uid)
            && gid.is_none_or(|gid| gid == now.gid)
            && size.is_none_or(|size| size == now.size);
        if kept { reply.attr(&FRESH, &now) } else { reply.error(Errno::EPERM) }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.open_files.fetch_add(1, Ordering::Relaxed);
        reply.opened(FileHandle(0), self.open_flags);
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.open_files.fetch_sub(1, Ordering::Relaxed);
        reply.ok();
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let len = self.len().saturating_sub(offset).min(size.into()) as usize;
        in_buffer(len, |buf| match self.export.storage.read_at(buf, offset) {
            Ok(()) => reply.data(buf),
            Err(e) => reply.error(errno(&e)),
        });
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.write_data(offset, data) {
            Ok(()) => reply.written(data.len() as u32),
            Err(errno) => reply.error(errno),
        }
    }

    /// Called on `close`. What a program wrote is safe once it has closed the file, because
    /// `umount` cannot be made to wait for this process.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        answer(reply, self.flush_storage());
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer(reply, self.flush_storage());
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        len: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        answer(reply, self.zero(offset, len, mode));
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let entries = [
            (INodeNo::ROOT, FileType::Directory, "."),
            (INodeNo::ROOT, FileType::Directory, ".."),
            (FILE, FileType::RegularFile, FILE_NAME),
        ];
        for (next, (inode, kind, name)) in (1..).zip(entries).skip(offset as usize) {
            if reply.add(inode, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let blocks = self.len() / u64::from(BLOCK);
        reply.statfs(blocks, 0, 0, 2, 0, BLOCK, 255, BLOCK);
    }

    // The directory's content is fixed; fuser refuses operations that are not implemented here.

    fn create(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, _: i32, reply: ReplyCreate) {
        reply.error(Errno::EPERM);
    }

    fn mknod(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, _: u32, reply: ReplyEntry) {
        reply.error(Errno::EPERM);
    }

    fn mkdir(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        reply.error(Errno::EPERM);
    }

    fn unlink(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EPERM);
    }

    fn rename(
        &self,
        _: &Request,
        _: INodeNo,
        _: &OsStr,
        _: INodeNo,
        _: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::EPERM);
    }
}

fn answer(reply: ReplyEmpty, result: Result<(), Errno>) {
    match result {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(errno),
    }
}

/// The error number that a program gets when the storage fails.
fn errno(error: &io::Error) -> Errno {
    match (error.raw_os_error(), error.kind()) {
        (Some(code), _) => Errno::from_i32(code),
        (None, io::ErrorKind::StorageFull) => Errno::ENOSPC,
        (None, io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied) => Errno::EROFS,
        _ => Errno::EIO,
    }
}

/// Runs `work` on a page-aligned buffer of `len` bytes, which is kept per thread.
fn in_buffer(len: usize, work: impl FnOnce(&mut [u8])) {
    thread_local!(static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.len() < len + PAGE {
            buffer.resize(len + PAGE, 0);
        }
        let start = buffer.as_ptr().align_offset(PAGE).min(PAGE);
        work(&mut buffer[start..start + len]);
    });
}

pub(super) const FILE: INodeNo = INodeNo(2);

/// How long the kernel may cache attributes and names. They never change while the process runs;
/// but if it is killed, the directory should show that soon.
const FRESH: Duration = Duration::from_secs(1);

/// The maximum number of background requests (read-ahead, writeback) from the kernel.
const IN_FLIGHT: u16 = 64;

/// The unit of `statfs`.
const BLOCK: u32 = 512;

const PAGE: usize = 4096;
