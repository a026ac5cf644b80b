//! Estimates how long keyslots take to unlock on this machine: short measurements for each kind of
//! KDF, multiplied by the cost.
//!
//! Samples count the CPU's time ([`crate::keyslot::kdf_rate`]). How much more passed on the clock is kept
//! apart ([`UnlockTimes::interference`]). Each estimate is the best of several samples with the range
//! in which they lay.
//!
//! Argon2 is sampled over as much memory as the keyslot has, in fresh pages, where time allows it:
//! what fits into the CPU's last cache (260 MiB on one server) and into the entries of its page
//! tables' cache takes half of the time for each block, and the pages that the kernel clears
//! beforehand a third of a pass.

use crate::Result;
use crate::keyslot::derivation::{Derivation, Keyslot};
use crate::keyslot::kdf_rate::{Argon2Sample, ENOUGH_OF_ARGON2, MOST_SAMPLE_KIB, Samples};
use keyway_crypto::Hash;
use keyway_crypto::kdf::Argon2Variant;
use keyway_format::interval::Interval;
use keyway_format::luks2::Kdf;

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
    /// What a look at a header may take of memory in KiB, whatever the header asks for, unless its user
    /// says that it may be more: no less than what lies in the caches of most machines.
    pub const UNASKED_KIB: u32 = 256 << 10;

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
        Self { longest: ENOUGH_OF_ARGON2, ..Self::new(threads) }
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

    /// About how many seconds so many rounds of BitLocker's stretching take.
    ///
    /// # Errors
    /// None that is known.
    pub fn of_stretching(&mut self, rounds: u64) -> Result<Interval> {
        let samples = Samples::of_stretching()?;
        Ok(self.taken(&samples, QUIET, BUSY).times(rounds as f64))
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
        let taken = self.taken(&sample.passes, QUIET_MEMORY, BUSY_MEMORY);
        let shortest = reaching(taken, sample.kib, memory_kib);
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

/// What lies beyond the sample may take longer.
fn reaching(taken: Interval, sample_kib: u32, memory_kib: u32) -> Interval {
    taken.widened(1.0, if sample_kib < memory_kib { BEYOND } else { 1.0 })
}

/// Number of blocks of a derived key that are measured.
const MOST_BLOCKS: usize = 8;
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
/// More lanes than this are not faster on any machine.
const MOST_LANES: u32 = 256;

#[cfg(test)]
mod tests;
