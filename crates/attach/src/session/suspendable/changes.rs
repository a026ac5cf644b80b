//! Changes, counted: who looks at something and has to wait until it is otherwise remembers the
//! count from before, and waits until it is another. A change in between is not missed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// How often something has changed.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Changes only while `sleep` is locked.
    count: AtomicU64,
    sleep: Mutex<()>,
    told: Condvar,
}

impl Changes {
    /// Must be read before looking at what may change.
    pub(super) fn so_far(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Must be called after each change.
    pub(super) fn tell(&self) {
        let _sleep = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        self.count.fetch_add(1, Ordering::SeqCst);
        self.told.notify_all();
    }

    /// Returns when there has been a change after the `seen` ones.
    pub(super) fn wait_after(&self, seen: u64) {
        let mut sleep = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        while self.so_far() == seen {
            sleep = self.told.wait(sleep).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
