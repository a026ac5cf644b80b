//! The FUSE door: a directory with one file, the plaintext.
//!
//! `plain` has the export's size, belongs to whoever mounted it, and can be read, written and
//! mapped like any file, but neither grow nor shrink. The kernel's page cache stands in front of
//! it: it reads ahead, and asks in requests of up to a mebibyte, which several threads answer side
//! by side. Each is one [`Storage::read_at`] into the buffer that goes to the kernel.
//!
//! Protocol: Linux, include/uapi/linux/fuse.h, spoken by crate fuser. Mounting is ours
//! ([`mounting`]), so that every refusal has its own words.
//!
//! [`Storage::read_at`]: keyway_volume::Storage::read_at

mod directory;
mod mounting;
mod users;

use crate::{Door, Error, Export, Result};
use directory::Directory;
use fuser::{Config, Notifier, Session, SessionACL};
use keyway_volume::mounts;
use mounting::Unmount;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Whether `dir` can be mounted on, as far as can be told without trying.
///
/// # Errors
/// Those of [`Mount::new`].
pub fn check(dir: &Path) -> Result<()> {
    mounting::check(dir)?;
    mounting::open_device().map(drop)
}

/// The device number of the file system that is seen at `dir`; `None`
/// where there is none. Its server is not asked.
pub fn device_at(dir: &Path) -> Option<u64> {
    mounting::device_at(dir).ok()
}

/// Takes the mount of `device` away from `dir` when its process is
/// gone; whatever else is there stays.
///
/// # Errors
/// The kernel, or fusermount3, refuses.
pub fn clear_dead(dir: &Path, device: u64) -> Result<()> {
    mounting::clear_dead(dir, device)
}

/// Unmounts `mount`, if nobody uses it.
///
/// # Errors
/// [`Error::Busy`] when somebody does, or when something else is mounted on
/// top of it; the kernel, or fusermount3, refuses.
pub fn unmount(mount: &mounts::Mount) -> Result<()> {
    mounting::unmount_listed(mount)
}

/// Who keeps the mount at `dir` from being unmounted, each in words, as far as this user may know.
pub fn users(dir: &Path) -> Vec<String> {
    users::of(dir)
}

/// How a volume is mounted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// What `mount` and `df` show as the source: the volume's path.
    pub source: String,
    /// Whether other users (root, too, where it is not root who mounts) may use the file. An
    /// ordinary user needs `user_allow_other` in /etc/fuse.conf for it.
    pub allow_other: bool,
    /// Whether the kernel collects written data and writes it back later. Small writes
    /// get fast; but the kernel then accepts writes beyond the end of the file, and
    /// tells of the error at `fsync` and `close` only.
    pub writeback: bool,
    /// Whether the kernel keeps no copy of what is read and written.
    pub direct: bool,
    /// What a punched hole is, where the export's discards allow any.
    pub holes: Holes,
    /// How many requests are worked on at the same time.
    pub threads: usize,
}

/// What becomes of a hole that is punched into the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holes {
    /// It is written with zeros, as everybody expects who punches one.
    /// Encrypted zeros take room as other data does.
    Zeros,
    /// It is discarded: the storage gets its room back, and the hole reads as noise.
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

/// A mounted volume. Dropped while it is mounted, it goes as soon as its last user is done.
#[derive(Debug)]
pub struct Mount {
    directory: PathBuf,
    /// The device number by which this mount is known from others at the same place.
    device: u64,
    session: Arc<Ended>,
    open_files: Arc<AtomicUsize>,
    punches_holes: Arc<AtomicBool>,
}

impl Mount {
    /// Mounts `export` on the empty directory `dir`. Nothing but the
    /// mount holds on to the export's storage.
    ///
    /// # Errors
    /// The directory is missing, not empty or somebody else's; this machine has no /dev/fuse, or an
    /// ordinary user lacks the program fusermount3.
    pub fn new(export: Export, dir: &Path, options: Options) -> Result<Self> {
        let dir = mounting::check(dir)?;
        let storage = Arc::clone(&export.storage);
        let connection = mounting::mount(&dir, &options, export.read_only)?;
        let failed = |source| Error::Io { what: format!("mounting {}", dir.display()), source };
        let device = mounting::device_at(&dir).map_err(failed)?;
        let mut config = Config::default();
        // The kernel decides who may come in; it is told so when mounting.
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
            let served = running.run();
            // The key goes with the storage, before anybody is told that this is over.
            let flushed = storage.flush();
            drop(storage);
            // It holds on to the kernel's end of the conversation.
            drop(ended.notifier().take());
            ended.tell(served.and(flushed));
        });
        mounting::read_far_ahead(&dir);
        Ok(Self { directory: dir, device, session, open_files, punches_holes })
    }

    /// Takes the directory away at once, and keeps serving those who have the file open;
    /// [`Door::wait`] returns when the last of them is done.
    ///
    /// # Errors
    /// The kernel, or fusermount3, refuses.
    pub fn detach(&self) -> Result<()> {
        if self.session.result().is_some() {
            return Ok(());
        }
        mounting::unmount_own(&self.directory, self.device, Unmount::Lazily)
    }
}

/// Whether this user can mount here: /dev/fuse may be opened, and
/// there are root's rights or the program fusermount3.
pub fn is_available() -> bool {
    mounting::open_device().is_ok() && (rustix::process::geteuid().is_root() || mounting::has_helper())
}

impl Door for Mount {
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
            // Without it the kernel asks by itself, a second later.
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
            // What the kernel still holds is written before the call returns.
            mounting::unmount_own(&self.directory, self.device, Unmount::WhenUnused)?;
        }
        self.wait()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = self.detach();
    }
}

/// Whether the session is over, and how it ended.
#[derive(Debug, Default)]
struct Ended {
    result: Mutex<Option<std::result::Result<(), String>>>,
    told: Condvar,
    /// While it is not over.
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

/// The one file's name.
pub const FILE_NAME: &str = "plain";

/// More threads than this wait for the kernel, not for the cipher.
const MAX_THREADS: usize = 8;

/// The longest request, in bytes: FUSE_MAX_MAX_PAGES (256, fs/fuse/fuse_i.h) pages of 4 KiB.
const MAX_REQUEST: u32 = 1 << 20;
