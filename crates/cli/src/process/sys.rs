//! Tasks for which the standard library has no safe function.
//!
//! Checking standard input before the standard library starts, because it opens /dev/null in place
//! of a closed one, after which closed and empty cannot be told apart. A handler for the signals of
//! a crash. The descriptors beyond the three standard ones that this process was given, which
//! programs that it starts must not inherit. And the command line as process lists show it.

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

/// From now on, a crash wipes all keys before it takes its default effect.
pub(crate) fn wipe_keys_on_crash() {
    for signal in CRASHES {
        // SAFETY: both structures are plain data, for which zeros are a valid value; the handler
        // has the type that a `sigaction` without SA_SIGINFO requires, and calls only
        // async-signal-safe functions.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            let asked = libc::sigaction(*signal, std::ptr::null(), &mut before);
            if asked != 0 || before.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = crashed as extern "C" fn(c_int) as usize;
            // The crash may be a stack overflow: the standard library gives every thread an
            // alternate stack for signals.
            action.sa_flags = libc::SA_ONSTACK;
            libc::sigaction(*signal, &action, std::ptr::null_mut());
        }
    }
}

/// Must run before anything is opened: the descriptors that are open now were given by the parent,
/// and must not be inherited by child programs.
pub(crate) fn keep_from_children() {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    let given =
        |number: &RawFd| *number > 2 && fcntl_getfd(borrow(*number)).is_ok_and(|flags| flags.is_empty());
    *inherited() = numbers.filter(given).collect();
    mark_inherited(FdFlags::CLOEXEC);
}

/// Lets a program started by `start` inherit the descriptors that this process was given, because
/// it continues in this process's place.
pub(crate) fn handing_down<T>(start: impl FnOnce() -> T) -> T {
    mark_inherited(FdFlags::empty());
    let started = start();
    mark_inherited(FdFlags::CLOEXEC);
    started
}

/// Closes the descriptors that this process was given and no longer needs.
pub(crate) fn close_inherited() {
    for number in inherited().drain(..) {
        // SAFETY: the descriptor was open before `main` ran, nothing here owns it, and it leaves
        // the list that other code borrows from.
        drop(unsafe { OwnedFd::from_raw_fd(number) });
    }
}

fn mark_inherited(flags: FdFlags) {
    for number in &*inherited() {
        let _ = fcntl_setfd(borrow(*number), flags);
    }
}

fn borrow(number: RawFd) -> BorrowedFd<'static> {
    // SAFETY: if the descriptor is not open, the calls that it is passed to return an error, and it
    // is not used for anything else here.
    unsafe { BorrowedFd::borrow_raw(number) }
}

fn inherited() -> MutexGuard<'static, Vec<RawFd>> {
    static INHERITED: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());
    INHERITED.lock().unwrap_or_else(PoisonError::into_inner)
}
/// Writes `shown` over the arguments in this process's memory, where ps(1) reads them. This is best
/// effort: without /proc, or if the arguments are not where the kernel says (proc_pid_stat(5),
/// `arg_start`), they stay.
pub(crate) fn retitle(argv: &[OsString], shown: &[OsString]) {
    let is_typed = argv.len() == shown.len() && argv.iter().map(OsString::as_os_str).eq(std::env::args_os());
    if argv != shown && is_typed {
        let _ = overwrite(argv, shown);
    }
}

/// Writes through a file descriptor, because Rust has no defined way to write to its own memory by
/// address. The bytes are compared first, and each argument keeps its place and its NUL.
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

/// The index of the field, counted from the one after the program's name.
const ARG_START: usize = 48 - 3;

extern "C" fn crashed(signal: c_int) {
    keyway_crypto::secret::wipe_all();
    // SAFETY: both functions may be called in a signal handler. The signal is blocked here and ends
    // the process on return.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Signals whose default is a core dump (signal(7)). Exceeded resource limits are not crashes, but
/// end the process in the same way.
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
