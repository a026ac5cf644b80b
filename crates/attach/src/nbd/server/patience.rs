//! Waiting for a client without sleeping, for a moment.
//!
//! A client that sends its next request some microseconds after an answer is kept waiting for longer than that when a
//! sleeping thread has to be woken for it, and pays for the waking. So a thread that was lately answered at once looks
//! again and again for a while, as long as few do that at a time.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How the threads of a server wait.
pub(super) struct Patience {
    awake: AtomicUsize,
    most: usize,
}

impl Patience {
    /// For this machine: half of the cores are left to clients, and a single one to whoever has work.
    pub(super) fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self { awake: AtomicUsize::new(0), most: cores / 2 }
    }

    /// Asks `ready` until it has an answer; `None` when it is time to sleep.
    fn ask<T>(&self, mut ready: impl FnMut() -> io::Result<Option<T>>) -> io::Result<Option<T>> {
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

/// Longer gaps between requests are slept through.
const MOMENT: Duration = Duration::from_micros(30);
