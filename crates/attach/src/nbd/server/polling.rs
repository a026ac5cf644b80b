//! Waiting for a client by polling, for a short time, before sleeping.
//!
//! Waking a sleeping thread takes longer than the few microseconds after which a client sends its
//! next request, and the client pays for the wake-up. So a thread whose recent polls were
//! successful polls again for a while, provided that few threads do so at a time. If other programs
//! want the core meanwhile, the thread would lose it for longer than a wake-up takes: then threads
//! sleep, and polling is tried again later.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How the threads of a server wait.
pub(super) struct Polling {
    awake: AtomicUsize,
    most: usize,
    /// How many more waits are to sleep at once.
    rest: AtomicU32,
}

impl Polling {
    /// Settings for this machine: half of the cores are left to clients; on a single core nobody
    /// polls.
    pub(super) fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self { awake: AtomicUsize::new(0), most: cores / 2, rest: AtomicU32::new(0) }
    }

    /// Polls `ready` until it has an answer; `None` when it is time to sleep.
    fn ask<T>(&self, mut ready: impl FnMut() -> io::Result<Option<T>>) -> io::Result<Option<T>> {
        let rest = self.rest.load(Ordering::Relaxed);
        if rest > 0 {
            self.rest.store(rest - 1, Ordering::Relaxed);
            return Ok(None);
        }
        if self.awake.fetch_add(1, Ordering::Relaxed) >= self.most {
            self.awake.fetch_sub(1, Ordering::Relaxed);
            return Ok(None);
        }
        let started = Instant::now();
        let answer = loop {
            match ready() {
                Ok(None) if started.elapsed() < MOMENT => thread::yield_now(),
                answer => break answer,
            }
        };
        if started.elapsed() > DISPLACED {
            self.rest.store(REST, Ordering::Relaxed);
        }
        self.awake.fetch_sub(1, Ordering::Relaxed);
        answer
    }
}

/// Whether polling pays off for one client.
#[derive(Default)]
pub(super) struct Eagerness {
    eager: bool,
}

impl Eagerness {
    /// The result of `ready`, or of `sleep` if that takes longer than a moment.
    pub(super) fn wait<T>(
        &mut self,
        polling: &Polling,
        ready: impl FnMut() -> io::Result<Option<T>>,
        sleep: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        if self.eager
            && let Some(answer) = polling.ask(ready)?
        {
            return Ok(answer);
        }
        let started = Instant::now();
        let answer = sleep();
        self.eager = started.elapsed() < MOMENT;
        answer
    }
}

/// The thread sleeps through longer gaps between requests. A client that was itself woken on an
/// idle core of a virtual machine is back after 50 µs; the kernel's own idle loop polls for as long
/// there (guest_halt_poll_ns in Linux, 200 µs).
const MOMENT: Duration = Duration::from_micros(200);

/// A thread that has polled for so long has lost its core in the meantime.
const DISPLACED: Duration = Duration::from_micros(600);

/// How many waits sleep at once after that.
const REST: u32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_client_is_waited_for_and_a_slow_one_slept_for() {
        let polling = Polling { awake: AtomicUsize::new(0), most: 1, rest: AtomicU32::new(0) };
        let mut eagerness = Eagerness { eager: true };
        let here = || Ok(Some("looked"));
        assert_eq!(eagerness.wait(&polling, here, || Ok("slept")).unwrap(), "looked");

        // A sleep of more than a moment ends the eagerness; after that nobody polls.
        let slow = || {
            thread::sleep(2 * MOMENT);
            Ok("slept")
        };
        assert_eq!(eagerness.wait(&polling, || Ok(None), slow).unwrap(), "slept");
        let never = || -> io::Result<Option<&str>> { panic!("not eager") };
        assert_eq!(eagerness.wait(&polling, never, || Ok("slept")).unwrap(), "slept");
        assert_eq!(polling.awake.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn who_lost_its_core_sleeps_for_a_while() {
        let polling = Polling { awake: AtomicUsize::new(0), most: 1, rest: AtomicU32::new(0) };
        let displaced = || {
            thread::sleep(2 * DISPLACED);
            Ok(Some(()))
        };
        assert_eq!(polling.ask(displaced).unwrap(), Some(()));
        for _ in 0..REST {
            assert_eq!(polling.ask(|| Ok(Some(()))).unwrap(), None);
        }
        assert_eq!(polling.ask(|| Ok(Some(()))).unwrap(), Some(()));
    }
}
