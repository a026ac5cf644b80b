//! Where readers say what they read, without a mutex: each thread writes to a slot of its own, in a
//! cache line of its own.
//!
//! A taken slot is one word, so that it is seen whole: the first unit of 512 bytes in its upper 44
//! bits, the number of units in its lower 20 (never 0). A range that does not fit finds no slot, and
//! its reader queues.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The slots of a volume.
#[derive(Debug)]
pub(super) struct Slots([Line; SLOTS]);

/// As long as a cache line, so that threads do not wait for each other's.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Line(AtomicU64);

impl Default for Slots {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Line::default()))
    }
}

impl Slots {
    /// `None` if the slots that this thread tries are taken, or the range does not fit into one.
    pub(super) fn take(&self, range: &Range<u64>) -> Option<Slot<'_>> {
        let word = encode(range)?;
        let own = own_slot();
        (own..own + TRIES).map(|number| &self.0[number % SLOTS].0).find_map(|slot| {
            slot.compare_exchange(FREE, word, Ordering::SeqCst, Ordering::Relaxed).ok().map(|_| Slot(slot))
        })
    }

    /// Whether some of the range is being read.
    pub(super) fn overlap(&self, range: &Range<u64>) -> bool {
        self.0.iter().map(|line| line.0.load(Ordering::SeqCst)).any(|word| {
            let read = decode(word);
            read.start < range.end && range.start < read.end
        })
    }
}

/// A taken slot; dropping it leaves it.
#[derive(Debug)]
pub(super) struct Slot<'a>(&'a AtomicU64);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.store(FREE, Ordering::SeqCst);
    }
}

/// The range, extended to whole units.
fn encode(range: &Range<u64>) -> Option<u64> {
    let first = range.start / UNIT;
    let units = range.end.div_ceil(UNIT).checked_sub(first)?;
    let fits = first < 1 << (64 - COUNT) && (1..1 << COUNT).contains(&units);
    fits.then_some(first << COUNT | units)
}

fn decode(word: u64) -> Range<u64> {
    let (first, units) = (word >> COUNT, word & ((1 << COUNT) - 1));
    first * UNIT..(first + units) * UNIT
}

/// Threads that came one after the other try different slots first.
fn own_slot() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static OWN: Cell<Option<usize>> = const { Cell::new(None) });
    OWN.get().unwrap_or_else(|| {
        let own = THREADS.fetch_add(1, Ordering::Relaxed) % SLOTS;
        OWN.set(Some(own));
        own
    })
}

/// No range is 0 long.
const FREE: u64 = 0;
/// A writer looks at all of them; with more readers at a time, some queue.
const SLOTS: usize = 32;
const TRIES: usize = 4;
/// No encryption sector is smaller.
const UNIT: u64 = 512;
/// Bits of the number of units.
const COUNT: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_holds_the_range_that_is_read_or_none() {
        for range in [0..512, 512..1024, 4096..8192, 0..(1 << 20) * 512 - 512, (1 << 53) - 512..1 << 53] {
            assert_eq!(decode(encode(&range).unwrap()), range);
        }
        assert_eq!(decode(encode(&(511..513)).unwrap()), 0..1024, "whole units");
        for range in [0..0, 7 * 512..7 * 512, 0..(1 << 20) * 512, 1 << 53..(1 << 53) + 512, 0..u64::MAX] {
            assert_eq!(encode(&range), None, "{range:?}");
        }
        assert!(decode(FREE).is_empty());
    }

    #[test]
    fn slots_are_found_as_long_as_some_are_free() {
        let slots = Slots::default();
        let taken: Vec<_> = std::iter::from_fn(|| slots.take(&(1024..2048))).collect();
        assert_eq!(taken.len(), TRIES);
        assert!(slots.overlap(&(2047..4096)) && slots.overlap(&(0..1025)));
        assert!(!slots.overlap(&(2048..4096)) && !slots.overlap(&(0..1024)));
        drop(taken);
        assert!(!slots.overlap(&(0..u64::MAX)));
        assert!(slots.take(&(0..512)).is_some());
    }
}
