//! The passphrase that a command prints (`--password-command`), as restic takes it: a password
//! manager is asked at the moment when the passphrase is needed.
//!
//! The passphrase goes through a pipe into a [`Secret`]; no process has it on its command line.

use crate::process::interrupt;
use crate::say::failure::{Exit, Failure, Result};
use keyway_crypto::Secret;
use keyway_volume::key_file::{self, End, Error, Part};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fmt::Display;
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};

/// Runs the command, and returns its output without the newline at the end. The command stays in
/// this process's group: Ctrl-C reaches both, and it may ask on the terminal.
pub(super) fn output(line: &str) -> Result<Secret> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|e| wrong(format_args!("cannot be run: {e}")))?;
    // A signal that is sent to this process alone ends the command, too.
    let _pending = handle(&child).map(|handle| {
        interrupt::clean_up(move || {
            let _ = pidfd_send_signal(handle, Signal::TERM);
        })
    });
    let printed = read(&mut child);
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

fn read(child: &mut Child) -> Result<Secret> {
    let Some(output) = child.stdout.take() else { return Err(wrong("has no output")) };
    match key_file::read_stream(output.as_fd(), Part::default(), End::Eof) {
        Ok(input) => Ok(input.secret),
        Err(Error::TooLong) => Err(wrong("printed more than 8 MiB, the longest passphrase")),
        Err(error) => Err(wrong(format_args!("cannot be read: {error}"))),
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
fn handle(child: &Child) -> Option<rustix::fd::OwnedFd> {
    let pid = Pid::from_raw(child.id().try_into().ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

fn wrong(what: impl Display) -> Failure {
    Failure::new(Exit::Parameters, format!("The password command {what}."))
}
