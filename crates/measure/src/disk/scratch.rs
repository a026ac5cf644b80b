//! Storage that the benchmark overwrites: a nameless file, or a given file or device.
//!
//! A file created here has no name (O_TMPFILE) or is unlinked at once: however the program ends,
//! even by a crash or `kill -9`, the file disappears with the last process that has it open.

use super::workload::SIZES_MIB;
use keyway_volume::Storage;
use keyway_volume::device::storage::{Direct, File};
use rustix::fs::{Advice, CWD, FallocateFlags, Mode, OFlags, StatVfs};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The storage of a run.
pub struct Scratch {
    file: Arc<File>,
    /// Access that bypasses the page cache, where possible.
    direct: Option<Arc<Direct>>,
    /// Why the page cache cannot be bypassed.
    buffered_because: Option<String>,
}

impl Scratch {
    /// A file of `len` bytes in this directory, all of it allocated. It has no name.
    ///
    /// # Errors
    /// If the directory refuses: no permission, read-only, no space.
    pub fn in_directory(directory: &Path, len: u64) -> io::Result<Self> {
        Self::of_new(nameless(directory)?, directory, len)
    }

    /// A new, empty file, which becomes `len` bytes long; `path` is its name in error messages.
    ///
    /// # Errors
    /// If there is no space.
    pub fn of_new(file: fs::File, path: &Path, len: u64) -> io::Result<Self> {
        match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, len) {
            Ok(()) => {}
            // Not every file system allocates ahead; then filling does it.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(len)?,
            Err(error) => return Err(error.into()),
        }
        Self::of(File::from_file(file, path)?)
    }

    /// An existing file or block device.
    ///
    /// # Errors
    /// The errors of [`fs::File`].
    pub fn of(file: File) -> io::Result<Self> {
        let file = Arc::new(file);
        let (direct, buffered_because) = match Direct::new(file.clone()).and_then(tried) {
            Ok(direct) => (Some(Arc::new(direct)), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Ok(Self { file, direct, buffered_because })
    }

    /// Its bytes, bypassing the page cache where possible.
    pub fn storage(&self) -> Arc<dyn Storage> {
        match &self.direct {
            Some(direct) => direct.clone(),
            None => self.file.clone(),
        }
    }

    /// Why its bytes go through the page cache; `None` if they do not.
    pub fn buffered_because(&self) -> Option<&str> {
        self.buffered_because.as_deref()
    }

    /// A path through which another process of this user can open it while this process lives.
    pub fn node(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_file().as_raw_fd()))
    }

    /// Drops its pages from the page cache (posix_fadvise) and, if its bytes go through it and this
    /// is permitted, all other caches of the kernel (drop_caches). Dirty pages are written first.
    pub fn drop_caches(&self) -> io::Result<()> {
        self.file.flush()?;
        rustix::fs::fadvise(self.file.as_file(), 0, None, Advice::DontNeed)?;
        if self.buffered_because.is_some() {
            let _ = fs::write("/proc/sys/vm/drop_caches", "3\n");
        }
        Ok(())
    }
}

/// Some file systems take the flag and refuse the requests.
fn tried(direct: Direct) -> io::Result<Direct> {
    let mut first = super::engine::Aligned::new(4096);
    let read = if direct.is_empty() { Ok(()) } else { direct.read_at(first.bytes(), 0) };
    let file = direct.file().as_file();
    if read.is_err()
        && let Ok(flags) = rustix::fs::fcntl_getfl(file)
    {
        let _ = rustix::fs::fcntl_setfl(file, flags - OFlags::DIRECT);
    }
    read.map(|()| direct)
}

fn nameless(directory: &Path) -> io::Result<fs::File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::openat(CWD, directory, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => Ok(file.into()),
        // A file system (overlayfs before 6.3, NFS, FAT, FUSE) or a kernel without nameless files.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT | Errno::NOSYS)
            if directory.is_dir() =>
        {
            unlinked(&directory.join(format!(".keyway-bench-{}", std::process::id())))
        }
        Err(error) => Err(error.into()),
    }
}

/// A new file with this name, which is unlinked at once.
///
/// # Errors
/// If the name is taken, or the directory refuses.
pub fn unlinked(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::File::options();
    let file = options.read(true).write(true).create_new(true).mode(0o600).open(path)?;
    fs::remove_file(path)?;
    Ok(file)
}

/// The largest size of a new file in this directory: the space available to this user, minus a
/// reserve that keeps the machine usable.
///
/// # Errors
/// The directory's error.
pub fn room(directory: &Path) -> io::Result<u64> {
    let StatVfs { f_bavail, f_frsize, f_blocks, .. } = rustix::fs::statvfs(directory)?;
    let reserve = (f_blocks.saturating_mul(f_frsize) / RESERVE_PART).clamp(LEAST_RESERVE, MOST_RESERVE);
    Ok(f_bavail.saturating_mul(f_frsize).saturating_sub(reserve))
}

/// The number of bytes to use of storage with `has` bytes: as many as the largest size needs,
/// rounded to whole requests. `None` if not even the smallest size fits.
pub fn region(has: u64, wanted: Option<u64>) -> Option<u64> {
    let [smallest, .., largest] = SIZES_MIB;
    let region = has.min(wanted.unwrap_or(largest << 20)) & !((1 << 20) - 1);
    (region >= smallest << 20).then_some(region)
}

/// A fiftieth of the file system stays free …
const RESERVE_PART: u64 = 50;
/// … but no less than this …
const LEAST_RESERVE: u64 = 16 << 20;
/// … and no more.
const MOST_RESERVE: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_a_whole_number_of_requests() {
        const MIB: u64 = 1 << 20;
        assert_eq!(region(10 * MIB, None), Some(10 * MIB));
        assert_eq!(region(10 * MIB - 1, None), None);
        assert_eq!(region(11 * MIB + 12345, None), Some(11 * MIB));
        assert_eq!(region(u64::MAX, None), Some(2000 * MIB));
        assert_eq!(region(u64::MAX, Some(64 * MIB + 1)), Some(64 * MIB));
    }

    #[test]
    fn a_scratch_file_has_no_name_and_can_be_opened_by_others() {
        let directory = std::env::temp_dir().join(format!("keyway-scratch-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        let scratch = Scratch::in_directory(&directory, 1 << 20).unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
        fs::remove_dir(&directory).unwrap();
        assert_eq!(scratch.storage().len(), 1 << 20);
        scratch.storage().write_at(&[7; 4096], 8192).unwrap();
        scratch.storage().flush().unwrap();
        assert_eq!(fs::read(scratch.node()).unwrap()[8192..8200], [7; 8]);
        assert!(scratch.drop_caches().is_ok());
        assert!(Scratch::in_directory(&directory, 1 << 20).is_err(), "it is gone");
    }

    #[test]
    fn a_name_that_is_taken_is_left_alone() {
        let path = std::env::temp_dir().join(format!("keyway-taken-{}", std::process::id()));
        fs::write(&path, "mine").unwrap();
        assert!(unlinked(&path).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        fs::remove_file(&path).unwrap();
    }
}
