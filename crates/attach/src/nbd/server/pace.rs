//! Whether the storage answers at once, as a page cache does, or lets its callers wait, as disks do.
//!
//! Only then are there more threads than cores, and small requests are answered side by side instead of one after another.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A running impression of a storage. Threads may overwrite each other's; it is no more than that.
#[derive(Default)]
pub(super) struct Pace {
    score: AtomicU32,
}

impl Pace {
    /// Notes that `requests` requests over `bytes` bytes took so long.
    pub(super) fn note(&self, requests: u32, bytes: usize, took: Duration) {
        let at_once = AT_ONCE * requests + Duration::from_nanos(bytes as u64);
        let score = self.score.load(Ordering::Relaxed);
        let next = if took > at_once { (score + UP).min(TOP) } else { score.saturating_sub(DOWN) };
        if next != score {
            self.score.store(next, Ordering::Relaxed);
        }
    }

    /// Whether callers wait.
    pub(super) fn is_slow(&self) -> bool {
        self.score.load(Ordering::Relaxed) >= SLOW
    }
}

/// What a request may take besides a nanosecond a byte. (A 4 KiB read out of the page cache takes 1 µs, the fastest
/// disks 10 µs; whoever loses its core for a moment takes more, but rarely.)
const AT_ONCE: Duration = Duration::from_micros(40);

/// A late answer weighs more than one in time: a few of them are enough, and a few in a hundred keep it so.
const UP: u32 = 16;
const DOWN: u32 = 1;
const SLOW: u32 = 64;
const TOP: u32 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_recognised_and_a_hiccup_is_none() {
        let pace = Pace::default();
        pace.note(1, 4096, Duration::from_millis(3));
        assert!(!pace.is_slow());
        for _ in 0..3 {
            pace.note(1, 4096, Duration::from_micros(80));
        }
        assert!(pace.is_slow());
        for _ in 0..100 {
            pace.note(32, 32 << 12, Duration::from_micros(60));
        }
        assert!(!pace.is_slow());
    }
}
