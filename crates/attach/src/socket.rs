//! What TLS is spoken over, with or without TLS in this build.

use std::io;

/// What carries the encrypted bytes, for both directions at the same time.
pub trait Socket: Send + Sync {
    /// As [`io::Read::read`].
    ///
    /// # Errors
    /// The connection is broken, or its timeout is over.
    fn receive(&self, buf: &mut [u8]) -> io::Result<usize>;

    /// As [`io::Write::write_all`].
    ///
    /// # Errors
    /// The connection is broken, or its timeout is over.
    fn send(&self, bytes: &[u8]) -> io::Result<()>;
}
