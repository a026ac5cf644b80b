//! "Error values": the numbers by which a server reports failures. On Linux they equal the system's
//! numbers; elsewhere they are the protocol's own.

use std::fmt;
use std::io;

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub u32);

impl Errno {
    /// Writing to a read-only export.
    pub const PERM: Self = Self(1);
    /// The storage failed.
    pub const IO: Self = Self(5);
    /// Out of memory.
    pub(crate) const NOMEM: Self = Self(12);
    /// The request is invalid here.
    pub const INVAL: Self = Self(22);
    /// The storage is full, or the request exceeds the export.
    pub const NOSPC: Self = Self(28);
    /// Too long to be answered in one piece.
    pub const OVERFLOW: Self = Self(75);
    /// Zeros cannot be written faster than other data.
    pub const NOTSUP: Self = Self(95);
    /// The server is shutting down.
    pub const SHUTDOWN: Self = Self(108);

    /// The error that a client reports.
    pub(crate) fn to_io(self) -> io::Error {
        match i32::try_from(self.0) {
            Ok(code) if code > 0 => io::Error::from_raw_os_error(code),
            _ => io::Error::other(format!("the server's error {}", self.0)),
        }
    }
}

impl From<&io::Error> for Errno {
    /// Errors for which the protocol has no number become I/O errors.
    fn from(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::NOSPC
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::PERM,
            io::ErrorKind::OutOfMemory => Self::NOMEM,
            io::ErrorKind::Unsupported => Self::NOTSUP,
            _ => Self::IO,
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_io().fmt(f)
    }
}
