//! Signals: restoring state when one ends the program (the terminal's echo, a temporary file),
//! those that must not end the program, and those that ask a server to stop.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use std::ffi::c_int;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
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

/// Cleanup that is pending.
pub(crate) struct Pending(u64);

impl Drop for Pending {
    fn drop(&mut self) {
        pending().retain(|(number, _)| *number != self.0);
    }
}

/// Until the guard is dropped, SIGINT, SIGTERM and SIGHUP do not end the program: `stop` is called
/// with the signal instead.
#[must_use]
pub(crate) fn stop_by(stop: impl Fn(c_int) + Send + 'static) -> Stopping {
    watch_signals();
    *stopper() = Some(Box::new(stop));
    Stopping
}

/// While this exists, signals call the stopper.
pub(crate) struct Stopping;

impl Drop for Stopping {
    fn drop(&mut self) {
        // If a signal is being handled right now, the stopper stays in place; the program is ending
        // anyway.
        if let Ok(mut stopper) = STOPPER.try_lock() {
            *stopper = None;
        }
    }
}

/// Until the guard is dropped, SIGINT, SIGTERM and SIGHUP wait: what is begun is either whole or removed
/// again. Where signals do not end the program anyway, nothing changes.
#[must_use]
pub(crate) fn hold() -> Held {
    let came = Arc::new(AtomicI32::new(0));
    let seen = Arc::clone(&came);
    watch_signals();
    let mut stopper = stopper();
    let holds = stopper.is_none();
    if holds {
        *stopper = Some(Box::new(move |signal| seen.store(signal, Ordering::Relaxed)));
    }
    Held { came, holds }
}

/// While this exists, signals wait.
pub(crate) struct Held {
    came: Arc<AtomicI32>,
    /// Whether nothing else has signals wait.
    holds: bool,
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.holds {
            return;
        }
        // A signal that is being handled right now has come before this returns.
        *stopper() = None;
        let signal = self.came.load(Ordering::Relaxed);
        if signal != 0 {
            end_by(signal);
        }
    }
}

type Stopper = Box<dyn Fn(c_int) + Send>;

static STOPPER: Mutex<Option<Stopper>> = Mutex::new(None);

fn stopper() -> MutexGuard<'static, Option<Stopper>> {
    STOPPER.lock().unwrap_or_else(PoisonError::into_inner)
}

type Cleanup = (u64, Box<dyn FnOnce() + Send>);

fn pending() -> MutexGuard<'static, Vec<Cleanup>> {
    static PENDING: Mutex<Vec<Cleanup>> = Mutex::new(Vec::new());
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail with an error line, with nothing
/// left behind, instead of ending the program.
pub(crate) fn survive_file_limit() {
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Whether the program was started with `signal` ignored (`nohup`, a script's trap), so that it
/// must go on in spite of it.
fn is_ignored(signal: c_int) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 != 0)
}

/// Starts a thread, once, that cleans up and then gives the signal its default effect.
fn watch_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let watched = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal));
        let Ok(mut signals) = signal_hook::iterator::Signals::new(watched) else { return };
        thread::spawn(move || {
            for signal in &mut signals {
                if let Some(stop) = &*stopper() {
                    stop(signal);
                    continue;
                }
                end_by(signal);
            }
        });
    });
}

/// Cleans up, and gives the signal its default effect.
fn end_by(signal: c_int) {
    for (_, cleanup) in pending().drain(..) {
        cleanup();
    }
    keyway_crypto::secret::wipe_all();
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}
