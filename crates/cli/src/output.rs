//! Text on standard output, with write errors reported instead of a panic.

use crate::failure::{Exit, Failure, Result};
use std::io::{self, Write};

/// Writes `text` as it is and flushes. A reader that went away (`| head`) ends the program quietly.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(Failure::silent(Exit::Parameters)),
        Err(e) => Err(Failure::new(Exit::Parameters, format!("Cannot write to standard output: {e}."))),
    }
}
