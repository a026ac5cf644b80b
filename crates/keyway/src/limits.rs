//! Limits on what work may cost, its progress, and its cancellation.

use keyway_crypto::Stop;
use keyway_volume::UnlockOptions;
use keyway_volume::device::stream::Meter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Limits on what work may cost. A header states its own costs, and a forged header can demand a
/// year of work: a keyslot beyond these limits is not tried, and the error says what it would have
/// needed.
///
/// Memory and time limit unlocking. Threads and [`Cancel`] also apply to operations that move whole
/// volumes: [`Volume::copy_from_with`](crate::Volume::copy_from_with),
/// [`Create::build`](crate::Create::build). [`Progress`] applies to these operations only, since a
/// key derivation reports no progress.
///
/// ```
/// # use keyway::*;
/// # use std::time::Duration;
/// let key = Key::passphrase("correct horse");
/// let device = Create::luks2().kdf(NewKdf::argon2id_forced(4, 64 << 10, 1)).in_memory(1 << 20, &key)?;
///
/// let small = Limits::new().memory(32 << 20).time(Duration::from_secs(10)).threads(1);
/// let error = device.unlock_with(&key, &Unlock::new().limits(small)).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::MemoryLimit { keyslot: 0, needs: 67108864, .. }));
/// # Ok::<(), keyway::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Limits {
    memory: Option<u64>,
    time: Option<Duration>,
    threads: Option<usize>,
    cancel: Option<Cancel>,
    progress: Option<Progress>,
}

impl Limits {
    /// The defaults: half of the available memory, one hour, one thread per CPU. See [`Limits`] for
    /// an example.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes of memory that all derivations together may use. See [`Limits`] for an example.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// How long a keyslot's derivation may take here, as estimated by a short measurement
    /// beforehand. See [`Limits`] for an example.
    #[must_use]
    pub fn time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// Threads for all derivations together, or for moving bytes. See [`Limits`] for an example.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Lets another thread cancel the work. See [`Cancel`] for an example.
    #[must_use]
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = Some(cancel.clone());
        self
    }

    /// Lets another thread read the progress of long work. See [`Progress`] for an example.
    #[must_use]
    pub fn progress(mut self, progress: &Progress) -> Self {
        self.progress = Some(progress.clone());
        self
    }

    /// Starts long work of `total` bytes, where that is known.
    pub(crate) fn begin(&self, total: Option<u64>) -> Meter {
        let progress = self.progress.clone().unwrap_or_default();
        progress.done.store(0, Ordering::Relaxed);
        progress.total.store(total.unwrap_or(UNKNOWN), Ordering::Relaxed);
        let stop = self.cancel.as_ref().map(|cancel| Arc::clone(&cancel.0));
        Meter::over(progress.done, stop.unwrap_or_default())
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.0.is_stopped())
    }

    /// The options for moving whole volumes within these limits.
    pub(crate) fn transfer(&self) -> keyway_volume::device::stream::Options {
        let default = keyway_volume::device::stream::Options::default();
        keyway_volume::device::stream::Options { threads: self.threads.unwrap_or(default.threads), ..default }
    }

    pub(crate) fn options(&self) -> UnlockOptions {
        let mut options = UnlockOptions::default();
        if let Some(bytes) = self.memory {
            options.memory_budget_kib = bytes / 1024;
        }
        if let Some(time) = self.time {
            options.time_limit = time;
        }
        if let Some(threads) = self.threads {
            options.threads = threads;
        }
        options.stop = self.cancel.as_ref().map(|cancel| Arc::clone(&cancel.0));
        options
    }
}

/// Cancels work from another thread: a key derivation within milliseconds, moving and wiping
/// between two chunks (a blocked reader or writer is not interrupted). Clones cancel the same work.
///
/// ```
/// # use keyway::*;
/// let key = Key::passphrase("correct horse");
/// let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
/// let cancel = Cancel::new();
/// cancel.cancel();
/// let options = Unlock::new().limits(Limits::new().cancel(&cancel));
/// assert_eq!(device.unlock_with(&key, &options).unwrap_err().kind(), &ErrorKind::Cancelled);
/// # Ok::<(), keyway::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Stop>);

impl Cancel {
    /// A new handle, not cancelled. See [`Cancel`] for an example.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the work, and all work that is later started with this handle. See [`Cancel`] for an
    /// example.
    pub fn cancel(&self) {
        self.0.stop();
    }
}

/// The progress of long work, read from another thread while it runs. Clones show the same work.
///
/// ```
/// # use keyway::*;
/// # let key = Key::passphrase("correct horse");
/// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
/// let (volume, progress, cancel) = (device.unlock(&key)?, Progress::new(), Cancel::new());
/// let limits = Limits::new().progress(&progress).cancel(&cancel);
/// std::thread::scope(|scope| {
///     let work = scope.spawn(|| volume.copy_to_with(&mut std::io::sink(), &limits));
///     while !work.is_finished() {
///         eprint!("\r{} of {:?} bytes", progress.done(), progress.total());
///         std::thread::sleep(std::time::Duration::from_millis(10));
///     }
///     work.join().unwrap()
/// })?;
/// assert_eq!((progress.done(), progress.total()), (1 << 20, Some(1 << 20)));
///
/// cancel.cancel();
/// let error = volume.copy_to_with(&mut std::io::sink(), &limits).unwrap_err();
/// assert_eq!(error.kind(), &ErrorKind::Cancelled);
/// # Ok::<(), keyway::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Progress {
    done: Arc<AtomicU64>,
    total: Arc<AtomicU64>,
}

impl Progress {
    /// A new handle with nothing done yet. See [`Progress`] for an example.
    pub fn new() -> Self {
        Self { done: Arc::default(), total: Arc::new(AtomicU64::new(UNKNOWN)) }
    }

    /// Bytes done so far, including skipped holes. See [`Progress`] for an example.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Total bytes of the work; `None` before the work begins, and for a reader, whose length is
    /// unknown. See [`Progress`] for an example.
    pub fn total(&self) -> Option<u64> {
        Some(self.total.load(Ordering::Relaxed)).filter(|total| *total != UNKNOWN)
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

/// Stands for an unknown total: no work is that long.
const UNKNOWN: u64 = u64::MAX;
