//! Loop devices: a file as a block device, so that the kernel can map it.
//!
//! Source: drivers/block/loop.c, include/uapi/linux/loop.h,
//! Documentation/ABI/testing/sysfs-block-loop.

use super::{DeviceNumber, sys};
use crate::{Error, Result};
use keyway_volume::device::storage::Extent;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::fs::{FileType, Mode, OFlags, fstat};
use rustix::io::Errno;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How a file is attached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Writes are refused.
    pub read_only: bool,
    /// The loop device detaches the file when the last user closes the device.
    pub autoclear: bool,
    /// The block size in bytes, 512 to 4096; 0 for the kernel's default.
    pub block_size: u32,
    /// Bypass the file's page cache, where its file system supports that.
    pub direct_io: bool,
    /// The part of the file that it shows; `None` for all of it.
    pub part: Option<Extent>,
}

/// A loop device. While this value exists the device stays attached, with autoclear or without.
#[derive(Debug)]
pub struct Loop {
    device: File,
    path: PathBuf,
}

impl Loop {
    /// Attaches a file to a free loop device.
    ///
    /// # Errors
    /// [`Error::Permission`]; [`Error::Unavailable`] when the kernel has no loop devices; an error
    /// when the file cannot be opened.
    pub fn attach(file: &Path, options: Options) -> Result<Self> {
        let backing = File::options().read(true).write(!options.read_only).open(file);
        let backing =
            backing.map_err(|source| Error::Io { what: format!("opening {}", file.display()), source })?;
        Self::attach_open(backing.as_fd(), file, options)
    }

    /// As [`Loop::attach`], for a file that is already open, even if another file is at its path by
    /// now. `file` is used in messages only.
    ///
    /// # Errors
    /// As [`Loop::attach`].
    pub(crate) fn attach_open(backing: BorrowedFd<'_>, file: &Path, options: Options) -> Result<Self> {
        let what = || format!("attaching {} to a loop device", file.display());
        let io = |error: Errno| refused(error, &what());
        let number = backing.as_raw_fd();
        let full = fs::read_link(format!("/proc/self/fd/{number}")).unwrap_or_else(|_| file.to_owned());
        let control = open("/dev/loop-control", false).map_err(|error| refused(error, &what()))?;
        for _ in 0..TRIES {
            let number = sys::free_number(control.as_fd()).map_err(io)?;
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let device = open(&path, options.read_only).map_err(io)?;
            match sys::configure(device.as_fd(), backing, options.block_size, info(options, &full)) {
                // Another process took the device first.
                Err(Errno::BUSY) => continue,
                Err(error) => return Err(io(error)),
                Ok(()) => {}
            }
            // Not every file system supports this; requests then go through the page cache.
            let _ = options.direct_io && sys::set_direct_io(device.as_fd(), true).is_ok();
            return Ok(Self { device, path });
        }
        Err(Error::Busy(format!("{}: other programs took every free one", what())))
    }

    /// The path of the device node.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The device number.
    ///
    /// # Errors
    /// The kernel's.
    pub fn number(&self) -> Result<DeviceNumber> {
        let what = || format!("looking at {}", self.path.display());
        let status = fstat(&self.device).map_err(|error| Error::Io { what: what(), source: error.into() })?;
        Ok(DeviceNumber::from_dev(status.st_rdev))
    }
}

/// The file behind a loop device, as the kernel names it; `None` if the device is not a loop
/// device, or has no file.
pub fn backing_file(device: DeviceNumber) -> Option<PathBuf> {
    let text = fs::read(format!("/sys/dev/block/{device}/loop/backing_file")).ok()?;
    let text = text.strip_suffix(b"\n").unwrap_or(&text);
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(text)))
}

/// The file behind a loop device, open for reading. `None` if it cannot be opened, or if its name leads to
/// another file by now: whoever may write to the directory puts there what they like.
pub fn open_backing_file(device: DeviceNumber) -> Option<File> {
    let node = open(Path::new("/dev").join(device.kernel_name()?), true).ok()?;
    let (number, inode) = sys::backing(node.as_fd()).ok()?;
    open_if_same(&backing_file(device)?, DeviceNumber::from_huge(number), inode)
}

/// Opens what is at `path` if it is a file or a block device with this inode. Anything else is only looked
/// at: to open a FIFO is to wait, and some devices act on it.
fn open_if_same(path: &Path, file_system: DeviceNumber, inode: u64) -> Option<File> {
    let found = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let stat = fstat(&found).ok()?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let is_same = (DeviceNumber::from_dev(stat.st_dev), stat.st_ino) == (file_system, inode);
    let is_storage = matches!(kind, FileType::RegularFile | FileType::BlockDevice);
    let again = format!("/proc/self/fd/{}", found.as_raw_fd());
    (is_same && is_storage).then(|| open(again, true).ok())?
}

/// The part of its file that a loop device shows; `None` if that is all of it.
pub fn part(device: DeviceNumber) -> Option<Extent> {
    let told =
        |name| fs::read_to_string(format!("/sys/dev/block/{device}/loop/{name}")).ok()?.trim().parse().ok();
    let (start, limit): (u64, u64) = (told("offset")?, told("sizelimit").unwrap_or(0));
    let len = if limit == 0 { u64::MAX } else { limit };
    (start > 0 || limit > 0).then_some(Extent { start, len })
}

/// The file behind the loop device at `path`.
pub fn backing_file_of(path: &Path) -> Option<PathBuf> {
    backing_file(DeviceNumber::at(path).ok()?)
}

/// Adjusts a loop device to the current length of its file.
///
/// # Errors
/// The kernel's, for example when the device is gone.
pub fn update_size(device: DeviceNumber) -> Result<()> {
    let what = || format!("resizing the loop device {device}");
    let name = device.kernel_name().ok_or_else(|| Error::NotFound(format!("{}: it is gone", what())))?;
    let device = open(Path::new("/dev").join(name), true).map_err(|error| refused(error, &what()))?;
    sys::set_capacity(device.as_fd()).map_err(|error| refused(error, &what()))
}

fn open(path: impl AsRef<Path>, read_only: bool) -> rustix::io::Result<File> {
    let opened = File::options().read(true).write(!read_only).open(path);
    opened.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

fn refused(error: Errno, what: &str) -> Error {
    match error {
        Errno::ACCESS | Errno::PERM => {
            Error::Permission(format!("{what}: only root or the group disk may do that"))
        }
        Errno::NOENT | Errno::NXIO | Errno::NODEV => {
            Error::Unavailable(format!("{what}: the kernel has no loop devices here: modprobe loop"))
        }
        Errno::BUSY => Error::Busy(format!("{what}: it is in use")),
        other => Error::Io { what: what.to_owned(), source: other.into() },
    }
}

fn info(options: Options, file: &Path) -> sys::Info<'_> {
    let part = options.part.unwrap_or(Extent { start: 0, len: 0 });
    let (flags, file_name) = (flags(options), file.as_os_str().as_bytes());
    sys::Info { offset: part.start, size_limit: part.len, flags, file_name }
}

fn flags(options: Options) -> u32 {
    let read_only = if options.read_only { LO_FLAGS_READ_ONLY } else { 0 };
    let autoclear = if options.autoclear { LO_FLAGS_AUTOCLEAR } else { 0 };
    read_only | autoclear
}

const LO_FLAGS_READ_ONLY: u32 = 1;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const TRIES: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::MetadataExt;

    /// A FIFO in the file's place made whoever looked at the loop device wait for ever.
    #[test]
    fn only_the_file_that_is_attached_is_opened_by_its_name() {
        let directory = std::env::temp_dir().join(format!("keyway-loopback-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let [image, gone] = ["image", "gone"].map(|name| directory.join(name));
        fs::write(&image, "attached").unwrap();
        let found = fs::metadata(&image).unwrap();
        let opened = || open_if_same(&image, DeviceNumber::from_dev(found.dev()), found.ino());
        let mut text = String::new();
        opened().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "attached");
        assert!(open_if_same(&image, DeviceNumber::from_dev(found.dev()), found.ino() + 1).is_none());
        assert!(open_if_same(&image, DeviceNumber { major: 0, minor: 0 }, found.ino()).is_none());
        fs::rename(&image, &gone).unwrap();
        assert!(opened().is_none());
        fs::write(&image, "another").unwrap();
        assert!(opened().is_none());
        fs::remove_file(&image).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &image, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(opened().is_none());
        let fifo = fs::metadata(&image).unwrap();
        assert!(open_if_same(&image, DeviceNumber::from_dev(fifo.dev()), fifo.ino()).is_none());
        fs::remove_dir_all(&directory).unwrap();
    }
}
