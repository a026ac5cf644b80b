//! The transport below TLS; available with or without TLS in this build.

use std::io;

/// Carries the encrypted bytes, in both directions at the same time.
pub trait Socket: Send + Sync {
    /// As [`io::Read::read`].
    ///
    /// # Errors
    /// If the connection is broken, or its timeout has expired.
    fn receive(&self, buf: &mut [u8]) -> io::Result<usize>;

    /// As [`io::Write::write_all`].
    ///
    /// # Errors
    /// If the connection is broken, or its timeout has expired.
    fn send(&self, bytes: &[u8]) -> io::Result<()>;
}
