//! The built-in engine: threads that read and write a [`Storage`], each with one request after
//! another. It works on any Storage, plain or encrypted, so the same loop measures both; it also
//! measures devices if fio is not installed.

use super::latency::Latencies;
use super::workload::{Bound, Workload};
use crate::Clock;
use crate::memory::pattern;
use crate::results::Pattern;
use keyway_kernel::Random;
use keyway_volume::Storage;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The result of a run.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// Bytes read and written.
    pub bytes: u64,
    /// The number of requests.
    pub requests: u64,
    /// The duration of the run.
    pub seconds: f64,
    /// Processor time of the process that made the requests, if it can be separated from start-up
    /// and exit.
    pub cpu: Option<f64>,
    /// How long each request took.
    pub latencies: Latencies,
    /// Bytes per second in each part of a sustained run.
    pub parts: Vec<f64>,
}

impl Run {
    /// Adds the results of another run.
    pub(super) fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.requests += other.requests;
        self.seconds += other.seconds;
        self.cpu = other.cpu.map(|cpu| self.cpu.unwrap_or(0.0) + cpu).or(self.cpu);
        self.latencies.add(&other.latencies);
        self.parts.extend(other.parts);
    }
}

/// What a run does, and for how long; the built-in engine and fio do the same.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The requests to make.
    pub workload: Workload,
    /// The number of bytes used, from the start of the storage.
    pub region: u64,
    /// The duration of the run, unless a byte count ends it.
    pub seconds: f64,
    /// The seed that makes the data and the places of this run different from those of other runs.
    pub seed: u64,
    /// Stops the run.
    pub stop: &'a AtomicBool,
}

impl Job<'_> {
    /// Runs the job. Writes are durable when this returns, and the time for that is included.
    ///
    /// # Errors
    /// The storage's error; [`io::ErrorKind::Interrupted`] if the run was stopped.
    pub fn run(&self, storage: &dyn Storage, clock: &dyn Clock) -> io::Result<Run> {
        let all = Mutex::new(Run::default());
        let start = clock.now();
        thread::scope(|scope| {
            let work = |number| self.work(storage, u64::from(number), start, clock, &all);
            let others: Vec<_> =
                (1..self.workload.depth).map(|number| scope.spawn(move || work(number))).collect();
            let panicked = |_| Err(io::Error::other("a thread of the benchmark panicked"));
            let results = others.into_iter().map(|other| other.join().unwrap_or_else(panicked));
            results.fold(work(0), Result::and)
        })?;
        if self.workload.writes() {
            storage.flush()?;
        }
        let mut run = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        run.seconds = (clock.now() - start).as_secs_f64();
        Ok(run)
    }

    /// One thread's requests.
    fn work(
        &self,
        storage: &dyn Storage,
        number: u64,
        start: Duration,
        clock: &dyn Clock,
        all: &Mutex<Run>,
    ) -> io::Result<()> {
        let block = self.workload.block as usize;
        let mut memory = Aligned::new(block);
        pattern(self.seed << 8 | number, memory.bytes());
        let mut order = Order::new(self, number);
        let mut run = Run::default();
        let mut parts = Parts::new(self, start);
        let mut before = clock.now();
        // One at least: on a busy machine a thread may begin when the time is over, and a sample of nothing is none.
        while run.requests == 0 || self.goes_on(run.bytes, before.saturating_sub(start)) {
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let (offset, write) = order.next();
            match write {
                true => storage.write_from(memory.bytes(), offset)?,
                false => storage.read_at(memory.bytes(), offset)?,
            }
            let after = clock.now();
            run.latencies.record((after - before).as_nanos() as u64, 1);
            run.bytes += block as u64;
            run.requests += 1;
            parts.count(block as u64, after);
            before = after;
        }
        run.parts = parts.done;
        all.lock().unwrap_or_else(PoisonError::into_inner).add(run);
        Ok(())
    }

    fn goes_on(&self, bytes: u64, elapsed: Duration) -> bool {
        match self.workload.bound {
            Bound::Bytes(total) => bytes < total,
            Bound::Time | Bound::Sustained => elapsed.as_secs_f64() < self.seconds,
        }
    }
}

/// The order of requests.
struct Order {
    workload: Workload,
    blocks: u64,
    random: Random,
    next: u64,
}

impl Order {
    fn new(job: &Job<'_>, number: u64) -> Self {
        let blocks = (job.region / u64::from(job.workload.block)).max(1);
        let random = Random::seeded(job.seed << 16 | number);
        Self { workload: job.workload, blocks, random, next: 0 }
    }

    /// The offset of the next request, and whether it is a write.
    fn next(&mut self) -> (u64, bool) {
        let place = match self.workload.is_sequential() {
            true => self.next % self.blocks,
            false => ((self.random.number() >> 32) * self.blocks) >> 32,
        };
        self.next += 1;
        let write = match self.workload.pattern {
            Pattern::RandomMixed => self.random.number() % 10 >= READS_OF_TEN,
            _ => self.workload.writes(),
        };
        (place * u64::from(self.workload.block), write)
    }
}

/// The number of reads in ten requests of a mixed run.
const READS_OF_TEN: u64 = 7;

/// The parts of a sustained run.
struct Parts {
    each: Duration,
    began: Duration,
    bytes: u64,
    done: Vec<f64>,
}

impl Parts {
    fn new(job: &Job<'_>, start: Duration) -> Self {
        let sustained = job.workload.bound == Bound::Sustained;
        let each = if sustained { Duration::from_secs_f64(job.seconds / PARTS) } else { Duration::MAX };
        Self { each, began: start, bytes: 0, done: Vec::new() }
    }

    fn count(&mut self, bytes: u64, now: Duration) {
        self.bytes += bytes;
        let took = now.saturating_sub(self.began);
        if took >= self.each {
            self.done.push(self.bytes as f64 / took.as_secs_f64());
            (self.began, self.bytes) = (now, 0);
        }
    }
}

/// Samples in a sustained run.
const PARTS: f64 = 20.0;

/// Memory aligned as direct access requires: pages, of which the last may be used in part.
pub(super) struct Aligned {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Aligned {
    pub(super) fn new(len: usize) -> Self {
        let memory = vec![0; len + PAGE];
        let start = memory.as_ptr().align_offset(PAGE);
        Self { memory, start, len }
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

const PAGE: usize = 4096;

#[cfg(test)]
mod tests;
