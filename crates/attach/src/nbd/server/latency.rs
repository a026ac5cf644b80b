//! Whether the storage answers at once, as a page cache does, or blocks its callers, as disks do.
//!
//! Only if it blocks are more threads used than there are cores, and small requests answered in
//! parallel instead of one after another. A thread that was late may have lost its core to another
//! program; the kernel knows whether the thread slept (getrusage(2), `ru_nvcsw`), and is asked in
//! case of doubt.

use nix::sys::resource::{UsageWho, getrusage};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A running estimate of a storage's speed. Threads may overwrite each other's updates, since it is
/// only an estimate.
#[derive(Default)]
pub(super) struct Latency {
    score: AtomicU32,
    /// Whether the storage is behind a network, which is assumed to be slow from the start.
    distant: bool,
}

impl Latency {
    /// The estimate before the first request.
    pub(super) fn of(distant: bool) -> Self {
        Self { score: AtomicU32::new(0), distant }
    }

    /// Begins to measure some requests that this thread answers one after another.
    pub(super) fn look(&self) -> Look<'_> {
        let doubt = self.score.load(Ordering::Relaxed) > 0;
        let slept = if doubt { times_slept() } else { None };
        Look { latency: self, slept, started: Instant::now(), requests: 0, bytes: 0 }
    }

    /// Whether callers are blocked.
    pub(super) fn is_slow(&self) -> bool {
        self.distant || self.score.load(Ordering::Relaxed) >= SLOW
    }

    fn note(&self, finding: Finding) {
        let score = self.score.load(Ordering::Relaxed);
        let next = match finding {
            Finding::InTime | Finding::Displaced => score.saturating_sub(DOWN),
            Finding::Late => score.max(DOUBT),
            Finding::Slept => (score + UP).min(TOP),
        };
        if next != score {
            self.score.store(next, Ordering::Relaxed);
        }
    }
}

/// A measurement of some requests, and when it began.
pub(super) struct Look<'a> {
    latency: &'a Latency,
    slept: Option<i64>,
    started: Instant,
    requests: u32,
    bytes: usize,
}

impl Look<'_> {
    /// Adds a request of `bytes` bytes.
    pub(super) fn add(&mut self, bytes: u64) {
        self.requests += 1;
        self.bytes += bytes as usize;
    }

    /// Ends the measurement after the last answer.
    pub(super) fn end(self) {
        if self.requests == 0 {
            return;
        }
        let in_time = AT_ONCE * self.requests + Duration::from_nanos(self.bytes as u64);
        self.latency.note(match (self.started.elapsed() > in_time, self.slept) {
            (false, _) => Finding::InTime,
            (true, None) => Finding::Late,
            (true, before) if times_slept() > before => Finding::Slept,
            (true, Some(_)) => Finding::Displaced,
        });
    }
}

/// The result of a measurement.
#[derive(Clone, Copy)]
enum Finding {
    InTime,
    /// Late for an unknown reason.
    Late,
    /// This thread slept, waiting for something.
    Slept,
    /// Other threads used its core.
    Displaced,
}

/// How often this thread has given up its core to wait.
fn times_slept() -> Option<i64> {
    getrusage(UsageWho::RUSAGE_THREAD).ok().map(|usage| usage.voluntary_context_switches())
}

/// How long a request may take in addition to one nanosecond per byte. (A 4 KiB read from the page
/// cache takes 1 µs, on the fastest disks 10 µs.)
const AT_ONCE: Duration = Duration::from_micros(20);

/// A late answer weighs more than a timely one: a few are enough to call the storage slow, and a
/// few in a hundred keep it so.
const UP: u32 = 16;
const DOWN: u32 = 1;
const DOUBT: u32 = 8;
const SLOW: u32 = 64;
const TOP: u32 = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::spin_loop;
    use std::thread::sleep;

    fn look(latency: &Latency, work: impl Fn()) {
        let mut look = latency.look();
        work();
        look.add(4096);
        look.end();
    }

    #[test]
    fn a_storage_that_waits_is_slow_and_a_busy_machine_is_not() {
        let latency = Latency::default();
        let busy = || {
            let started = Instant::now();
            while started.elapsed() < 3 * AT_ONCE {
                spin_loop();
            }
        };
        (0..50).for_each(|_| look(&latency, busy));
        assert!(!latency.is_slow());
        (0..10).for_each(|_| look(&latency, || sleep(3 * AT_ONCE)));
        assert!(latency.is_slow());
        (0..200).for_each(|_| look(&latency, || ()));
        assert!(!latency.is_slow());
    }

    #[test]
    fn a_distant_storage_is_slow_from_the_first_request_on() {
        let latency = Latency::of(true);
        assert!(latency.is_slow());
        (0..200).for_each(|_| look(&latency, || ()));
        assert!(latency.is_slow(), "what is in memory says nothing of the rest");
        assert!(!Latency::of(false).is_slow());
    }
}
