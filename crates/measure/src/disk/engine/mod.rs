//! The built-in engine: threads that read and write a [`Storage`], one request after the
//! other each. It serves whatever is a Storage, plain or encrypted, so that both are measured
//! by the same loop; and devices where there is no fio.

use super::latency::Latencies;
use super::workload::{Bound, Workload};
use crate::Clock;
use crate::memory::pattern;
use crate::results::Pattern;
use keyway_kernel::Random;
use keyway_volume::Storage;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// What a run did.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// Bytes read and written.
    pub bytes: u64,
    /// Requests.
    pub requests: u64,
    /// How long it took.
    pub seconds: f64,
    /// Processor time of whoever made the requests, where that is
    /// told apart from how it started and ended.
    pub cpu: Option<f64>,
    /// How long each request took.
    pub latencies: Latencies,
    /// Bytes a second in each part of a sustained run.
    pub parts: Vec<f64>,
}

impl Run {
    /// Takes over what another has done.
    pub(super) fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.requests += other.requests;
        self.seconds += other.seconds;
        self.cpu = other.cpu.map(|cpu| self.cpu.unwrap_or(0.0) + cpu).or(self.cpu);
        self.latencies.add(&other.latencies);
        self.parts.extend(other.parts);
    }
}

/// Where and how long.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// What is read and written.
    pub storage: &'a dyn Storage,
    /// What is asked of it.
    pub workload: Workload,
    /// The first so many bytes of it are used.
    pub region: u64,
    /// How long it runs, unless bytes end it.
    pub seconds: f64,
    /// Sets apart what is written, and where, from other runs.
    pub seed: u64,
    /// Ends it.
    pub stop: &'a AtomicBool,
}

impl Job<'_> {
    /// Does it. Writes have reached the storage for good when this
    /// returns, and the wait for that counts.
    ///
    /// # Errors
    /// The storage's; [`io::ErrorKind::Interrupted`] when it was stopped.
    pub fn run(&self, clock: &dyn Clock) -> io::Result<Run> {
        let all = Mutex::new(Run::default());
        let start = clock.now();
        thread::scope(|scope| {
            let work = |number| self.work(u64::from(number), start, clock, &all);
            let others: Vec<_> =
                (1..self.workload.depth).map(|number| scope.spawn(move || work(number))).collect();
            let own = work(0);
            others
                .into_iter()
                .fold(own, |result, other| result.and(other.join().unwrap_or_else(|_| Err(panicked()))))
        })?;
        if self.workload.writes() {
            self.storage.flush()?;
        }
        let mut run = all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        run.seconds = (clock.now() - start).as_secs_f64();
        Ok(run)
    }

    /// One thread's requests.
    fn work(&self, number: u64, start: Duration, clock: &dyn Clock, all: &Mutex<Run>) -> io::Result<()> {
        let block = self.workload.block as usize;
        let mut memory = Aligned::new(block);
        pattern(self.seed << 8 | number, memory.bytes());
        let mut order = Order::new(self, number);
        let mut run = Run::default();
        let mut parts = Parts::new(self, start);
        let mut before = clock.now();
        while order.goes_on(run.bytes, before.saturating_sub(start)) {
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let (offset, write) = order.next();
            match write {
                true => self.storage.write_from(memory.bytes(), offset)?,
                false => self.storage.read_at(memory.bytes(), offset)?,
            }
            let after = clock.now();
            run.latencies.record((after - before).as_nanos() as u64, 1);
            run.bytes += block as u64;
            run.requests += 1;
            parts.count(block as u64, after);
            before = after;
        }
        run.parts = parts.done;
        all.lock().unwrap_or_else(std::sync::PoisonError::into_inner).add(run);
        Ok(())
    }
}

fn panicked() -> io::Error {
    io::Error::other("a thread of the benchmark panicked")
}

/// Which request comes next.
struct Order {
    workload: Workload,
    blocks: u64,
    seconds: f64,
    random: Random,
    next: u64,
}

impl Order {
    fn new(job: &Job<'_>, number: u64) -> Self {
        let block = u64::from(job.workload.block);
        let random = Random::seeded(job.seed << 16 | number);
        Self {
            workload: job.workload,
            blocks: (job.region / block).max(1),
            seconds: job.seconds,
            random,
            next: 0,
        }
    }

    fn goes_on(&self, bytes: u64, elapsed: Duration) -> bool {
        match self.workload.bound {
            Bound::Bytes(total) => bytes < total,
            Bound::Time | Bound::Sustained => elapsed.as_secs_f64() < self.seconds,
        }
    }

    /// Its offset, and whether it is a write.
    fn next(&mut self) -> (u64, bool) {
        let block = u64::from(self.workload.block);
        match self.workload.pattern {
            Pattern::SequentialRead | Pattern::SequentialWrite => {
                let offset = self.next % self.blocks * block;
                self.next += 1;
                (offset, self.workload.writes())
            }
            pattern => {
                let offset = ((self.random.number() >> 32) * self.blocks) >> 32;
                let write = match pattern {
                    Pattern::RandomMixed => self.random.number() % 10 >= READS_OF_TEN,
                    _ => self.workload.writes(),
                };
                (offset * block, write)
            }
        }
    }
}

/// Of ten requests of a mixed run so many are reads.
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

/// Samples of a sustained run.
const PARTS: f64 = 20.0;

/// Memory that begins where direct access wants it.
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
