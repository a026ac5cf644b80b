//! What has to be looked at before the standard library starts: it opens /dev/null in the place of a standard input
//! that was closed, and from then on a closed one cannot be told from an empty one.

use rustix::io::{Errno, fcntl_getfd};
use rustix::stdio::stdin;
use std::sync::atomic::{AtomicBool, Ordering};

static STDIN_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether the program was started without a standard input (`<&-`).
pub(crate) fn stdin_was_closed() -> bool {
    STDIN_CLOSED.load(Ordering::Relaxed)
}

extern "C" fn look() {
    STDIN_CLOSED.store(fcntl_getfd(stdin()) == Err(Errno::BADF), Ordering::Relaxed);
}

// SAFETY: .init_array holds pointers to functions of this signature, which the C library calls once before main;
// `look` makes one system call, stores one atomic, and cannot panic.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;
