//! The cost that takes a given time: this machine's speed, by CPU time ([`crate::keyslot::kdf_rate`]), and
//! how its opener's relates to that. Every command that makes a keyslot comes here.

use super::speed::{Measured, Speed, Took};
use super::{
    ARGON2_MAX_LANES, ARGON2_MEMORY_KIB, ARGON2_MIN_TIME, DEFAULT_MEMORY_KIB, KdfChoice, Opener,
    PBKDF2_MIN_ITERATIONS, SettledKdf, online_cpus, sensible_memory_kib,
};
use crate::keyslot::memory::Memory;
use crate::{Refusal, Result};
use keyway_crypto::Hash;
use keyway_crypto::kdf::{Argon2Cost, Argon2Variant};
use std::cell::RefCell;
use std::time::Duration;

/// A cost that was chosen, and whose time it is.
pub struct Calibrated<'a> {
    /// The key derivation.
    pub kdf: SettledKdf,
    /// Whose time it was to take.
    pub opener: Opener,
    key_len: usize,
    /// What Argon2 took.
    took: Option<Took>,
    speed: RefCell<&'a mut dyn Speed>,
}

impl<'a> Calibrated<'a> {
    /// The cost of `choice` that takes `time` with this opener.
    pub(super) fn new(
        choice: &KdfChoice,
        key_len: usize,
        time: Duration,
        opener: Opener,
        speed: &'a mut dyn Speed,
    ) -> Result<Self> {
        let (kdf, took) = match choice {
            KdfChoice::Pbkdf2 { hash, .. } => {
                let hash = Hash::parse(hash)?;
                let iterations = pbkdf2_iterations(hash, key_len, time, opener, speed)?;
                (SettledKdf::Pbkdf2 { hash, iterations }, None)
            }
            KdfChoice::Argon2 { variant, memory_kib, lanes, .. } => {
                let (variant, limits) = (*variant, Limits::of(*memory_kib, *lanes)?);
                let (cost, took) = argon2_cost(variant, limits, time, opener, speed)?;
                (SettledKdf::Argon2 { variant, cost }, Some(took))
            }
        };
        Ok(Self { kdf, opener, key_len, took, speed: RefCell::new(speed) })
    }

    /// About how many seconds it takes with an opener, which may have to be measured; `None` where
    /// that is not known, or it cannot derive such a key.
    pub fn seconds(&self, opener: Opener) -> Option<f64> {
        match (&self.kdf, self.took) {
            (SettledKdf::Pbkdf2 { hash, iterations }, _) => {
                let rate = opener.pbkdf2(*hash, self.key_len, &mut **self.speed.borrow_mut()).ok()??;
                Some(f64::from(*iterations) / rate)
            }
            (SettledKdf::Argon2 { cost, .. }, took) => opener.argon2(*cost, took?),
        }
    }
}

/// Argon2's cost on this machine that takes about `time` within the given limits, and the seconds it
/// took: what `benchmark` shows.
pub fn argon2_here(
    variant: Argon2Variant,
    memory_kib: u32,
    lanes: u32,
    time: Duration,
) -> Result<(Argon2Cost, Duration)> {
    let limits = Limits::of(memory_kib, lanes)?;
    let (cost, took) = argon2_cost(variant, limits, time, Opener::Keyway, &mut Measured::default())?;
    Ok((cost, Duration::from_secs_f64(took.here)))
}

pub(super) fn pbkdf2_iterations(
    hash: Hash,
    key_len: usize,
    time: Duration,
    opener: Opener,
    speed: &mut dyn Speed,
) -> Result<u32> {
    opener.check(Some(hash))?;
    let rate = opener.pbkdf2(hash, key_len, speed)?.unwrap_or_default();
    let iterations = rate * time.as_secs_f64();
    if iterations > f64::from(u32::MAX) {
        return Err(
            Refusal::Cost.because(format!("{} s of PBKDF2 exceed a header's counter.", time.as_secs()))
        );
    }
    Ok((iterations as u32).max(PBKDF2_MIN_ITERATIONS))
}

/// What Argon2 may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) least_kib: u32,
    pub(super) most_kib: u32,
    pub(super) lanes: u32,
}

impl Limits {
    fn of(memory_kib: u32, lanes: u32) -> Result<Self> {
        let lanes = lanes.min(ARGON2_MAX_LANES).min(online_cpus() as u32).max(1);
        let sensible = Memory::now().map_or(DEFAULT_MEMORY_KIB, |memory| sensible_memory_kib(&memory));
        let most_kib = memory_kib.min(sensible);
        let least_kib = (*ARGON2_MEMORY_KIB.start()).max(8 * lanes);
        match most_kib < least_kib {
            true => Err(Refusal::Cost
                .because(format!("Argon2 with {lanes} lanes needs at least {least_kib} KiB of memory."))),
            false => Ok(Self { least_kib, most_kib, lanes }),
        }
    }
}

/// The cost that takes about `time` with this opener, and what it took here. Memory is increased
/// first, up to the limit, then passes.
pub(super) fn argon2_cost(
    variant: Argon2Variant,
    limits: Limits,
    time: Duration,
    opener: Opener,
    speed: &mut dyn Speed,
) -> Result<(Argon2Cost, Took)> {
    opener.check(None)?;
    let time = time.as_secs_f64();
    let seconds = |cost, took| opener.argon2(cost, took).unwrap_or_default();
    let Limits { least_kib, lanes, .. } = limits;
    let mut cost = Argon2Cost { time: ARGON2_MIN_TIME, memory_kib: least_kib, lanes };
    let mut took = speed.argon2(variant, cost)?;
    for _ in 0..ARGON2_ROUNDS {
        // Small runs say little about large ones: approach the target in steps of at most sixteen
        // times.
        let factor = (time / seconds(cost, took).max(1e-6)).min(16.0);
        let next = scaled(cost, factor, limits);
        if next == cost {
            break;
        }
        if (0.9..=1.12).contains(&factor) {
            // So near, what it takes follows from what this took. (Another number of passes is no small step.)
            if next.time == cost.time {
                took = took.times(f64::from(next.memory_kib) / f64::from(cost.memory_kib));
                cost = next;
            }
            break;
        }
        cost = next;
        took = speed.argon2(variant, cost)?;
    }
    Ok((cost, took))
}

/// `cost` made `factor` times as expensive: first through memory up to its limit, then through
/// passes.
pub(super) fn scaled(cost: Argon2Cost, factor: f64, limits: Limits) -> Argon2Cost {
    let Limits { least_kib, most_kib, .. } = limits;
    let work = f64::from(cost.time) * f64::from(cost.memory_kib) * factor;
    let memory = (work / f64::from(ARGON2_MIN_TIME)).clamp(f64::from(least_kib), f64::from(most_kib));
    let time = (work / memory).floor().clamp(f64::from(ARGON2_MIN_TIME), f64::from(u32::MAX));
    Argon2Cost { time: time as u32, memory_kib: memory as u32, lanes: cost.lanes }
}

const ARGON2_ROUNDS: usize = 8;
