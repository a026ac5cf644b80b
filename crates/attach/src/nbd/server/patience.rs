//! Waiting for a client without sleeping, for a moment.
//!
//! A client that sends its next request some microseconds after an answer is kept waiting for
//! longer than that when a sleeping thread has to be woken for it, and pays for the waking. So a
//! thread that was lately answered at once looks again and again for a while, as long as few do
//! that at a time. Where other programs want the core meanwhile, it would lose it for longer than a
//! waking takes: then threads sleep, and it is tried again later.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How the threads of a server wait.
pub(super) struct Patience {
    awake: AtomicUsize,
    most: usize,
    /// How many more times to sleep at once.
    rest: AtomicU32,
}

impl Patience {
    /// For this machine: half of the cores are left to clients, and a
    /// single one to whoever has work.
    pub(super) fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self { awake: AtomicUsize::new(0), most: cores / 2, rest: AtomicU32::new(0) }
    }

    /// Asks `ready` until it has an answer; `None` when it is time to sleep.
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

/// Whether one client is worth staying awake for.
#[derive(Default)]
pub(super) struct Eagerness {
    eager: bool,
}

impl Eagerness {
    /// The answer of `ready`, or of `sleep` if that takes longer than a moment.
    pub(super) fn wait<T>(
        &mut self,
        patience: &Patience,
        ready: impl FnMut() -> io::Result<Option<T>>,
        sleep: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        if self.eager
            && let Some(answer) = patience.ask(ready)?
        {
            return Ok(answer);
        }
        let started = Instant::now();
        let answer = sleep();
        self.eager = started.elapsed() < MOMENT;
        answer
    }
}

/// Longer gaps between requests are slept through. A client that was itself woken on an
/// idle core of a virtual machine is back after 50 µs; the kernel's own idle loop waits as
/// long there (guest_halt_poll_ns of Linux, 200 µs).
const MOMENT: Duration = Duration::from_micros(200);

/// Who has looked for so long has lost its core meanwhile.
const DISPLACED: Duration = Duration::from_micros(600);

/// So often threads sleep after that.
const REST: u32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_client_is_waited_for_and_a_slow_one_slept_for() {
        let patience = Patience { awake: AtomicUsize::new(0), most: 1, rest: AtomicU32::new(0) };
        let mut eagerness = Eagerness { eager: true };
        let here = || Ok(Some("looked"));
        assert_eq!(eagerness.wait(&patience, here, || Ok("slept")).unwrap(), "looked");

        // A sleep of more than a moment ends the eagerness; then nobody looks.
        let slow = || {
            thread::sleep(2 * MOMENT);
            Ok("slept")
        };
        assert_eq!(eagerness.wait(&patience, || Ok(None), slow).unwrap(), "slept");
        let never = || -> io::Result<Option<&str>> { panic!("not eager") };
        assert_eq!(eagerness.wait(&patience, never, || Ok("slept")).unwrap(), "slept");
        assert_eq!(patience.awake.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn who_lost_its_core_sleeps_for_a_while() {
        let patience = Patience { awake: AtomicUsize::new(0), most: 1, rest: AtomicU32::new(0) };
        let displaced = || {
            thread::sleep(2 * DISPLACED);
            Ok(Some(()))
        };
        assert_eq!(patience.ask(displaced).unwrap(), Some(()));
        for _ in 0..REST {
            assert_eq!(patience.ask(|| Ok(Some(()))).unwrap(), None);
        }
        assert_eq!(patience.ask(|| Ok(Some(()))).unwrap(), Some(()));
    }
}
