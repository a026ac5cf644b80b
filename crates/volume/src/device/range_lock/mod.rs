//! Locks on ranges: what a request reads or writes is never seen half changed by another.
//!
//! A writer has its range alone; readers share theirs. (Where it is said who shares, whole writes may
//! take the part of readers here: [`Direct`](crate::device::storage::Direct).) Whoever has to wait stands in a
//! queue, and passes nobody that came before and wants some of the same bytes: nobody waits for ever.
//!
//! Reads are what must not become dearer, so a reader first tries to do without the queue's mutex. It
//! writes its range into a [slot](slots), and looks at the number of writers. A writer adds itself to
//! that number, and then looks at the slots. All four are sequentially consistent, so in their one
//! order either the reader's slot stands before the writer's look, and the writer waits until the
//! slot is left; or the writer's addition stands before the reader's look, and the reader goes to the
//! mutex, behind which it sees what that writer's range is. The same holds where a slot is left: the
//! reader empties it and then looks at the number of writers; a writer that saw the slot taken had
//! counted itself before, and is woken. A reader never waits while it has a slot. `model.rs` goes
//! through every order of these steps.

use slots::{Slot, Slots};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

mod slots;

/// The ranges that are being read and written.
#[derive(Debug, Default)]
pub(crate) struct RangeLocks {
    queue: Mutex<Queue>,
    freed: Condvar,
    /// How many of those in the queue write.
    writers: AtomicUsize,
    slots: Slots,
}

impl RangeLocks {
    /// For a writer. Waits until nobody else has any of the range; dropping the guard releases it.
    pub(crate) fn alone(&self, range: Range<u64>) -> RangeGuard<'_> {
        let mut queue = self.queue();
        self.writers.fetch_add(1, Ordering::SeqCst);
        let ticket = queue.enter(&range, Access::Alone);
        while queue.is_in_the_way(ticket) || self.slots.overlap(&range) {
            queue = self.wait(queue);
        }
        RangeGuard { locks: self, place: Place::Queue { ticket, access: Access::Alone } }
    }

    /// For a reader. Waits until nobody has any of the range alone; dropping the guard releases it.
    pub(crate) fn share(&self, range: Range<u64>) -> RangeGuard<'_> {
        let slot = self.slots.take(&range);
        if slot.is_some() && self.writers.load(Ordering::SeqCst) == 0 {
            return RangeGuard { locks: self, place: Place::Slot(slot) };
        }
        let mut queue = self.queue();
        if let Some(slot) = slot {
            if !queue.has_writer(&range) {
                return RangeGuard { locks: self, place: Place::Slot(Some(slot)) };
            }
            drop(slot);
            self.wake(&queue);
        }
        let ticket = queue.enter(&range, Access::Shared);
        while queue.is_in_the_way(ticket) {
            queue = self.wait(queue);
        }
        RangeGuard { locks: self, place: Place::Queue { ticket, access: Access::Shared } }
    }

    fn wait<'a>(&self, mut queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        queue.waiting += 1;
        queue = self.freed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        queue.waiting -= 1;
        queue
    }

    /// (Waking is a system call, which most requests can do without.)
    fn wake(&self, queue: &Queue) {
        if queue.waiting > 0 {
            self.freed.notify_all();
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A held range.
#[must_use]
pub(crate) struct RangeGuard<'a> {
    locks: &'a RangeLocks,
    place: Place<'a>,
}

enum Place<'a> {
    /// `None` once it was left.
    Slot(Option<Slot<'a>>),
    Queue {
        ticket: u64,
        access: Access,
    },
}

impl Drop for RangeGuard<'_> {
    fn drop(&mut self) {
        match &mut self.place {
            Place::Slot(slot) => {
                drop(slot.take());
                if self.locks.writers.load(Ordering::SeqCst) > 0 {
                    self.locks.wake(&self.locks.queue());
                }
            }
            Place::Queue { ticket, access } => {
                let mut queue = self.locks.queue();
                queue.leave(*ticket);
                if *access == Access::Alone {
                    self.locks.writers.fetch_sub(1, Ordering::SeqCst);
                }
                self.locks.wake(&queue);
            }
        }
    }
}

/// Those that have a range without a slot, or wait for one, as they came.
#[derive(Debug, Default)]
struct Queue {
    entries: Vec<Entry>,
    last_ticket: u64,
    /// How many threads sleep.
    waiting: usize,
}

#[derive(Debug)]
struct Entry {
    ticket: u64,
    range: Range<u64>,
    access: Access,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Shared,
    Alone,
}

impl Queue {
    fn enter(&mut self, range: &Range<u64>, access: Access) -> u64 {
        self.last_ticket += 1;
        self.entries.push(Entry { ticket: self.last_ticket, range: range.clone(), access });
        self.last_ticket
    }

    /// (The order of the others stays.)
    fn leave(&mut self, ticket: u64) {
        self.entries.retain(|entry| entry.ticket != ticket);
    }

    /// Whether an earlier one excludes that with this ticket.
    fn is_in_the_way(&self, ticket: u64) -> bool {
        let Some(own) = self.entries.iter().position(|entry| entry.ticket == ticket) else { return false };
        let (earlier, own) = (&self.entries[..own], &self.entries[own]);
        earlier.iter().any(|entry| {
            (entry.access == Access::Alone || own.access == Access::Alone)
                && overlap(&entry.range, &own.range)
        })
    }

    fn has_writer(&self, range: &Range<u64>) -> bool {
        self.entries.iter().any(|entry| entry.access == Access::Alone && overlap(&entry.range, range))
    }
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
