//! Whether this process is the background process of a session: a second instance of the same
//! program, started by `session::background`.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

/// The background process's own name (`argv[0]`), which process lists show as well.
pub(crate) const NAME: &str = "keyway-session";

/// Whether this is the background process, that is, it was handed a request.
pub(crate) fn is_inside() -> bool {
    INSIDE.load(Ordering::Relaxed)
}

/// This process was handed a request.
pub(crate) fn enter() {
    INSIDE.store(true, Ordering::Relaxed);
}

/// Gives the background process the name that process lists show. This is no longer possible once
/// the process is not dumpable.
pub(crate) fn name_process() {
    if is_inside() {
        let _ = fs::write("/proc/self/comm", NAME);
    }
}

static INSIDE: AtomicBool = AtomicBool::new(false);
