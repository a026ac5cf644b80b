//! Passphrases and keys read from files and streams by cryptsetup's rules, for programs that read them themselves (feature
//! `parts`). [`Key::key_file`](crate::Key::key_file) is for everybody else.
//!
//! ```
//! use keyway::key_file::{self, End, Part};
//! use std::os::fd::AsFd;
//! # let directory = std::env::temp_dir().join(format!("keyway-key-file-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! # let path = directory.join("disk.key");
//! # std::fs::write(&path, b"correct horse\nmore")?;
//! let typed = key_file::read_stream(std::fs::File::open(&path)?.as_fd(), Part::default(), End::Newline).unwrap();
//! assert!(typed.ended_by_newline && typed.secret.expose() == b"correct horse");
//! let part = Part { offset: 8, size: Some(5) };
//! assert_eq!(key_file::read(&path, part).unwrap().expose(), b"horse");
//! assert_eq!(key_file::read_volume_key(&path, 7).unwrap().expose(), b"correct");
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok::<(), std::io::Error>(())
//! ```

use keyway_crypto::Secret;
use keyway_volume::keyslot::key_file;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// What ends a passphrase: for [`read_stream`].
pub use keyway_volume::keyslot::key_file::End;
/// Why no key could be read.
pub use keyway_volume::keyslot::key_file::Error;
/// What was read from a stream: from [`read_stream`].
pub use keyway_volume::keyslot::key_file::Input;
/// Which part of a file is the key: for [`read`].
pub use keyway_volume::keyslot::key_file::Part;

/// The longest key file whose size is not said, in bytes.
pub const LONGEST: usize = key_file::LIMIT;

/// Reads a passphrase from a key file. See [`key_file`](self) for an example.
///
/// # Errors
/// The file cannot be read, is a terminal, or has no such part.
pub fn read(path: &Path, part: Part) -> Result<Secret, Error> {
    key_file::read(path, part)
}

/// Reads a passphrase from a stream, and no byte beyond its end. See [`key_file`](self) for an example.
///
/// # Errors
/// The stream cannot be read, or has no such part.
pub fn read_stream(input: BorrowedFd<'_>, part: Part, end: End) -> Result<Input, Error> {
    key_file::read_stream(input, part, end)
}

/// Reads a volume key of exactly so many bytes; the rest of the file is ignored. See [`key_file`](self) for an example.
///
/// # Errors
/// The file cannot be read, or is shorter.
pub fn read_volume_key(path: &Path, len: usize) -> Result<Secret, Error> {
    key_file::read_volume_key(path, len)
}
