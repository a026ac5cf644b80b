//! Writes to the same bytes take effect in the order in which the client sent them, whichever
//! threads execute them.

use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The pending writes of a connection, the oldest first.
#[derive(Default)]
pub(super) struct Order {
    under_way: Mutex<Vec<(u64, Range<u64>)>>,
    done: Condvar,
}

impl Order {
    /// Takes a place in the order; must be called in the order in which requests arrived. `number`
    /// must be unique.
    pub(super) fn enter(&self, number: u64, range: Range<u64>) -> Turn<'_> {
        self.under_way().push((number, range));
        Turn { order: self, number }
    }

    fn under_way(&self) -> MutexGuard<'_, Vec<(u64, Range<u64>)>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the order, held until dropped.
#[must_use]
pub(super) struct Turn<'a> {
    order: &'a Order,
    number: u64,
}

impl Turn<'_> {
    /// Returns when no earlier write is in the way.
    pub(super) fn wait(&self) {
        let mut under_way = self.order.under_way();
        while self.must_wait(&under_way) {
            under_way = self.order.done.wait(under_way).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn must_wait(&self, under_way: &[(u64, Range<u64>)]) -> bool {
        let Some(mine) = under_way.iter().position(|(number, _)| *number == self.number) else {
            return false;
        };
        let range = &under_way[mine].1;
        under_way[..mine].iter().any(|(_, other)| other.start < range.end && range.start < other.end)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // (The order of the others must be preserved.)
        self.order.under_way().retain(|(number, _)| *number != self.number);
        self.order.done.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn a_later_write_waits_for_those_in_its_way_only() {
        let order = Order::default();
        let first = order.enter(0, 0..4096);
        let elsewhere = order.enter(1, 4096..8192);
        let second = order.enter(2, 4095..4096);
        elsewhere.wait();
        first.wait();
        let happened = Mutex::new(Vec::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                second.wait();
                happened.lock().unwrap().push("second");
            });
            thread::sleep(Duration::from_millis(20));
            happened.lock().unwrap().push("first");
            drop(first);
        });
        assert_eq!(*happened.lock().unwrap(), ["first", "second"]);
        drop((second, elsewhere));
        assert!(order.under_way().is_empty());
    }
}
