//! Passphrases from files and from standard input that is no terminal.

use crate::failure::{Exit, Failure, Result};
use keyway_crypto::Secret;
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use rustix::stdio::stdin;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::Path;

/// cryptsetup's limit for a key file of unnamed size.
const LIMIT: usize = 8 << 20;

/// The line for standard input that ended before anything came.
pub(super) const NOTHING: &str = "Nothing to read on input.";

/// Which part of the input is the passphrase.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Bytes to skip.
    pub(super) offset: u64,
    /// Exact length; `None` for everything.
    pub(super) size: Option<u64>,
}

/// What ends a passphrase on standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The first newline, which is not part of it.
    Newline,
    /// The end of the input.
    Eof,
}

/// Reads standard input, not one byte further than the end says.
pub(super) fn read_stdin(part: Part, end: End) -> Result<Secret> {
    skip(stdin(), part.offset)?;
    let (secret, ended_by_newline) = collect(stdin(), part.size, end)?;
    if secret.is_empty() && !ended_by_newline {
        return Err(wrong(NOTHING));
    }
    Ok(secret)
}

/// Whether `path` is standard input, by whatever name (-, /dev/stdin, /dev/fd/0, the redirected file itself).
pub(super) fn is_stdin(path: &Path) -> bool {
    let same = |(a, b): (rustix::fs::Stat, rustix::fs::Stat)| (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino);
    path == Path::new("-")
        || rustix::fs::stat(path).ok().zip(rustix::fs::fstat(stdin()).ok()).is_some_and(same)
}

/// Reads a key file.
pub(super) fn read_file(path: &Path, part: Part) -> Result<Secret> {
    let mut file = open(path)?;
    let metadata = file.metadata().map_err(|_| wrong("Failed to stat key file."))?;
    if metadata.is_file() {
        if part.offset > metadata.len() {
            return Err(wrong("Cannot seek to requested keyfile offset."));
        }
        file.seek(SeekFrom::Start(part.offset))
            .map_err(|_| wrong("Cannot seek to requested keyfile offset."))?;
    } else {
        if rustix::termios::isatty(&file) {
            return Err(wrong("Cannot read keyfile from a terminal."));
        }
        skip(file.as_fd(), part.offset)?;
    }
    let (secret, _) = collect(file.as_fd(), part.size, End::Eof)?;
    Ok(secret)
}

/// Reads exactly `len` bytes: a volume key.
pub(super) fn read_exact(path: &Path, len: usize) -> Result<Secret> {
    let file =
        File::open(path).map_err(|e| wrong(format!("Cannot read keyfile {}: {e}.", path.display())))?;
    let mut key = Secret::zeroed(len);
    if fill(file.as_fd(), key.expose_mut())? != len {
        return Err(wrong(format!("Cannot read {len} bytes from keyfile {}.", path.display())));
    }
    Ok(key)
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| wrong(format!("Failed to open key file {}: {e}.", path.display())))
}

/// Reads up to `size` bytes, or to the end. The buffer grows by copying, the old one is wiped.
fn collect(fd: BorrowedFd<'_>, size: Option<u64>, end: End) -> Result<(Secret, bool)> {
    let limit = match size {
        Some(n) => usize::try_from(n).map_err(|_| wrong("The key file size is too large."))?,
        None => LIMIT + 1,
    };
    let mut buffer = Secret::zeroed(limit.min(4096));
    let mut filled = 0;
    let mut newline = false;
    while filled < limit {
        if filled == buffer.len() {
            let mut larger = Secret::zeroed((buffer.len() * 2).min(limit));
            larger.expose_mut()[..filled].copy_from_slice(buffer.expose());
            buffer = larger;
        }
        let room = match end {
            End::Newline => &mut buffer.expose_mut()[filled..filled + 1],
            End::Eof => &mut buffer.expose_mut()[filled..],
        };
        let got = read(fd, room)?;
        if got == 0 {
            break;
        }
        if end == End::Newline && room[0] == b'\n' {
            newline = true;
            break;
        }
        filled += got;
    }
    if size.is_none() && filled == limit {
        return Err(wrong("Maximum keyfile size exceeded: a key file has at most 8 MiB, or name its size."));
    }
    if size.is_some() && filled != limit {
        return Err(wrong("Cannot read requested amount of data."));
    }
    Ok((Secret::copy_from(&buffer.expose()[..filled]), newline))
}

fn skip(fd: BorrowedFd<'_>, mut bytes: u64) -> Result<()> {
    let mut sink = Secret::zeroed(4096);
    while bytes > 0 {
        let step = bytes.min(4096) as usize;
        match read(fd, &mut sink.expose_mut()[..step])? {
            0 => return Err(wrong("Cannot seek to requested keyfile offset.")),
            n => bytes -= n as u64,
        }
    }
    Ok(())
}

fn fill(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match read(fd, &mut buffer[filled..])? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

/// `read(2)` without the standard library's buffering, which would take more than was asked for.
fn read(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize> {
    loop {
        match rustix::io::read(fd, &mut *buffer) {
            Ok(n) => return Ok(n),
            Err(Errno::INTR) => continue,
            Err(e) => return Err(wrong(format!("Error reading passphrase: {e}."))),
        }
    }
}

fn wrong(message: impl Into<String>) -> Failure {
    Failure::new(Exit::Parameters, message)
}
