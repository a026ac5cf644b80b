//! Reads passphrases and volume keys from files and pipes, directly into a [`Secret`], with
//! cryptsetup's rules and messages.
//!
//! The whole key file is used, including newlines, unless offset and size select a part; without an
//! explicit size, the file may have at most 8 MiB. (cryptsetup: cryptsetup(8), "NOTES ON PASSPHRASE
//! PROCESSING"; lib/utils_device.c and lib/keyslot_context.c.)

use keyway_crypto::Secret;
use rustix::io::Errno;
use std::fmt;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Maximum length in bytes of a key file without an explicit size.
pub const LIMIT: usize = 8 << 20;

/// Which part of the input is the passphrase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    /// Bytes to skip.
    pub offset: u64,
    /// Exact length; `None` for everything.
    pub size: Option<u64>,
}

/// What ends a passphrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The first newline, which is not part of it.
    Newline,
    /// The end of the input.
    Eof,
}

/// Why no key could be read from a key file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be opened.
    Open {
        /// The key file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It cannot be read.
    Read(io::Error),
    /// It ends before the offset.
    Offset,
    /// It is a terminal.
    Terminal,
    /// It has more than [`LIMIT`] bytes, and no size was given.
    TooLong,
    /// The size exceeds the address space.
    Size,
    /// It ends before the given size.
    TooShort,
    /// It is shorter than a volume key of this length.
    NoVolumeKey {
        /// The key file.
        path: PathBuf,
        /// The volume key's length in bytes.
        len: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { path, source } => write!(f, "Failed to open key file {}: {source}.", path.display()),
            Self::Read(source) => write!(f, "Error reading passphrase: {source}."),
            Self::Offset => f.write_str("Cannot seek to requested keyfile offset."),
            Self::Terminal => f.write_str("Cannot read keyfile from a terminal."),
            Self::TooLong => {
                f.write_str("Maximum keyfile size exceeded: a key file has at most 8 MiB, or give its size.")
            }
            Self::Size => f.write_str("The key file size is too large."),
            Self::TooShort => f.write_str("Cannot read requested amount of data."),
            Self::NoVolumeKey { path, len } => {
                write!(f, "Cannot read {len} bytes from keyfile {}.", path.display())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Open { source, .. } | Self::Read(source) => Some(source),
            _ => None,
        }
    }
}

/// Reads a passphrase from a key file.
///
/// # Errors
/// The file cannot be read, is a terminal, or has no such part.
pub fn read(path: &Path, part: Part) -> Result<Secret, Error> {
    let mut file = open(path)?;
    let metadata = file.metadata().map_err(Error::Read)?;
    if metadata.is_file() {
        if part.offset > metadata.len() {
            return Err(Error::Offset);
        }
        file.seek(SeekFrom::Start(part.offset)).map_err(|_| Error::Offset)?;
    } else {
        if rustix::termios::isatty(&file) {
            return Err(Error::Terminal);
        }
        // A block device has places; a pipe is read up to the part.
        match metadata.file_type().is_block_device() {
            true => drop(file.seek(SeekFrom::Start(part.offset)).map_err(|_| Error::Offset)?),
            false => skip(file.as_fd(), part.offset)?,
        }
    }
    Ok(collect(file.as_fd(), part.size, End::Eof)?.secret)
}

/// The input read from a stream.
pub struct Input {
    /// The passphrase.
    pub secret: Secret,
    /// Whether a newline ended it, rather than the end of the input.
    pub ended_by_newline: bool,
}

/// Reads a passphrase from a pipe or standard input, and not one byte beyond the end that `end`
/// sets.
///
/// # Errors
/// The input cannot be read, or has no such part.
pub fn read_stream(input: BorrowedFd<'_>, part: Part, end: End) -> Result<Input, Error> {
    skip(input, part.offset)?;
    collect(input, part.size, end)
}

/// Reads a volume key of exactly `len` bytes; the rest of the file is ignored.
///
/// # Errors
/// The file cannot be read or is shorter.
pub fn read_volume_key(path: &Path, len: usize) -> Result<Secret, Error> {
    let file = open(path)?;
    let mut key = Secret::zeroed(len);
    let mut filled = 0;
    while filled < len {
        match read_some(file.as_fd(), &mut key.expose_mut()[filled..])? {
            0 => return Err(Error::NoVolumeKey { path: path.to_owned(), len }),
            n => filled += n,
        }
    }
    Ok(key)
}

fn open(path: &Path) -> Result<File, Error> {
    File::open(path).map_err(|source| Error::Open { path: path.to_owned(), source })
}

/// Reads up to `size` bytes, or to the end. The buffer grows by copying, and the old one is wiped.
fn collect(input: BorrowedFd<'_>, size: Option<u64>, end: End) -> Result<Input, Error> {
    let limit = match size {
        Some(n) => usize::try_from(n).map_err(|_| Error::Size)?,
        None => LIMIT + 1,
    };
    let mut buffer = Secret::zeroed(limit.min(4096));
    let mut filled = 0;
    let mut ended_by_newline = false;
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
        let got = read_some(input, room)?;
        if got == 0 {
            break;
        }
        if end == End::Newline && room[0] == b'\n' {
            ended_by_newline = true;
            break;
        }
        filled += got;
    }
    if size.is_none() && filled == limit {
        return Err(Error::TooLong);
    }
    if size.is_some() && filled != limit {
        return Err(Error::TooShort);
    }
    Ok(Input { secret: Secret::copy_from(&buffer.expose()[..filled]), ended_by_newline })
}

fn skip(input: BorrowedFd<'_>, mut bytes: u64) -> Result<(), Error> {
    let mut sink = Secret::zeroed(4096);
    while bytes > 0 {
        let step = bytes.min(4096) as usize;
        match read_some(input, &mut sink.expose_mut()[..step])? {
            0 => return Err(Error::Offset),
            n => bytes -= n as u64,
        }
    }
    Ok(())
}

/// `read(2)` without the standard library's buffering, which would read more than requested.
fn read_some(input: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Error> {
    loop {
        match rustix::io::read(input, &mut *buffer) {
            Ok(n) => return Ok(n),
            Err(Errno::INTR) => continue,
            Err(e) => return Err(Error::Read(e.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A file that is removed with the test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str, content: &[u8]) -> Self {
            let path = std::env::temp_dir().join(format!("keyway-{}-{name}", std::process::id()));
            std::fs::write(&path, content).unwrap();
            Self(path)
        }

        fn part(&self, offset: u64, size: Option<u64>) -> Result<Secret, Error> {
            read(&self.0, Part { offset, size })
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn pipe(content: &[u8]) -> io::PipeReader {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(content).unwrap();
        reader
    }

    #[test]
    fn files_are_taken_whole_or_in_part() {
        let file = Scratch::new("parts", b"one\ntwo\n");
        assert_eq!(file.part(0, None).unwrap().expose(), b"one\ntwo\n");
        assert_eq!(file.part(4, Some(3)).unwrap().expose(), b"two");
        assert_eq!(file.part(8, None).unwrap().expose(), b"");
        assert!(matches!(file.part(9, None), Err(Error::Offset)));
        assert!(matches!(file.part(4, Some(5)), Err(Error::TooShort)));
        let missing = read(Path::new("/nonexistent/key"), Part::default()).err().unwrap();
        let said = "Failed to open key file /nonexistent/key: No such file or directory (os error 2).";
        assert_eq!(missing.to_string(), said);
        assert!(std::error::Error::source(&missing).is_some());
    }

    #[test]
    fn a_file_of_unnamed_size_has_a_limit() {
        let file = Scratch::new("limit", &vec![7; LIMIT + 1]);
        assert!(matches!(file.part(0, None), Err(Error::TooLong)));
        assert_eq!(file.part(1, None).unwrap().len(), LIMIT);
        assert_eq!(file.part(0, Some(LIMIT as u64 + 1)).unwrap().len(), LIMIT + 1);
    }

    #[test]
    fn a_stream_is_read_to_its_end_and_not_further() {
        let reader = pipe(b"xone\ntwo");
        let line = read_stream(reader.as_fd(), Part { offset: 1, size: None }, End::Newline).unwrap();
        assert!(line.ended_by_newline && line.secret.expose() == b"one");
        let rest = read_stream(reader.as_fd(), Part::default(), End::Newline).unwrap();
        assert!(!rest.ended_by_newline && rest.secret.expose() == b"two");
        let reader = pipe(b"abc\n");
        let part = read_stream(reader.as_fd(), Part { offset: 0, size: Some(2) }, End::Newline).unwrap();
        assert!(
            !part.ended_by_newline && part.secret.expose() == b"ab",
            "what follows is left for the next reader"
        );
        let all = read_stream(pipe(b"a\nb").as_fd(), Part::default(), End::Eof).unwrap();
        assert!(!all.ended_by_newline && all.secret.expose() == b"a\nb");
        let short = read_stream(pipe(b"a").as_fd(), Part { offset: 2, size: None }, End::Eof);
        assert!(matches!(short, Err(Error::Offset)));
    }

    #[test]
    fn volume_keys_have_their_length() {
        let file = Scratch::new("volume", &[3; 64]);
        assert_eq!(read_volume_key(&file.0, 32).unwrap().expose(), [3; 32]);
        assert_eq!(read_volume_key(&file.0, 64).unwrap().len(), 64);
        let short = read_volume_key(&file.0, 65).err().unwrap();
        assert_eq!(short.to_string(), format!("Cannot read 65 bytes from keyfile {}.", file.0.display()));
    }
}
