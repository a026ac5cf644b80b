//! Storage that is marked as in use for as long as anybody holds on to it.

use super::{LockTarget, Storage};
use crate::InUse;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// A storage and its mark.
pub struct Claimed {
    storage: Arc<dyn Storage>,
    mark: InUse,
}

impl Claimed {
    /// Ties `mark` to `storage`.
    pub fn new(storage: Arc<dyn Storage>, mark: InUse) -> Self {
        Self { storage, mark }
    }
}

impl Storage for Claimed {
    fn len(&self) -> u64 {
        self.storage.len()
    }

    fn refresh_len(&self) -> io::Result<u64> {
        self.storage.refresh_len()
    }

    fn can_grow(&self) -> bool {
        self.storage.can_grow()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.storage.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.storage.write_at(buf, offset)
    }

    fn write_from(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.storage.write_from(buf, offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.storage.flush()
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.storage.discard(range)
    }

    fn write_zeroes(&self, range: Range<u64>, may_discard: bool) -> io::Result<()> {
        self.storage.write_zeroes(range, may_discard)
    }

    fn is_distant(&self) -> bool {
        self.storage.is_distant()
    }

    fn is_read_only(&self) -> bool {
        self.storage.is_read_only()
    }

    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        self.storage.next_data(offset)
    }

    fn unit(&self) -> u64 {
        self.storage.unit()
    }

    fn is_exclusive(&self) -> bool {
        self.mark.is_exclusive() || self.storage.is_exclusive()
    }

    fn lock_target(&self) -> Option<LockTarget<'_>> {
        self.storage.lock_target()
    }
}
