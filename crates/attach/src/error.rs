//! Why a front end could not be opened, or why it ended.

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
    /// No connection to a server came about; the caller knows which.
    Connect(io::Error),
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
    Refused {
        /// The kind of refusal.
        kind: Refusal,
        /// What was refused and why, in words.
        why: String,
    },
}

/// What is wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Nothing can be mounted there: it is no directory, or not an empty one.
    MountPoint,
    /// A mount option cannot be passed on.
    MountOption,
    /// The path does not lead from the root to a directory, step by step.
    Path,
    /// Other users could change the directory, or a directory on the way to it.
    UnsafeDirectory,
    /// The text does not name a keyring, or a key that can be in one.
    KeyName,
    /// The kernel does not accept the key.
    Key,
    /// No mapping can have that name or UUID.
    MappingName,
    /// The kernel does not accept the table.
    Table,
    /// The mapping's target does not accept the message.
    Message,
    /// The mapping's target is of another type.
    OtherTarget,
    /// The text is not a table line of dm-crypt's, or not a part of one.
    TableLine,
    /// The text is not a device number.
    DeviceNumber,
    /// The kernel maps block devices and files only.
    NotMappable,
    /// The device ends before the data would start.
    NoRoom,
    /// The front end keeps the size that it was opened with.
    FixedSize,
    /// The front end told its users at the start that there are no discards.
    FixedDiscards,
    /// A network would get the plaintext in the clear.
    Exposed,
    /// The text is not an NBD URI.
    Uri,
    /// The NBD server violates the protocol, or offers nothing that can be used.
    Server,
    /// A certificate, a key or a name in one cannot be used.
    Certificate,
    /// This build makes no encrypted connections.
    WithoutTls,
    /// This is not an initramfs, or this process is not its first.
    NotInitramfs,
}

impl Refusal {
    pub(crate) fn because(self, why: impl Into<String>) -> Error {
        Error::Refused { kind: self, why: why.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { what, source } => write!(f, "{what}: {source}"),
            Self::Connect(source) => source.fmt(f),
            Self::Permission(text)
            | Self::Unavailable(text)
            | Self::Busy(text)
            | Self::NotFound(text)
            | Self::Refused { why: text, .. } => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } | Self::Connect(source) => Some(source),
            _ => None,
        }
    }
}
