//! Text on standard output, with write errors reported instead of a panic; and on standard
//! error, where nobody is left to be told of one.

use crate::say::failure::{Exit, Failure, Result};
use crate::say::manner::Manner;
use crate::say::paint::printable_lines;
use std::fmt;
use std::io::{self, Write};

/// A line on standard error, with the arguments of `format!`. Standard error that
/// cannot be written (a full device, a reader that has gone) changes nothing:
/// `eprintln!` would panic, and in a panic end the process.
macro_rules! say {
    ($($words:tt)*) => { $crate::say::output::say(format_args!($($words)*)) };
}

/// What [`say!`] does: one write, so that the lines of several processes do not
/// mix. Names out of headers, images and servers may be part of it, and are shown
/// so that the terminal takes nothing for a command.
pub(crate) fn say(words: fmt::Arguments<'_>) {
    let _ = io::stderr().write_all(printable_lines(&format!("{words}\n")).as_bytes());
}

/// Writes `text` as it is and flushes. A reader that went away (`| head`) ends the program quietly.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(Failure::silent(Exit::Parameters)),
        Err(e) => Err(Failure::new(Exit::Parameters, format!("Cannot write to standard output: {e}."))),
    }
}

/// Writes a line with `-v` only. It goes to standard output, where
/// cryptsetup's scripts look for it.
pub(crate) fn verbose(manner: Manner, line: &str) -> Result<()> {
    if manner.verbose { print(&format!("{}\n", printable_lines(line))) } else { Ok(()) }
}

/// Writes a line with `--debug` only, marked as cryptsetup marks them.
pub(crate) fn debug(manner: Manner, line: &str) -> Result<()> {
    if manner.debug { print(&format!("# {}\n", printable_lines(line))) } else { Ok(()) }
}
