//! Who waits for whom.

use super::*;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;
use std::time::Duration;

const FREE: Range<u64> = 1 << 40..1 << 41;

#[test]
fn readers_pass_and_a_writer_waits_for_all_of_them() {
    let locks = RangeLocks::default();
    // The second is too long for a slot.
    let readers = [locks.share(0..4096), locks.share(0..1 << 50), locks.share(4095..4097)];
    let has_written = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _alone = locks.alone(4096..8192);
            has_written.store(true, Ordering::SeqCst);
        });
        for reader in readers {
            thread::sleep(Duration::from_millis(20));
            assert!(!has_written.load(Ordering::SeqCst));
            drop(reader);
        }
    });
    assert!(has_written.load(Ordering::SeqCst));
    assert!(locks.is_free());
}

#[test]
fn who_waits_for_a_writer_is_whoever_wants_some_of_its_range() {
    let locks = RangeLocks::default();
    let writer = locks.alone(4096..8192);
    drop([locks.alone(0..4096), locks.alone(8192..8193)]);
    drop([locks.share(0..4096), locks.share(8192..9000), locks.share(FREE)]);
    let passed = AtomicU64::new(0);
    thread::scope(|scope| {
        for range in [0..4097, 8191..8192] {
            scope.spawn(|| {
                let _shared = locks.share(range);
                passed.fetch_add(1, Ordering::SeqCst);
            });
        }
        scope.spawn(|| {
            let _alone = locks.alone(6000..6001);
            passed.fetch_add(1, Ordering::SeqCst);
        });
        thread::sleep(Duration::from_millis(20));
        assert_eq!(passed.load(Ordering::SeqCst), 0);
        drop(writer);
    });
    assert_eq!(passed.load(Ordering::SeqCst), 3);
    assert!(locks.is_free());
}

/// A reader who comes while a writer waits does not pass it: readers who relieve one another would
/// keep it waiting for ever.
#[test]
fn nobody_passes_one_who_waits() {
    let locks = RangeLocks::default();
    let order = Mutex::new(Vec::new());
    let came = |count| {
        while locks.queue().waiting < count {
            thread::sleep(Duration::from_millis(1));
        }
    };
    let first = locks.share(0..512);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _alone = locks.alone(0..512);
            order.lock().unwrap().push("writer");
        });
        came(1);
        scope.spawn(|| {
            let _shared = locks.share(0..512);
            order.lock().unwrap().push("reader");
        });
        came(2);
        drop(first);
    });
    assert_eq!(order.into_inner().unwrap(), ["writer", "reader"]);
    assert!(locks.is_free());
}

/// Without a lock around them the counters would not come out even.
#[test]
fn under_load_a_writer_is_alone_and_everybody_gets_through() {
    let locks = RangeLocks::default();
    let cells: Vec<_> = (0..CELLS).map(|_| AtomicU64::new(0)).collect();
    let writes = |thread: u64, round: u64| (thread + round).is_multiple_of(3);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (locks, cells) = (&locks, &cells);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let start = (thread * 7 + round * 3) % (CELLS - 3);
                    let range = start..start + 1 + round % 3;
                    let bytes = range.start * 512..range.end * 512;
                    let mine = &cells[range.start as usize..range.end as usize];
                    if writes(thread, round) {
                        let _alone = locks.alone(bytes);
                        let before: Vec<_> = mine.iter().map(|cell| cell.load(Ordering::Relaxed)).collect();
                        assert!(before.iter().all(|count| count.is_multiple_of(2)));
                        mine.iter().zip(&before).for_each(|(cell, n)| cell.store(n + 1, Ordering::Relaxed));
                        std::hint::spin_loop();
                        mine.iter().zip(&before).for_each(|(cell, n)| cell.store(n + 2, Ordering::Relaxed));
                    } else {
                        let _shared = locks.share(bytes);
                        let before: Vec<_> = mine.iter().map(|cell| cell.load(Ordering::Relaxed)).collect();
                        std::hint::spin_loop();
                        assert!(before.iter().all(|count| count.is_multiple_of(2)));
                        let after: Vec<_> = mine.iter().map(|cell| cell.load(Ordering::Relaxed)).collect();
                        assert_eq!(before, after);
                    }
                }
            });
        }
    });
    let done = (0..THREADS)
        .flat_map(|thread| (0..ROUNDS).filter(move |round| writes(thread, *round)).map(|r| 1 + r % 3));
    let counted: u64 = cells.iter().map(|cell| cell.load(Ordering::Relaxed)).sum();
    assert_eq!(counted, 2 * done.sum::<u64>());
    assert!(locks.is_free());
}

impl RangeLocks {
    fn is_free(&self) -> bool {
        let queue = self.queue();
        let nobody = queue.entries.is_empty() && queue.waiting == 0;
        nobody && self.writers.load(Ordering::SeqCst) == 0 && !self.slots.overlap(&(0..u64::MAX))
    }
}

const CELLS: u64 = 8;
const THREADS: u64 = 6;
const ROUNDS: u64 = 20_000;
