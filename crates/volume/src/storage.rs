//! Where bytes live: anything that can be read and written at an offset.

use std::io;
use std::ops::Range;

/// Bytes at offsets. Shared between threads; offsets and lengths need no alignment.
pub trait Storage: Send + Sync {
    /// Length in bytes.
    fn len(&self) -> u64;

    /// Whether there are no bytes at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buf` from `offset`; `UnexpectedEof` when the storage ends before.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `buf` at `offset`.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;

    /// Returns when everything written is on stable storage.
    fn flush(&self) -> io::Result<()>;

    /// Tells the storage that a range is no longer needed. Its content afterwards is undefined.
    fn discard(&self, range: Range<u64>) -> io::Result<()>;

    /// The next range at or after `offset` that holds data; `None` when only holes follow.
    /// Storage that cannot tell answers with everything up to its end.
    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        Ok((offset < self.len()).then(|| offset..self.len()))
    }
}
