//! An image without what it does not use.

use super::Unneeded;
use crate::Storage;
use std::io;
use std::ops::Range;

/// An image in which all free space is a hole, whatever is stored there: what may be compared with a
/// copy that left it out.
pub struct Used<'a>(pub(super) &'a Unneeded<'a>);

impl Storage for Used<'_> {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(buf, offset)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.0.discard(range)
    }

    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        let mut start = offset;
        while let Some(free) = self.0.free_at(start) {
            start = free.end;
        }
        let next = self.0.free.partition_point(|free| free.end <= start);
        let end = self.0.free.get(next).map_or(self.len(), |free| free.start.min(self.len()));
        Ok((start < end).then_some(start..end))
    }
}
