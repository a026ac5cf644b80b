//! What key derivation may cost, and how it is ended.

use keyway_crypto::Stop;
use keyway_volume::UnlockOptions;
use std::sync::Arc;
use std::time::Duration;

/// What unlocking may cost. A header names its own costs, and whoever forges one names a year:
/// beyond these limits a keyslot is not tried, and the error says what it would have needed.
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
}

impl Limits {
    /// Half of the memory that is available, an hour, a thread a CPU.
    /// See [`Limits`] for an example.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes that all derivations together may take. See [`Limits`] for an example.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// How long a keyslot's derivation may take here, as estimated by a short
    /// measurement before it. See [`Limits`] for an example.
    #[must_use]
    pub fn time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// Threads for all derivations together. See [`Limits`] for an example.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Lets another thread end it. See [`Cancel`] for an example.
    #[must_use]
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = Some(cancel.clone());
        self
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

/// Ends a derivation from another thread, within milliseconds. Clones end the same one.
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
    /// Not cancelled. See [`Cancel`] for an example.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends it, and whatever is started with it later. See [`Cancel`] for an example.
    pub fn cancel(&self) {
        self.0.stop();
    }
}
