//! The passphrase that a command prints (`--password-command`), as restic takes it: a password
//! manager is asked at the moment when the passphrase is needed.
//!
//! The passphrase goes through a pipe into a [`Secret`]; no process has it on its command line.

use crate::output::failure::{Exit, Failure, Result};
use crate::process::interrupt;
use keyway::key_file::LONGEST;
use keyway_crypto::Secret;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionread, retry_on_intr};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fmt::Display;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Runs the command, and returns its output without the newline at the end. The command stays in
/// this process's group: Ctrl-C reaches both, and it may ask on the terminal.
pub(super) fn output(line: &str) -> Result<Secret> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::piped());
    let (mut child, _pending) = start(&mut command)?;
    let ended = handle(&child);
    let printed = read(&mut child, ended.as_ref());
    if printed.is_err() {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|e| wrong(format_args!("cannot be waited for: {e}")))?;
    let printed = printed?;
    check(status)?;
    let bytes = printed.expose();
    match bytes.strip_suffix(b"\n").unwrap_or(bytes) {
        [] => Err(wrong("printed nothing")),
        passphrase if passphrase.len() == bytes.len() => Ok(printed),
        passphrase => Ok(Secret::copy_from(passphrase)),
    }
}

/// Starts the command. A signal that ends this process alone ends the command, too: one that
/// arrives while the command is being started waits until it can be told.
fn start(command: &mut Command) -> Result<(Child, interrupt::Pending)> {
    let started = Arc::new(Mutex::new(None));
    let told = Arc::clone(&started);
    let pending = interrupt::clean_up(move || {
        if let Some(handle) = &*lock(&told) {
            let _ = pidfd_send_signal(handle, Signal::TERM);
        }
    });
    let mut noted = lock(&started);
    let child = command.spawn().map_err(|e| wrong(format_args!("cannot be run: {e}")))?;
    *noted = handle(&child);
    Ok((child, pending))
}

fn lock(started: &Mutex<Option<OwnedFd>>) -> MutexGuard<'_, Option<OwnedFd>> {
    started.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the command has written by the time when it ends: what it leaves running in the background may
/// hold the pipe open for as long as it likes.
fn read(child: &mut Child, handle: Option<&OwnedFd>) -> Result<Secret> {
    let Some(output) = child.stdout.take() else { return Err(wrong("has no output")) };
    let failed = |errno: Errno| wrong(format_args!("cannot be read: {errno}"));
    let (mut printed, mut filled) = (Secret::zeroed(FIRST), 0);
    loop {
        let has_ended = wait(child, handle, output.as_fd()).map_err(failed)?;
        let mut left = ioctl_fionread(&output).map_err(failed)?;
        if left == 0 && !has_ended {
            // Something can be read, and it is nothing: nobody has the pipe any more.
            return Ok(Secret::copy_from(&printed.expose()[..filled]));
        }
        while left > 0 {
            if filled == printed.len() {
                let mut larger = Secret::zeroed((filled * 2).min(LONGEST + 1));
                larger.expose_mut()[..filled].copy_from_slice(printed.expose());
                printed = larger;
            }
            let room = &mut printed.expose_mut()[filled..];
            let len = room.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let count = retry_on_intr(|| rustix::io::read(&output, &mut room[..len])).map_err(failed)?;
            filled += count;
            if filled > LONGEST {
                return Err(wrong("printed more than 8 MiB, the longest passphrase"));
            }
            left = if count == 0 { 0 } else { left - count as u64 };
        }
        if has_ended {
            return Ok(Secret::copy_from(&printed.expose()[..filled]));
        }
    }
}

/// Waits until there is something to read, or the command has ended: whether it has.
fn wait(child: &mut Child, handle: Option<&OwnedFd>, output: BorrowedFd<'_>) -> rustix::io::Result<bool> {
    loop {
        let mut sources = vec![PollFd::from_borrowed_fd(output, PollFlags::IN)];
        sources.extend(handle.map(|handle| PollFd::new(handle, PollFlags::IN)));
        // Without a handle, which Linux has since 5.3, the command is asked after now and then.
        let moment = handle.is_none().then_some(MOMENT);
        retry_on_intr(|| poll(&mut sources, moment.as_ref()))?;
        let has_ended = match sources.get(1) {
            Some(ended) => !ended.revents().is_empty(),
            None => !matches!(child.try_wait(), Ok(None)),
        };
        if has_ended || !sources[0].revents().is_empty() {
            return Ok(has_ended);
        }
    }
}

fn check(status: ExitStatus) -> Result<()> {
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(wrong(format_args!("failed with exit code {code}"))),
        None => Err(wrong(format_args!("was ended by a {status}"))),
    }
}

/// A handle that stays the command's own, even when it has ended and its number is another's.
fn handle(child: &Child) -> Option<OwnedFd> {
    let pid = Pid::from_raw(child.id().try_into().ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

fn wrong(what: impl Display) -> Failure {
    Failure::new(Exit::Parameters, format!("The password command {what}."))
}

/// Room for the first read.
const FIRST: usize = 4096;
const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
