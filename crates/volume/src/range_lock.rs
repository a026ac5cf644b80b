//! Locks on ranges of a volume, so that concurrent read-modify-write of a sector loses no bytes.
//!
//! Writers of whole sectors never wait for each other. A writer that merges (reads a sector,
//! changes a part of it, writes it back) locks its sectors exclusively. Readers take no lock here.

use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The ranges that are being written.
#[derive(Debug, Default)]
pub(crate) struct RangeLocks {
    held: Mutex<Held>,
    freed: Condvar,
}

/// What a writer does with its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writes {
    /// Replaces whole sectors.
    Whole,
    /// Keeps a part of some sector.
    Merging,
}

impl RangeLocks {
    /// Waits until no conflicting range is locked; dropping the guard releases the range.
    pub(crate) fn lock(&self, range: Range<u64>, writes: Writes) -> RangeGuard<'_> {
        let mut held = self.held();
        while held.iter().any(|other| other.excludes(&range, writes)) {
            held = self.freed.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        held.push(Writer { range: range.clone(), writes });
        RangeGuard { locks: self, range, writes }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A held range.
#[must_use]
pub(crate) struct RangeGuard<'a> {
    locks: &'a RangeLocks,
    range: Range<u64>,
    writes: Writes,
}

impl Drop for RangeGuard<'_> {
    fn drop(&mut self) {
        let mut held = self.locks.held();
        if let Some(i) = held.iter().position(|w| w.range == self.range && w.writes == self.writes) {
            held.swap_remove(i);
        }
        drop(held);
        self.locks.freed.notify_all();
    }
}

type Held = Vec<Writer>;

#[derive(Debug)]
struct Writer {
    range: Range<u64>,
    writes: Writes,
}

impl Writer {
    fn excludes(&self, range: &Range<u64>, writes: Writes) -> bool {
        let overlap = self.range.start < range.end && range.start < self.range.end;
        overlap && (self.writes == Writes::Merging || writes == Writes::Merging)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn whole_writers_pass_and_a_merging_one_waits() {
        let locks = RangeLocks::default();
        let first = locks.lock(0..4096, Writes::Whole);
        let second = locks.lock(0..8192, Writes::Whole);
        let elsewhere = locks.lock(8192..8704, Writes::Merging);
        let merged = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let _merging = locks.lock(4096..4608, Writes::Merging);
                merged.store(true, Ordering::SeqCst);
            });
            drop(first);
            thread::sleep(Duration::from_millis(20));
            assert!(!merged.load(Ordering::SeqCst), "the second writer still covers the sector");
            drop(second);
        });
        assert!(merged.load(Ordering::SeqCst));
        drop(elsewhere);
        assert!(locks.held().is_empty());
    }
}
