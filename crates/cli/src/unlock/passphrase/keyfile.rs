//! Passphrases from files, and from standard input that is not a terminal, by the rules of
//! [`keyway::key_file`].

use crate::output::failure::{Exit, Failure, Result};
use keyway::key_file::{self, End, Error, Part};
use keyway_crypto::Secret;
use rustix::stdio::stdin;
use std::io;
use std::path::Path;

/// Reads standard input, and no byte beyond what `end` says; `None` if it ended before any byte
/// came.
pub(super) fn read_stdin(part: Part, end: End) -> Result<Option<Secret>> {
    let input = key_file::read_stream(stdin(), part, end).map_err(failed)?;
    let is_nothing = input.secret.is_empty() && !input.ended_by_newline;
    Ok((!is_nothing).then_some(input.secret))
}

/// Whether `path` is standard input under any name (-, /dev/stdin, /dev/fd/0, the redirected file
/// itself).
pub(super) fn is_stdin(path: &Path) -> bool {
    let same = |(a, b): (rustix::fs::Stat, rustix::fs::Stat)| (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino);
    path == Path::new("-")
        || rustix::fs::stat(path).ok().zip(rustix::fs::fstat(stdin()).ok()).is_some_and(same)
}

/// Reads a key file.
pub(super) fn read_file(path: &Path, part: Part) -> Result<Secret> {
    key_file::read(path, part).map_err(failed)
}

/// Reads exactly `len` bytes: a volume key.
pub(super) fn read_exact(path: &Path, len: usize) -> Result<Secret> {
    key_file::read_volume_key(path, len).map_err(|error| match error {
        Error::Open { path, source } => {
            unreadable(&source, format!("Cannot read keyfile {}: {source}.", path.display()))
        }
        other => failed(other),
    })
}

fn failed(error: Error) -> Failure {
    let message = error.to_string();
    match &error {
        Error::Open { source, .. } | Error::Read(source) => unreadable(source, message),
        _ => Failure::new(Exit::Parameters, message),
    }
}

fn unreadable(error: &io::Error, message: String) -> Failure {
    Failure::new(Exit::of_file(error, Exit::Parameters), message).in_cryptsetup(Exit::Parameters)
}
