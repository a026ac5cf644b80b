//! Asking the user: /dev/tty without echo. Echo is restored whatever happens.

use crate::output::failure::{Cause, Exit, Failure, Result};
use crate::process::interrupt::{self, Pending};
use keyway_crypto::Secret;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::time::Duration;

/// cryptsetup's limit for a typed passphrase.
const LONGEST: usize = 512;

/// Whether standard input is a terminal.
pub(super) fn stdin_is_terminal() -> bool {
    rustix::termios::isatty(rustix::stdio::stdin())
}

/// Asks for a passphrase, twice with `verify`. With `tty_only`, standard input is not used.
pub(super) fn ask(prompt: &str, verify: bool, timeout: Option<Duration>, tty_only: bool) -> Result<Secret> {
    let terminal = Terminal::open(tty_only)?;
    let passphrase = terminal.ask_once(prompt, timeout)?;
    if verify && !terminal.ask_once("Verify passphrase: ", timeout)?.ct_eq(passphrase.expose()) {
        return Err(Failure::new(Exit::Permission, "Passphrases do not match.").because(Cause::WrongKey));
    }
    Ok(passphrase)
}

/// /dev/tty, or standard input and standard error if there is none.
struct Terminal {
    tty: Option<OwnedFd>,
}

impl Terminal {
    fn open(tty_only: bool) -> Result<Self> {
        match rustix::fs::open("/dev/tty", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
            Ok(tty) => Ok(Self { tty: Some(tty) }),
            Err(_) if !tty_only => Ok(Self { tty: None }),
            Err(_) => Err(Failure::new(
                Exit::Parameters,
                "Standard input is the data and there is no terminal to ask on: give the passphrase with --key-file.",
            )),
        }
    }

    fn input(&self) -> BorrowedFd<'_> {
        self.tty.as_ref().map_or(rustix::stdio::stdin(), AsFd::as_fd)
    }

    fn output(&self) -> BorrowedFd<'_> {
        self.tty.as_ref().map_or(rustix::stdio::stderr(), AsFd::as_fd)
    }

    fn ask_once(&self, prompt: &str, timeout: Option<Duration>) -> Result<Secret> {
        // Before the prompt: otherwise input typed right away would be echoed, and then discarded.
        let echo_off = EchoOff::new(self.input())?;
        let _ = rustix::io::write(self.output(), prompt.as_bytes());
        let result = read_line(self.input(), timeout);
        drop(echo_off);
        let _ = rustix::io::write(self.output(), b"\n");
        result
    }
}

/// Reads one line, without the newline.
fn read_line(input: BorrowedFd<'_>, timeout: Option<Duration>) -> Result<Secret> {
    let mut line = Secret::zeroed(LONGEST + 1);
    let mut filled = 0;
    if let Some(timeout) = timeout {
        wait(input, timeout)?;
    }
    loop {
        match rustix::io::read(input, &mut line.expose_mut()[filled..]) {
            Ok(0) if filled == 0 => return Err(reading("the input ended")),
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(Errno::INTR) => continue,
            Err(e) => return Err(reading(e)),
        }
        if line.expose()[..filled].ends_with(b"\n") {
            filled -= 1;
            break;
        }
        if filled > LONGEST {
            return Err(Failure::new(
                Exit::Parameters,
                "A typed passphrase has at most 512 bytes; a longer one must come from a key file.",
            ));
        }
    }
    Ok(Secret::copy_from(&line.expose()[..filled]))
}

fn wait(input: BorrowedFd<'_>, timeout: Duration) -> Result<()> {
    let limit = timeout.try_into().map_err(reading)?;
    match poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&limit)) {
        Ok(0) => Err(reading("nothing was typed in time")),
        Ok(_) => Ok(()),
        Err(e) => Err(reading(e)),
    }
}

fn reading(why: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Parameters, format!("Error reading passphrase from terminal: {why}."))
}

/// Turns echo off; restores it when dropped, or when a signal ends the program.
struct EchoOff<'a> {
    terminal: BorrowedFd<'a>,
    before: Termios,
    _pending: Option<Pending>,
}

impl<'a> EchoOff<'a> {
    fn new(terminal: BorrowedFd<'a>) -> Result<Self> {
        let before = tcgetattr(terminal).map_err(reading)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        let pending = terminal.try_clone_to_owned().ok().map(|copy| {
            let before = before.clone();
            interrupt::clean_up(move || {
                let _ = tcsetattr(&copy, OptionalActions::Flush, &before);
                let _ = rustix::io::write(&copy, b"\n");
            })
        });
        tcsetattr(terminal, OptionalActions::Flush, &silent).map_err(reading)?;
        Ok(Self { terminal, before, _pending: pending })
    }
}

impl Drop for EchoOff<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.terminal, OptionalActions::Flush, &self.before);
    }
}
