//! Estimates how long keyslots take to unlock on this machine: short measurements for each kind of
//! KDF, multiplied by the cost.
//!
//! Samples count the CPU's time, not the clock's: programs that run beside this one make the clock
//! go on while nothing is computed. How much that was is kept apart ([`UnlockTimes::interference`]).
//! What CPU time does not exclude are shared caches, sibling threads of a core, and clock rates; so
//! each estimate is the shortest of several samples with the range in which they lay.
//!
//! Argon2 is sampled over as much memory as the keyslot has, in fresh pages, where time allows it:
//! what fits into the CPU's last cache (260 MiB on one server) and into the entries of its page
//! tables' cache takes half of the time for each block, and the pages that the kernel clears
//! beforehand a third of a pass.

use crate::Result;
use crate::facts::{Derivation, Keyslot};
use crate::memory::Memory;
use keyway_crypto::kdf::{self, Argon2Cost, Argon2Variant};
use keyway_crypto::{Hash, Secret, Stop};
use keyway_format::interval::Interval;
use keyway_format::luks2::Kdf;
use rustix::time::{ClockId, clock_gettime};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Measures each kind once, and remembers the result.
#[derive(Debug)]
pub struct UnlockTimes {
    threads: usize,
    /// Seconds that a pass of an Argon2 sample may take, at the rate of a small one.
    longest: f64,
    /// Memory of the largest Argon2 sample.
    most_kib: u32,
    /// Seconds per iteration.
    pbkdf2: Vec<(Hash, usize, Interval)>,
    argon2: Vec<(Argon2Variant, u32, Argon2Rate)>,
    interference: f64,
}

impl UnlockTimes {
    /// Nothing is measured yet; Argon2's lanes will run on up to `threads` threads. Each kind takes
    /// up to about a second.
    pub fn new(threads: usize) -> Self {
        Self {
            threads,
            longest: LONGEST,
            most_kib: MOST_SAMPLE_KIB,
            pbkdf2: Vec::new(),
            argon2: Vec::new(),
            interference: 1.0,
        }
    }

    /// The same from short samples over little memory, which tell minutes from hours: Argon2 over
    /// much memory may take twice as long.
    pub fn rough(threads: usize) -> Self {
        Self { longest: ENOUGH, ..Self::new(threads) }
    }

    /// The same, with samples over no more memory than this: where the header that is looked at may ask
    /// for any amount.
    #[must_use]
    pub fn within(self, most_kib: u32) -> Self {
        Self { most_kib, ..self }
    }

    /// How many seconds passed on the clock for each second that was computed, in the samples so
    /// far: 1 on an idle machine, 2 if other programs took half of the time.
    pub fn interference(&self) -> f64 {
        self.interference
    }

    /// About how many seconds a keyslot takes to open, with the digest that verifies its key;
    /// `None` where that cannot be measured.
    pub fn of_keyslot(&mut self, keyslot: &Keyslot) -> Option<Interval> {
        let mut time = |of: &Derivation| self.of_kdf(&of.kdf, of.len).ok();
        let derivation = time(keyslot.derivation.as_ref().ok()?)?;
        let digest = keyslot.digest.as_ref().and_then(time).unwrap_or_default();
        Some(derivation + digest)
    }

    /// About how many seconds `kdf` takes to derive `key_len` bytes.
    ///
    /// # Errors
    /// The hash is unknown, or there is no memory for the sample.
    pub fn of_kdf(&mut self, kdf: &Kdf, key_len: usize) -> Result<Interval> {
        match kdf {
            Kdf::Pbkdf2 { hash, iterations, .. } => self.of_pbkdf2(Hash::parse(hash)?, *iterations, key_len),
            Kdf::Argon2i { time, memory_kib, lanes, .. } => {
                self.of_argon2(Argon2Variant::Argon2i, *time, *memory_kib, *lanes)
            }
            Kdf::Argon2id { time, memory_kib, lanes, .. } => {
                self.of_argon2(Argon2Variant::Argon2id, *time, *memory_kib, *lanes)
            }
        }
    }

    /// About how many seconds PBKDF2 takes to derive `key_len` bytes.
    ///
    /// # Errors
    /// The hash cannot be used.
    pub fn of_pbkdf2(&mut self, hash: Hash, iterations: u32, key_len: usize) -> Result<Interval> {
        let blocks = key_len.div_ceil(hash.output_len());
        // Blocks are computed one after the other: the time for a few gives the time for all.
        if blocks > MOST_BLOCKS {
            let few = self.of_pbkdf2(hash, iterations, MOST_BLOCKS * hash.output_len())?;
            return Ok(few.times(blocks as f64 / MOST_BLOCKS as f64));
        }
        let known = self.pbkdf2.iter().find(|(h, b, _)| (*h, *b) == (hash, blocks));
        let each = match known {
            Some((.., each)) => *each,
            None => {
                let samples = Samples::of_pbkdf2(hash, key_len)?;
                let each = self.taken(&samples, QUIET, BUSY);
                self.pbkdf2.push((hash, blocks, each));
                each
            }
        };
        Ok(each.times(iterations.into()))
    }

    fn of_argon2(
        &mut self,
        variant: Argon2Variant,
        time: u32,
        memory_kib: u32,
        lanes: u32,
    ) -> Result<Interval> {
        let lanes = lanes.clamp(1, MOST_LANES);
        let known =
            self.argon2.iter().find(|(v, l, rate)| (*v, *l) == (variant, lanes) && rate.serves(memory_kib));
        let rate = match known {
            Some((.., rate)) => *rate,
            None => {
                let rate = self.argon2_rate(variant, memory_kib, lanes)?;
                self.argon2.push((variant, lanes, rate));
                rate
            }
        };
        let memory = f64::from(memory_kib);
        Ok((Interval::exact(rate.around) + rate.pass.times(time.into())).times(memory))
    }

    fn argon2_rate(&mut self, variant: Argon2Variant, memory_kib: u32, lanes: u32) -> Result<Argon2Rate> {
        let sample = self.argon2_sample(variant, memory_kib, lanes)?;
        let beyond = if sample.kib < memory_kib { BEYOND } else { 1.0 };
        let shortest = self.taken(&sample.passes, QUIET_MEMORY, BUSY_MEMORY).widened(1.0, beyond);
        // Parts of a pass differ by their pages and by who else uses the memory: it takes their mean.
        let pass = Interval { likely: sample.passes.mean().clamp(shortest.low, shortest.high), ..shortest };
        Ok(Argon2Rate { memory_kib, around: sample.around, pass })
    }

    fn argon2_sample(&self, variant: Argon2Variant, memory_kib: u32, lanes: u32) -> Result<Argon2Sample> {
        Argon2Sample::of(variant, memory_kib.min(self.most_kib), lanes, self.threads, self.longest)
    }

    /// The interval of samples.
    fn taken(&mut self, samples: &Samples, quiet: f64, busy: f64) -> Interval {
        let disturbed = samples.interference();
        self.interference = self.interference.max(disturbed);
        // What runs beside this program may slow it down in every sample.
        let down = if disturbed > DISTURBED { busy } else { quiet };
        Interval::of_times(samples.each()).unwrap_or_default().widened(down, 1.0 / quiet)
    }
}

/// Seconds per KiB of Argon2's memory: for getting and wiping it, and for each pass over it.
#[derive(Debug, Clone, Copy)]
struct Argon2Rate {
    /// The memory that it was measured for.
    memory_kib: u32,
    around: f64,
    pass: Interval,
}

impl Argon2Rate {
    /// Whether so much memory is about as fast.
    fn serves(&self, memory_kib: u32) -> bool {
        let (one, other) = (u64::from(self.memory_kib), u64::from(memory_kib));
        one * 2 <= other * 3 && other * 2 <= one * 3
    }
}

/// The same work several times.
struct Samples {
    /// How much of what is paid for each time: iterations, or KiB times passes.
    cost: f64,
    taken: Vec<Taken>,
}

/// The seconds that work took.
#[derive(Clone, Copy)]
struct Taken {
    /// That it would have taken with the CPUs to itself.
    computed: f64,
    /// That passed meanwhile.
    passed: f64,
}

impl Samples {
    fn of_pbkdf2(hash: Hash, key_len: usize) -> Result<Self> {
        let mut key = Secret::zeroed(key_len);
        let mut iterations: u32 = 1 << 10;
        let mut run = |iterations| -> Result<Taken> {
            let watch = Watch::start(ClockId::ThreadCPUTime, 1.0);
            kdf::pbkdf2(hash, b"passphrase", b"salt", iterations, key.expose_mut(), &Stop::new())?;
            Ok(watch.taken())
        };
        while run(iterations)?.computed < ENOUGH {
            iterations *= 4;
        }
        let taken: Result<Vec<Taken>> = (0..ROUNDS).map(|_| run(iterations)).collect();
        Ok(Self { cost: iterations.into(), taken: taken? })
    }

    /// Seconds for one of what is paid for.
    fn each(&self) -> impl Iterator<Item = f64> {
        self.taken.iter().map(|taken| taken.computed / self.cost)
    }

    fn mean(&self) -> f64 {
        sum(&self.taken).computed / (self.cost * self.taken.len().max(1) as f64)
    }

    fn interference(&self) -> f64 {
        let sum = sum(&self.taken);
        (sum.passed / sum.computed).max(1.0)
    }
}

/// Passes of Argon2 over as much memory as the keyslot has, or as a short wait allows.
struct Argon2Sample {
    kib: u32,
    /// Seconds for each KiB, once: to get the memory, and to wipe it and give it back.
    around: f64,
    /// By KiB and pass.
    passes: Samples,
}

impl Argon2Sample {
    fn of(variant: Argon2Variant, memory_kib: u32, lanes: u32, threads: usize, longest: f64) -> Result<Self> {
        let least = 8 * lanes;
        let most = memory_kib.min(MOST_SAMPLE_KIB).min(free_kib()).max(least);
        let run = |time, memory_kib| argon2(variant, Argon2Cost { time, memory_kib, lanes }, threads);
        let mut kib = SAMPLE_KIB.clamp(least, most);
        // The first run of a program is slower than the second.
        run(1, kib)?;
        let mut one = sum(&run(1, kib)?.quarters).computed;
        let larger = (f64::from(kib) * longest / one).min(most.into()) as u32;
        if larger > kib {
            one *= f64::from(larger) / f64::from(kib);
            kib = larger;
        }
        let more = (ENOUGH * ROUNDS as f64 / one).ceil().clamp(1.0, 4096.0);
        let Run { quarters, after } = run(1 + more as u32, kib)?;
        let (first, later) = quarters.split_at(QUARTERS);
        let size = (later.len() / ROUNDS).max(1);
        let cost = f64::from(kib) * size as f64 / QUARTERS as f64;
        let passes = Samples { cost, taken: later.chunks_exact(size).map(sum).collect() };
        // The first pass is the first to use each page.
        let first = sum(first).computed / f64::from(kib) - passes.mean();
        let around = first.max(0.0) + after / f64::from(kib);
        Ok(Self { kib, around, passes })
    }
}

/// A run of Argon2.
struct Run {
    /// Of each pass.
    quarters: Vec<Taken>,
    /// Seconds after the last of them, when one thread wipes the memory.
    after: f64,
}

fn argon2(variant: Argon2Variant, cost: Argon2Cost, threads: usize) -> Result<Run> {
    // Lanes run on threads, of which the slowest has this share of the work.
    let lanes = cost.lanes as usize;
    let share = lanes.div_ceil(threads.clamp(1, lanes)) as f64 / lanes as f64;
    let start = || Watch::start(ClockId::ProcessCPUTime, share);
    let running = Mutex::new((start(), Vec::new()));
    kdf::argon2_quarters(variant, cost, threads, &|| {
        let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = running.0.taken();
        running.1.push(taken);
        running.0 = start();
    })?;
    let (last, quarters) = running.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Run { quarters, after: Watch { share: 1.0, ..last }.taken().computed })
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

/// Half of the memory that is available now.
fn free_kib() -> u32 {
    Memory::now().map_or(SAMPLE_KIB, |memory| (memory.available_kib / 2).try_into().unwrap_or(u32::MAX))
}

/// The CPU time on a clock, in seconds.
fn spent(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32).as_secs_f64()
}

/// Quarters of a pass of Argon2.
const QUARTERS: usize = 4;
/// Number of blocks of a derived key that are measured.
const MOST_BLOCKS: usize = 8;
/// The shortest of this many samples is near what an idle machine takes.
const ROUNDS: usize = 5;
/// A sample of this many seconds gives the rate well enough, and four times as much is still not a
/// noticeable wait.
const ENOUGH: f64 = 0.03;
/// Seconds of a pass over the whole sample at the rate of a small one: it may take twice as long,
/// and the two passes of the sample four times.
const LONGEST: f64 = 0.3;
/// Above this share of the clock's time to the CPU's, the machine is busy.
const DISTURBED: f64 = 1.1;
/// How far an idle machine's time may be from the shortest sample: short samples have warm caches,
/// and the clock rate of a long computation may differ.
const QUIET: f64 = 0.92;
/// The same beside other programs: on virtual machines and sibling threads they slow every sample
/// by up to a third.
const BUSY: f64 = 0.75;
/// The same for Argon2, which shares the memory's bandwidth and the last cache with all cores, and
/// those of other guests.
const QUIET_MEMORY: f64 = 0.8;
const BUSY_MEMORY: f64 = 0.5;
/// How much longer a block may take in memory that the sample did not reach.
const BEYOND: f64 = 1.6;
/// Memory of the first Argon2 sample.
const SAMPLE_KIB: u32 = 32 << 10;
/// Memory of the largest Argon2 sample: more is no slower.
const MOST_SAMPLE_KIB: u32 = 1 << 20;
/// More lanes than this are not faster on any machine.
const MOST_LANES: u32 = 256;

#[cfg(test)]
mod tests;
