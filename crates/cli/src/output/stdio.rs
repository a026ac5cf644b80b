//! Text on standard output, where write errors are reported without a panic, and on standard error,
//! where they are ignored because they cannot be reported.

use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::paint::printable_lines;
use std::fmt;
use std::io::{self, Write};

/// Prints a line on standard error, with the arguments of `format!`. If standard error cannot be
/// written (a full device, a reader that has gone away), nothing happens: `eprintln!` would panic,
/// and within a panic abort the process.
macro_rules! say {
    ($($words:tt)*) => { $crate::output::stdio::say(format_args!($($words)*)) };
}

/// The implementation of [`say!`]: one write, so that the lines of several processes do not mix.
/// Names from headers, images and servers may be part of the text, and are escaped so that the
/// terminal does not interpret them.
pub(crate) fn say(words: fmt::Arguments<'_>) {
    let _ = io::stderr().write_all(printable_lines(&format!("{words}\n")).as_bytes());
}

/// Writes `text` as it is and flushes. If the reader has gone away (`| head`), the program ends
/// quietly.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(Failure::silent(Exit::Parameters)),
        Err(e) => Err(Failure::new(Exit::Parameters, format!("Cannot write to standard output: {e}."))),
    }
}

/// Writes a line only with `-v`. It goes to standard output, where scripts for cryptsetup look for
/// it.
pub(crate) fn verbose(manner: Manner, line: &str) -> Result<()> {
    if manner.verbose { print(&format!("{}\n", printable_lines(line))) } else { Ok(()) }
}

/// Writes a line only with `--debug`, marked in the way cryptsetup marks such lines.
pub(crate) fn debug(manner: Manner, line: &str) -> Result<()> {
    if manner.debug { print(&format!("# {}\n", printable_lines(line))) } else { Ok(()) }
}
