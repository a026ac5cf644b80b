//! The ublk front end: a block device, /dev/ublkbN, in the kernel, served by this process.
//!
//! Linux's user-space block devices (Documentation/block/ublk.rst; module `ublk_drv`, in the form
//! of Linux 6.4 or later). A control device adds, starts, stops and removes devices; each queue has
//! a thread, which takes requests from a ring and answers them. The kernel copies data between its
//! pages and this process's buffers, so that decryption can be done in place, and so that ordinary
//! users may have such devices, if udev's rules allow it.
//!
//! When the process dies, the kernel removes the disk, and its users get errors. What remains is
//! the device's number, which [`remove_dead`] frees.
//!
//! | module     | what it knows                                       |
//! |------------|-----------------------------------------------------|
//! | `protocol` | the kernel's numbers and structures                 |
//! | `control`  | the control device, and what its refusals mean      |
//! | `queue`    | from a request to the storage and back              |
//! | `sys`      | the rings, and the memory shared with the kernel    |

mod control;
mod protocol;
mod queue;
#[allow(unsafe_code)]
mod sys;

use crate::{Error, Export, FrontEnd, Refusal, Result};
use control::ControlDevice;
use protocol::DeviceInfo;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How a device is served.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// How many threads answer requests; the kernel allows no more than it has processors.
    pub queues: u16,
    /// How many requests a queue holds at a time.
    pub depth: u16,
    /// The maximum request size in bytes, a multiple of 4096. A queue may take this much memory
    /// times its depth.
    pub request_len: u32,
}

impl Default for Options {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self { queues: cores.clamp(1, MOST_QUEUES) as u16, depth: 64, request_len: 512 << 10 }
    }
}

/// A block device. If dropped while present, it is removed, and its users get errors.
pub struct Device {
    info: DeviceInfo,
    export: Export,
    control: Mutex<ControlDevice>,
    queues: Mutex<Vec<JoinHandle<io::Result<()>>>>,
    running: Arc<Running>,
    /// Whether the number was freed; it may belong to another device by now.
    removed: Mutex<bool>,
}

impl Device {
    /// Adds a block device that exposes `export`.
    ///
    /// # Errors
    /// If the kernel lacks support or the user lacks permission, naming what is missing; or if the
    /// device cannot be started.
    pub fn add(export: Export, options: Options) -> Result<Self> {
        let mut control = ControlDevice::open()?;
        let info = control.add(options.queues, options.depth, options.request_len)?;
        let device = Self {
            info,
            export,
            control: Mutex::new(control),
            queues: Mutex::default(),
            running: Arc::default(),
            removed: Mutex::new(false),
        };
        // From here on, dropping the device removes what was added.
        device.start()?;
        Ok(device)
    }

    fn start(&self) -> Result<()> {
        // An ordinary user has no access before udev's rule changes the device's owner.
        let device = open_when_there(&PathBuf::from(format!("/dev/ublkc{}", self.info.id)))
            .map_err(|source| self.failed("opening the queues of", source))?;
        let Export { storage, rights, .. } = &self.export;
        let parameters = protocol::parameters(&**storage, *rights, self.info.buffer_len);
        self.control().set_parameters(&self.info, &parameters)?;
        self.start_queues(&device).map_err(|source| self.failed("serving", source))?;
        self.control().start(&self.info)
    }

    /// Starts a thread for each queue; returns when all of them can receive requests.
    fn start_queues(&self, device: &File) -> io::Result<()> {
        let (ready, readiness) = mpsc::channel();
        for id in 0..self.info.queues {
            let queue =
                sys::Queue::new(device.try_clone()?, id, self.info.depth, self.info.buffer_len as usize)?;
            let (export, ready) = (self.export.clone(), ready.clone());
            let held = Held::new(&self.running);
            let name = format!("ublk{}-{id}", self.info.id);
            let thread = thread::Builder::new().name(name).spawn(move || {
                let _held = held;
                queue::serve(queue, &export, &ready)
            })?;
            self.threads().push(thread);
        }
        (0..self.info.queues).try_for_each(|_| readiness.recv().unwrap_or_else(|e| Err(io::Error::other(e))))
    }

    /// Called after the disk is gone: ends the threads, flushes what they wrote, and frees the
    /// number. Does this only the first time.
    fn conclude(&self) -> Result<()> {
        let mut removed = self.removed();
        if std::mem::replace(&mut *removed, true) {
            return Ok(());
        }
        let threads = std::mem::take(&mut *self.threads());
        let ended = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(panicked())));
        let served = ended.fold(Ok(()), io::Result::and).map_err(|source| self.failed("serving", source));
        let flushed = self.export.storage.flush().map_err(|source| self.failed("flushing", source));
        let deleted = self.control().delete(&self.info);
        served.and(flushed).and(deleted)
    }

    fn failed(&self, doing: &str, source: io::Error) -> Error {
        Error::Io { what: format!("{doing} {}", self.place()), source }
    }

    fn control(&self) -> MutexGuard<'_, ControlDevice> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn removed(&self) -> MutexGuard<'_, bool> {
        self.removed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<io::Result<()>>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FrontEnd for Device {
    fn place(&self) -> String {
        format!("/dev/ublkb{}", self.info.id)
    }

    /// 1 if a file system, a mapping or the like has claimed the device exclusively; other users
    /// are not visible.
    fn clients(&self) -> usize {
        usize::from(matches!(claim(&self.place()), Err(Errno::BUSY)))
    }

    fn check_resizable(&self) -> Result<()> {
        Err(Refusal::FixedSize.because(format!(
            "{} keeps the size that it was made with: close it and open it again",
            self.place()
        )))
    }

    fn pass_discards(&self, pass: bool) -> Result<()> {
        match pass && !self.export.rights.discards {
            false => Ok(()),
            true => Err(Refusal::FixedDiscards
                .because(format!("{} was made without discards: close it and open it again", self.place()))),
        }
    }

    fn wait(&self) -> Result<()> {
        self.running.wait_for_none();
        self.conclude()
    }

    fn stop(&self) -> Result<()> {
        // Claimed, so that nobody mounts it in the meantime.
        let held = match claim(&self.place()) {
            Ok(held) => Some(held),
            Err(Errno::BUSY) => {
                return Err(Error::Busy(format!("{} is in use: unmount it first", self.place())));
            }
            // The disk is already gone.
            Err(_) => None,
        };
        if let Some(held) = &held {
            rustix::fs::fsync(held).map_err(|e| self.failed("flushing", e.into()))?;
        }
        self.control().stop(&self.info)?;
        drop(held);
        self.running.wait_for_none();
        self.conclude()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if !*self.removed() && self.control().stop(&self.info).is_ok() {
            let _ = self.conclude();
        }
    }
}

/// Frees the number of a device whose process has died, if `disk` (/dev/ublkbN) was its disk.
/// Returns whether there was such a device.
///
/// # Errors
/// If the kernel lacks support or the user lacks permission.
pub fn remove_dead(disk: &Path) -> Result<bool> {
    let number = disk.to_str().and_then(|path| path.strip_prefix("/dev/ublkb")).and_then(|n| n.parse().ok());
    let Some(id) = number else { return Ok(false) };
    let mut control = ControlDevice::open()?;
    let until = Instant::now() + TIMEOUT;
    loop {
        match control.info(id)? {
            Some(info) if !info.live => return control.delete(&info).map(|()| true),
            // The kernel is about to remove the disk.
            Some(info) if !is_alive(info.pid) && Instant::now() < until => thread::sleep(POLL),
            _ => return Ok(false),
        }
    }
}

fn is_alive(pid: i32) -> bool {
    let pid = Pid::from_raw(pid.max(0));
    pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// How many queues are being served.
#[derive(Default)]
struct Running {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Running {
    fn wait_for_none(&self) {
        let mut count = self.count();
        while *count > 0 {
            count = self.changed.wait(count).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn count(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One queue counted in [`Running`], until it is dropped.
struct Held(Arc<Running>);

impl Held {
    fn new(running: &Arc<Running>) -> Self {
        *running.count() += 1;
        Self(Arc::clone(running))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        *self.0.count() -= 1;
        self.0.changed.notify_all();
    }
}

/// Claims a block device exclusively, as mounting does.
fn claim(disk: &str) -> std::result::Result<OwnedFd, Errno> {
    rustix::fs::open(disk, OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a device that was just created: its node, and for ordinary users udev's rule, may take a
/// moment.
fn open_when_there(path: &Path) -> io::Result<File> {
    let until = Instant::now() + TIMEOUT;
    loop {
        match File::options().read(true).write(true).open(path) {
            Err(_) if Instant::now() < until => thread::sleep(POLL),
            opened => return opened,
        }
    }
}

fn panicked() -> io::Error {
    io::Error::other("a thread ended in a panic")
}

const MOST_QUEUES: usize = 8;
const TIMEOUT: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(5);
