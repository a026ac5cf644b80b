//! "Error values": how a server names a failure. The numbers are
//! Linux's, and the protocol's own elsewhere.

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
    pub const NOMEM: Self = Self(12);
    /// The request makes no sense here.
    pub const INVAL: Self = Self(22);
    /// The storage is full, or the export ends before.
    pub const NOSPC: Self = Self(28);
    /// Too long to be answered in one piece.
    pub const OVERFLOW: Self = Self(75);
    /// Zeros cannot be written faster than by writing them.
    pub const NOTSUP: Self = Self(95);
    /// The server is shutting down.
    pub const SHUTDOWN: Self = Self(108);

    /// What a client does with it.
    pub fn to_io(self) -> io::Error {
        match i32::try_from(self.0) {
            Ok(code) if code > 0 => io::Error::from_raw_os_error(code),
            _ => io::Error::other(format!("the server's error {}", self.0)),
        }
    }
}

impl From<&io::Error> for Errno {
    /// Everything that the protocol has no number for is an I/O error.
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
