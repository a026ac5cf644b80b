//! Spreads one request over several cores.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Runs `work` on every item: one after another on this thread, or in `parallel` on as many threads
/// as there are cores. The first error ends the run; items that have not started by then are
/// skipped.
pub(crate) fn spread<T: Send>(
    parallel: bool,
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> io::Result<()> + Sync,
) -> io::Result<()> {
    if !parallel {
        let mut items = items;
        return items.try_for_each(work);
    }
    let items = Mutex::new(items.fuse());
    let claim = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let failed = Mutex::new(None);
    let worker = || {
        while failed.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            let Some(item) = claim() else { return };
            if let Err(e) = work(item) {
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..cores() {
            // If a thread cannot be started, the others do its share.
            let _ = thread::Builder::new().spawn_scoped(scope, worker);
        }
        worker();
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// The number of threads worth starting for work that keeps a core busy.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MOST)
}

/// Beyond this, memory is the limit, not the number of cores.
const MOST: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_item_once_and_the_first_error_ends_it() {
        for parallel in [false, true] {
            let sum = AtomicUsize::new(0);
            let add = |i: usize| {
                sum.fetch_add(i, Ordering::SeqCst);
                Ok(())
            };
            spread(parallel, 1..=1000, add).unwrap();
            assert_eq!(sum.load(Ordering::SeqCst), 500500);

            let done = AtomicUsize::new(0);
            let fail = |i: usize| {
                done.fetch_add(1, Ordering::SeqCst);
                if i >= 10 { Err(io::Error::other("ten")) } else { Ok(()) }
            };
            assert_eq!(spread(parallel, 0.., fail).unwrap_err().to_string(), "ten");
            assert!(done.load(Ordering::SeqCst) <= 10 + cores());
        }
    }
}
