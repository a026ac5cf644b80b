//! What has to be put back when a signal ends the program: the terminal's echo, a temporary file.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;

/// Runs `cleanup` if SIGINT, SIGTERM or SIGHUP ends the program before the guard is dropped.
#[must_use]
pub(crate) fn clean_up(cleanup: impl FnOnce() + Send + 'static) -> Pending {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    watch_signals();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    pending().push((number, Box::new(cleanup)));
    Pending(number)
}

/// Something that is to be put back.
pub(crate) struct Pending(u64);

impl Drop for Pending {
    fn drop(&mut self) {
        pending().retain(|(number, _)| *number != self.0);
    }
}

type Cleanup = (u64, Box<dyn FnOnce() + Send>);

fn pending() -> MutexGuard<'static, Vec<Cleanup>> {
    static PENDING: Mutex<Vec<Cleanup>> = Mutex::new(Vec::new());
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts, once, a thread that cleans up and then lets the signal do what it always does.
fn watch_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]) else { return };
        thread::spawn(move || {
            for signal in &mut signals {
                for (_, cleanup) in pending().drain(..) {
                    cleanup();
                }
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        });
    });
}
