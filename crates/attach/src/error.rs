//! Why a door could not be opened, or why it ended.

use std::fmt;
use std::io;

/// This crate's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, and where.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused; `what` was being done.
    Io {
        /// "mounting /mnt", "creating the mapping home".
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// The user lacks a permission; the text names it.
    Permission(String),
    /// This machine lacks something necessary (a module, a device node, a program); the text names
    /// it.
    Unavailable(String),
    /// The object is in use, or exists already; the text says which.
    Busy(String),
    /// The object does not exist; the text names it.
    NotFound(String),
    /// The request cannot be fulfilled.
    Refused(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { what, source } => write!(f, "{what}: {source}"),
            Self::Permission(text)
            | Self::Unavailable(text)
            | Self::Busy(text)
            | Self::NotFound(text)
            | Self::Refused(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
