//! How fast this machine derives keys: what every command measures that shows or uses such a rate.
//!
//! Samples count the CPU's time, not the clock's: programs that run beside this one make the clock
//! go on while nothing is computed. What CPU time does not exclude are shared caches, sibling
//! threads of a core, and clock rates; so the likely figure is the best of several samples.

mod argon2;

pub(crate) use argon2::{Argon2Sample, ENOUGH as ENOUGH_OF_ARGON2, MOST_SAMPLE_KIB, Took, took};

use crate::Result;
use keyway_crypto::kdf;
use keyway_crypto::{Cpu, Hash, Secret, Stop};
use keyway_format::interval::Interval;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Iterations a second of PBKDF2 for a key of so many bytes, on one thread of this machine.
///
/// # Errors
/// The hash cannot be used.
pub fn pbkdf2(hash: Hash, key_len: usize) -> Result<f64> {
    Ok(Samples::of_pbkdf2(hash, key_len)?.rate())
}

/// The CPU time that this process has taken on all of its threads together.
pub fn process_time() -> Duration {
    Duration::from_secs_f64(spent(ClockId::ProcessCPUTime))
}

/// The same work several times.
pub(crate) struct Samples {
    /// How much of what is paid for each time: iterations, or KiB times passes.
    cost: f64,
    taken: Vec<Taken>,
}

/// The seconds that work took.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    /// That it would have taken with the CPUs to itself.
    pub(crate) computed: f64,
    /// That passed meanwhile.
    passed: f64,
}

impl Samples {
    pub(crate) fn of_pbkdf2(hash: Hash, key_len: usize) -> Result<Self> {
        let mut key = Secret::zeroed(key_len);
        Self::of(|iterations| {
            kdf::pbkdf2(hash, b"passphrase", b"salt", iterations, key.expose_mut(), &Stop::new())?;
            Ok(())
        })
    }

    /// Rounds of BitLocker's stretching.
    pub(crate) fn of_stretching() -> Result<Self> {
        let (digest, salt, mut key) = ([1; 32], [2; 16], [0; 32]);
        Self::of(|rounds| {
            kdf::stretch(Cpu::detect(), &digest, &salt, rounds.into(), &mut key, &Stop::new())?;
            Ok(())
        })
    }

    /// Work of which any number can be asked for.
    fn of(mut work: impl FnMut(u32) -> Result<()>) -> Result<Self> {
        let mut cost: u32 = 1 << 10;
        let mut run = |cost| -> Result<Taken> {
            let watch = Watch::start(ClockId::ThreadCPUTime, 1.0);
            work(cost)?;
            Ok(watch.taken())
        };
        while run(cost)?.computed < ENOUGH {
            cost *= 2;
        }
        let taken: Result<Vec<Taken>> = (0..ROUNDS).map(|_| run(cost)).collect();
        Ok(Self { cost: cost.into(), taken: taken? })
    }

    /// What is paid for that is computed in a second, in the best of the samples.
    fn rate(&self) -> f64 {
        1.0 / Interval::of_times(self.told()).unwrap_or_default().likely
    }

    /// The times, but for those that a clock did not tell: emulated machines and such that count by ticks say at times
    /// that work took nothing.
    fn told(&self) -> impl Iterator<Item = f64> {
        let mut sorted: Vec<f64> = self.each().collect();
        sorted.sort_by(f64::total_cmp);
        let least = sorted.get(sorted.len() / 2).map_or(0.0, |median| median / UNTOLD);
        sorted.into_iter().filter(move |time| *time >= least)
    }

    /// Seconds for one of what is paid for.
    pub(crate) fn each(&self) -> impl Iterator<Item = f64> {
        self.taken.iter().map(|taken| taken.computed / self.cost)
    }

    pub(crate) fn mean(&self) -> f64 {
        sum(&self.taken).computed / (self.cost * self.taken.len().max(1) as f64)
    }

    pub(crate) fn interference(&self) -> f64 {
        let sum = sum(&self.taken);
        (sum.passed / sum.computed).max(1.0)
    }
}

fn sum(all: &[Taken]) -> Taken {
    let none = Taken { computed: 0.0, passed: 0.0 };
    all.iter().fold(none, |sum, taken| Taken {
        computed: sum.computed + taken.computed,
        passed: sum.passed + taken.passed,
    })
}

/// Measures work by a clock of CPU time, of which it has this share.
struct Watch {
    clock: ClockId,
    share: f64,
    start: Instant,
    before: f64,
}

impl Watch {
    fn start(clock: ClockId, share: f64) -> Self {
        Self { clock, share, start: Instant::now(), before: spent(clock) }
    }

    fn taken(&self) -> Taken {
        let computed = (spent(self.clock) - self.before) * self.share;
        let passed = self.start.elapsed().as_secs_f64().max(1e-9);
        // Other threads of this process count in its CPU time.
        Taken { computed: computed.clamp(1e-9, passed), passed }
    }
}

/// The CPU time on a clock, in seconds.
fn spent(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32).as_secs_f64()
}

/// The best of so many samples is near what an idle machine takes: what else runs on the hardware
/// under a virtual machine, or on a core's other thread, slows a tenth of a second of them together.
const ROUNDS: usize = 24;
/// Work that takes so many times as long at least half the time does not take less.
const UNTOLD: f64 = 8.0;
/// A sample of this many seconds gives the rate well enough.
const ENOUGH: f64 = 0.01;

#[cfg(test)]
mod tests;
