//! `keyscript=`: a program whose output is the key, as in Debian's crypttab(5).
//!
//! It gets the third field as its argument, and these environment variables: `CRYPTTAB_NAME`,
//! `_SOURCE`, `_KEY`, `_TRIED` (how often its key was wrong), `_OPTIONS` (the names of the options)
//! and one `CRYPTTAB_OPTION_…` for each option ("yes" for a flag). Its standard input and standard
//! error are the console.

use super::Terms;
use crate::output::failure::{Cause, Exit, Failure, Result};
use keyway_boot::crypttab::Entry;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio::{dup2_stdin, stdin};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};

/// Opens the volume with the program's output. After a wrong key the program is run again, as many
/// times as a user would be asked.
pub(super) fn open(terms: &Terms, program: &str, entry: &Entry, there: &Entry) -> Result<()> {
    let tries = terms.opening(there)?.tries();
    let mut tried = 0;
    loop {
        let opened = attempt(terms, program, entry, there, tried);
        tried += 1;
        match opened {
            Err(wrong) if wrong.cause() == Cause::WrongKey && tried < tries => {
                wrong.report();
            }
            done => return done,
        }
    }
}

fn attempt(terms: &Terms, program: &str, entry: &Entry, there: &Entry, tried: u64) -> Result<()> {
    let cannot = |why: String| Failure::new(Exit::Parameters, format!("keyscript {program}: {why}."));
    let mut running = command(program, entry, there, tried)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| cannot(error.to_string()))?;
    let opened = match running.stdout.take() {
        Some(output) => {
            let input = Input::instead(&output).map_err(|error| cannot(error.to_string()));
            input.and_then(|_input| terms.open_as(&Entry { key_file: Some("-".into()), ..there.clone() }))
        }
        None => Err(cannot("it has no output".to_owned())),
    };
    let ended = running.wait().map_err(|error| cannot(error.to_string()))?;
    match opened {
        Err(_) if !ended.success() => Err(cannot(format!("it ended with {ended}"))),
        opened => opened,
    }
}

fn command(program: &str, entry: &Entry, there: &Entry, tried: u64) -> Command {
    let key = entry.key_file.clone().unwrap_or_else(|| "none".into());
    let names: Vec<&str> = entry.options.iter().map(|(name, _)| name.as_str()).collect();
    let mut command = Command::new(Path::new(SCRIPTS).join(program));
    command
        .arg(&key)
        .env("CRYPTTAB_NAME", &entry.name)
        .env("CRYPTTAB_SOURCE", &there.device)
        .env("CRYPTTAB_KEY", &key)
        .env("CRYPTTAB_TRIED", tried.to_string())
        .env("CRYPTTAB_OPTIONS", names.join(" "));
    for (name, value) in &entry.options {
        let value = if value.is_empty() { "yes" } else { value };
        command.env(format!("CRYPTTAB_OPTION_{}", name.replace(['-', '.'], "_")), value);
    }
    command
}

/// Replaces standard input with the program's output while this value exists.
struct Input(OwnedFd);

impl Input {
    fn instead(output: &ChildStdout) -> rustix::io::Result<Self> {
        let before = fcntl_dupfd_cloexec(stdin(), FIRST_OF_OURS)?;
        dup2_stdin(output.as_fd())?;
        Ok(Self(before))
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        let _ = dup2_stdin(&self.0);
    }
}

/// Where Debian keeps scripts that are named without a path.
const SCRIPTS: &str = "/lib/cryptsetup/scripts";
const FIRST_OF_OURS: i32 = 3;
