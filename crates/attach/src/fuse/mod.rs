//! The FUSE front end: a directory with one file, the plaintext.
//!
//! `plain` has the export's size and belongs to the user who mounted it. It can be read, written
//! and memory-mapped like any file, but can neither grow nor shrink. It is accessed through the
//! kernel's page cache, which reads ahead and issues requests of up to one mebibyte; several
//! threads answer them in parallel. Each read is one [`Storage::read_at`] into the buffer that goes
//! to the kernel.
//!
//! Protocol: Linux, include/uapi/linux/fuse.h, implemented by the crate fuser. Mounting is done
//! here ([`mounting`]), so that each failure has its own message.
//!
//! [`Storage::read_at`]: keyway_volume::Storage::read_at

mod directory;
mod mounting;
mod users;

use crate::{Error, Export, FrontEnd, Result};
use directory::Directory;
use fuser::{Config, Notifier, Session, SessionACL};
use keyway_volume::device::mounts;
use mounting::Unmount;
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Checks whether `dir` can be mounted on, as far as possible without trying.
///
/// # Errors
/// Those of [`Mount::new`].
pub fn check(dir: &Path) -> Result<()> {
    mounting::check(dir)?;
    mounting::open_device().map(drop)
}

/// The device number of the file system visible at `dir`; `None` if there is none. Its server is
/// not asked.
pub fn device_at(dir: &Path) -> Option<u64> {
    mounting::device_at(dir).ok()
}

/// Unmounts the mount of `device` from `dir` if its process is gone; any other mount is left alone.
///
/// # Errors
/// If the kernel or fusermount3 refuses.
pub(crate) fn clear_dead(dir: &Path, device: u64) -> Result<()> {
    mounting::clear_dead(dir, device)
}

/// Unmounts `mount` if nobody uses it.
///
/// # Errors
/// [`Error::Busy`] when it is in use, or when something else is mounted on top of it; an error when
/// the kernel or fusermount3 refuses.
pub fn unmount(mount: &mounts::Mount) -> Result<()> {
    mounting::unmount_listed(mount)
}

/// A description of each user that keeps the mount at `dir` from being unmounted, as far as the
/// caller may see them.
pub fn users(dir: &Path) -> Vec<String> {
    users::users_of(dir)
}

/// How a volume is mounted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// What `mount` and `df` show as the source: the volume's path.
    pub source: String,
    /// Whether other users (including root, if an ordinary user mounts) may use the file. An
    /// ordinary user needs `user_allow_other` in /etc/fuse.conf for this.
    pub allow_other: bool,
    /// Whether the kernel collects written data and writes it back later. This makes small writes
    /// fast, but the kernel then accepts writes beyond the end of the file, and reports the error
    /// only at `fsync` and `close`.
    pub writeback: bool,
    /// Whether the kernel caches nothing that is read or written.
    pub direct: bool,
    /// How holes are punched, if the export allows discards.
    pub holes: Holes,
    /// How many requests are processed at the same time.
    pub threads: usize,
}

/// What happens to a hole that is punched into the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holes {
    /// It is filled with zeros, as programs that punch holes expect. Encrypted zeros take up as
    /// much space as other data.
    Zeros,
    /// It is discarded: the storage regains the space, and the hole reads as noise.
    Discarded,
}

impl Default for Options {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            source: "keyway".into(),
            allow_other: false,
            writeback: false,
            direct: false,
            holes: Holes::Zeros,
            threads: cores.clamp(2, MAX_THREADS),
        }
    }
}

/// A mounted volume. If dropped while mounted, it is unmounted as soon as its last user is done.
#[derive(Debug)]
pub struct Mount {
    directory: PathBuf,
    /// The device number that tells this mount from others at the same place.
    device: u64,
    session: Arc<Ended>,
    open_files: Arc<AtomicUsize>,
    punches_holes: Arc<AtomicBool>,
}

impl Mount {
    /// Mounts `export` on the empty directory `dir`. The mount is the only owner of the export's
    /// storage.
    ///
    /// # Errors
    /// If the directory is missing, not empty or owned by someone else; if this machine has no
    /// /dev/fuse, or an ordinary user lacks the program fusermount3.
    pub fn new(export: Export, dir: &Path, options: Options) -> Result<Self> {
        let dir = mounting::check(dir)?;
        let storage = Arc::clone(&export.storage);
        let connection = mounting::mount(&dir, &options, export.rights.read_only)?;
        let failed = |source| Error::Io { what: format!("mounting {}", dir.display()), source };
        let device = mounting::device_at(&dir).map_err(failed)?;
        let mut config = Config::default();
        // The kernel decides who has access, by the mount options.
        config.acl = SessionACL::All;
        let waiting = if storage.is_distant() { MAX_THREADS } else { 1 };
        config.n_threads = Some(options.threads.max(waiting));
        config.clone_fd = true;
        let directory = Directory::new(export, &options);
        let (open_files, punches_holes) = (directory.open_files(), directory.punches_holes());
        let started = Session::from_fd(directory, connection, SessionACL::All, config).map_err(failed);
        let running = started.inspect_err(|_| drop(mounting::unmount_own(&dir, device, Unmount::Lazily)))?;

        let session = Arc::new(Ended::default());
        *session.notifier() = Some(running.notifier());
        let ended = Arc::clone(&session);
        thread::spawn(move || {
            let served = ended_well(running.run());
            // The key is dropped with the storage, before anybody is notified of the end.
            let flushed = storage.flush();
            drop(storage);
            // It holds a reference to the FUSE descriptor.
            drop(ended.notifier().take());
            ended.tell(served.and(flushed));
        });
        mounting::read_far_ahead(&dir);
        Ok(Self { directory: dir, device, session, open_files, punches_holes })
    }

    /// Detaches the directory at once, and keeps serving those who have the file open;
    /// [`FrontEnd::wait`] returns when the last of them is done.
    ///
    /// # Errors
    /// If the kernel or fusermount3 refuses.
    pub fn detach(&self) -> Result<()> {
        if self.session.result().is_some() {
            return Ok(());
        }
        mounting::unmount_own(&self.directory, self.device, Unmount::Lazily)
    }
}

/// Whether this user can mount here: /dev/fuse can be opened, and the user has root privileges or
/// the program fusermount3.
pub fn is_available() -> bool {
    mounting::open_device().is_ok() && (rustix::process::geteuid().is_root() || mounting::has_helper())
}

impl FrontEnd for Mount {
    fn place(&self) -> String {
        self.directory.join(FILE_NAME).display().to_string()
    }

    fn clients(&self) -> usize {
        self.open_files.load(Ordering::Relaxed)
    }

    fn pass_discards(&self, pass: bool) -> Result<()> {
        self.punches_holes.store(pass, Ordering::Relaxed);
        Ok(())
    }

    fn refresh(&self) {
        if let Some(notifier) = &*self.session.notifier() {
            // Without this the kernel refreshes the attributes by itself a second later.
            let _ = notifier.inval_inode(directory::FILE, -1, 0);
        }
    }

    fn wait(&self) -> Result<()> {
        self.session.wait()
    }

    fn check_stoppable(&self) -> Result<()> {
        if self.clients() > 0 { Err(mounting::busy(&self.directory)) } else { Ok(()) }
    }

    fn stop(&self) -> Result<()> {
        if self.session.result().is_none() {
            // The kernel writes back cached data before the call returns.
            mounting::unmount_own(&self.directory, self.device, Unmount::WhenUnused)?;
        }
        self.wait()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // There is nobody left to report an error to.
        let _ = self.detach();
    }
}

/// Whether the session has ended, and how.
#[derive(Debug, Default)]
struct Ended {
    result: Mutex<Option<std::result::Result<(), String>>>,
    told: Condvar,
    /// Present until the session ends.
    notifier: Mutex<Option<Notifier>>,
}

impl Ended {
    fn tell(&self, result: io::Result<()>) {
        *self.result() = Some(result.map_err(|e| e.to_string()));
        self.told.notify_all();
    }

    fn wait(&self) -> Result<()> {
        let mut result = self.result();
        loop {
            match &*result {
                Some(Ok(())) => return Ok(()),
                Some(Err(why)) => {
                    let source = io::Error::other(why.clone());
                    return Err(Error::Io { what: "serving the mounted file".into(), source });
                }
                None => result = self.told.wait(result).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn notifier(&self) -> MutexGuard<'_, Option<Notifier>> {
        self.notifier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn result(&self) -> MutexGuard<'_, Option<std::result::Result<(), String>>> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is read in the very moment in which the kernel ends the connection fails so; those
/// who wait for one are told ENODEV, which is no failure either.
fn ended_well(served: io::Result<()>) -> io::Result<()> {
    let aborted = Some(Errno::CONNABORTED.raw_os_error());
    served.or_else(|error| if error.raw_os_error() == aborted { Ok(()) } else { Err(error) })
}

/// The name of the only file.
pub(crate) const FILE_NAME: &str = "plain";

/// Additional threads would wait for the kernel, not for the cipher.
const MAX_THREADS: usize = 8;

/// The longest request, in bytes: FUSE_MAX_MAX_PAGES (256, fs/fuse/fuse_i.h) pages of 4 KiB.
const MAX_REQUEST: u32 = 1 << 20;
