//! How fast this machine computes Argon2: samples of passes, and whole derivations.

use super::{Samples, Taken, Watch, sum};
use crate::Result;
use crate::keyslot::memory::Memory;
use keyway_crypto::kdf::{self, Argon2Cost, Argon2Variant};
use rustix::time::ClockId;
use std::sync::{Mutex, PoisonError};

/// The seconds that a derivation computes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Took {
    /// With a thread for each lane.
    pub(crate) here: f64,
    /// With one thread for all.
    pub(crate) in_one_thread: f64,
}

impl Took {
    /// What so many times the work takes.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self { here: self.here * factor, in_one_thread: self.in_one_thread * factor }
    }
}

/// One derivation, with a thread for each lane.
pub(crate) fn took(variant: Argon2Variant, cost: Argon2Cost) -> Result<Took> {
    let Run { quarters, after } = argon2(variant, cost, cost.lanes as usize)?;
    let lanes = sum(&quarters).computed;
    Ok(Took { here: lanes + after, in_one_thread: lanes * f64::from(cost.lanes) + after })
}

/// Passes of Argon2 over as much memory as the keyslot has, or as a short wait allows.
pub(crate) struct Argon2Sample {
    pub(crate) kib: u32,
    /// Seconds for each KiB, once: to get the memory, and to wipe it and give it back.
    pub(crate) around: f64,
    /// By KiB and pass.
    pub(crate) passes: Samples,
}

impl Argon2Sample {
    pub(crate) fn of(
        variant: Argon2Variant,
        memory_kib: u32,
        lanes: u32,
        threads: usize,
        longest: f64,
    ) -> Result<Self> {
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

/// Half of the memory that is available now.
fn free_kib() -> u32 {
    Memory::now().map_or(SAMPLE_KIB, |memory| (memory.available_kib / 2).try_into().unwrap_or(u32::MAX))
}

/// Quarters of a pass of Argon2.
const QUARTERS: usize = 4;
/// Seconds of a part that give the rate well enough.
pub(crate) const ENOUGH: f64 = 0.03;
/// Parts that the passes of a sample are told in.
const ROUNDS: usize = 5;
/// Memory of the first sample.
const SAMPLE_KIB: u32 = 32 << 10;
/// Memory of the largest sample: more is no slower.
pub(crate) const MOST_SAMPLE_KIB: u32 = 1 << 20;
