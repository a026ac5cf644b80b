//! What the standard library has no safe way to do.
//!
//! A look at standard input before it starts: it opens /dev/null in the place of one that was closed, and from then on a
//! closed one cannot be told from an empty one. And a handler for the signals of a crash.

use libc::c_int;
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

/// From now on a crash wipes all keys before it does what it always does.
pub(crate) fn wipe_keys_on_crash() {
    for signal in CRASHES {
        // SAFETY: both structures are plain data, for which zeros are a value; the handler has the type that a `sigaction`
        // without SA_SIGINFO asks for, and calls only what a handler may call.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            let asked = libc::sigaction(*signal, std::ptr::null(), &mut before);
            if asked != 0 || before.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = crashed as extern "C" fn(c_int) as usize;
            // The stack may be what is used up: the standard library gives every thread another for signals.
            action.sa_flags = libc::SA_ONSTACK;
            libc::sigaction(*signal, &action, std::ptr::null_mut());
        }
    }
}

extern "C" fn crashed(signal: c_int) {
    keyway_crypto::secret::wipe_all();
    // SAFETY: both may be called in a handler. The signal is blocked here and ends the process on return.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Signals whose default is a core dump (signal(7)); resource limits are not crashes, but end alike.
const CRASHES: &[c_int] = &[
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGQUIT,
    libc::SIGSEGV,
    libc::SIGSYS,
    libc::SIGTRAP,
    libc::SIGXCPU,
];
