//! What the standard library has no safe way to do.
//!
//! A look at standard input before it starts: it opens /dev/null in the place of one
//! that was closed, and from then on a closed one cannot be told from an empty one. A
//! handler for the signals of a crash. The descriptors that this process was given
//! beside the three standard ones: other programs that it starts do not get them. And
//! the command line, as lists of processes show it.

use libc::c_int;
use rustix::io::{Errno, FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::stdio::stdin;
use std::ffi::OsString;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

static STDIN_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether the program was started without a standard input (`<&-`).
pub(crate) fn stdin_was_closed() -> bool {
    STDIN_CLOSED.load(Ordering::Relaxed)
}

extern "C" fn look() {
    STDIN_CLOSED.store(fcntl_getfd(stdin()) == Err(Errno::BADF), Ordering::Relaxed);
}

// SAFETY: .init_array holds pointers to functions of this signature, which the C library calls once
// before main; `look` makes one system call, stores one atomic, and cannot panic.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// From now on a crash wipes all keys before it does what it always does.
pub(crate) fn wipe_keys_on_crash() {
    for signal in CRASHES {
        // SAFETY: both structures are plain data, for which zeros are a value;
        // the handler has the type that a `sigaction` without SA_SIGINFO asks
        // for, and calls only what a handler may call.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            let asked = libc::sigaction(*signal, std::ptr::null(), &mut before);
            if asked != 0 || before.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = crashed as extern "C" fn(c_int) as usize;
            // The stack may be what is used up: the standard library
            // gives every thread another for signals.
            action.sa_flags = libc::SA_ONSTACK;
            libc::sigaction(*signal, &action, std::ptr::null_mut());
        }
    }
}

/// Before anything is opened: the descriptors that are open now are
/// somebody else's, and end with this program.
pub(crate) fn keep_from_children() {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    let given =
        |number: &RawFd| *number > 2 && fcntl_getfd(borrow(*number)).is_ok_and(|flags| flags.is_empty());
    *inherited() = numbers.filter(given).collect();
    mark_inherited(FdFlags::CLOEXEC);
}

/// Lets a program that `start` starts have what this one was given: it goes on in its place.
pub(crate) fn handing_down<T>(start: impl FnOnce() -> T) -> T {
    mark_inherited(FdFlags::empty());
    let started = start();
    mark_inherited(FdFlags::CLOEXEC);
    started
}

/// Closes what this program was given and does not need any longer.
pub(crate) fn close_inherited() {
    for number in inherited().drain(..) {
        // SAFETY: it was open before `main` ran, nothing here has made an owner of it, and it
        // leaves the list that others borrow from.
        drop(unsafe { OwnedFd::from_raw_fd(number) });
    }
}

fn mark_inherited(flags: FdFlags) {
    for number in &*inherited() {
        let _ = fcntl_setfd(borrow(*number), flags);
    }
}

fn borrow(number: RawFd) -> BorrowedFd<'static> {
    // SAFETY: one that is not open is an error of the calls that it is
    // given to, and no other use is made of it here.
    unsafe { BorrowedFd::borrow_raw(number) }
}

fn inherited() -> MutexGuard<'static, Vec<RawFd>> {
    static INHERITED: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());
    INHERITED.lock().unwrap_or_else(PoisonError::into_inner)
}
/// Writes `shown` over the arguments in this process's memory, where ps(1) looks for them.
/// No more than an attempt: without /proc, or with arguments that are not where the kernel
/// says (proc_pid_stat(5), `arg_start`), they stay.
pub(crate) fn retitle(argv: &[OsString], shown: &[OsString]) {
    let is_typed = argv.len() == shown.len() && argv.iter().map(OsString::as_os_str).eq(std::env::args_os());
    if argv != shown && is_typed {
        let _ = overwrite(argv, shown);
    }
}

/// Through a file descriptor: writing to one's own memory by address is nothing that the language
/// knows of. The bytes are compared first, and each argument keeps its place and its NUL.
fn overwrite(argv: &[OsString], shown: &[OsString]) -> io::Result<()> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let start = after_name.split_whitespace().nth(ARG_START).and_then(|field| field.parse().ok());
    let start: u64 = start.ok_or(io::ErrorKind::InvalidData)?;
    let memory = fs::File::options().read(true).write(true).open("/proc/self/mem")?;
    let mut at = start;
    for (typed, shown) in argv.iter().zip(shown) {
        let typed = typed.as_bytes();
        let mut there = vec![0; typed.len() + 1];
        memory.read_exact_at(&mut there, at)?;
        if there.strip_suffix(&[0]) != Some(typed) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut cleaned = shown.as_bytes().to_vec();
        cleaned.resize(typed.len(), 0);
        memory.write_all_at(&cleaned, at)?;
        at += there.len() as u64;
    }
    Ok(())
}

/// The field, counted from the one behind the program's name.
const ARG_START: usize = 48 - 3;

extern "C" fn crashed(signal: c_int) {
    keyway_crypto::secret::wipe_all();
    // SAFETY: both may be called in a handler. The signal is blocked
    // here and ends the process on return.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Signals whose default is a core dump (signal(7)); resource limits
/// are not crashes, but end alike.
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
