//! The cost of a new keyslot's KDF: cryptsetup's rules, measured on this machine.
//!
//! ```text
//! request      from what is asked for to a choice
//! opener       whose time it is to take
//! calibration  the cost that takes it
//! speed        what this machine computes, or a test says
//! ```

mod calibration;
mod opener;
mod request;
mod speed;

pub use calibration::{Calibrated, argon2_here};
pub use opener::Opener;
pub use request::{DEFAULT_HASH, KdfFunction, KdfRequest};

use crate::error::shared;
use crate::keyslot::memory::Memory;
use crate::{Error, Refusal, Result};
use calibration::pbkdf2_iterations;
use keyway_crypto::Hash;
use keyway_crypto::kdf::{Argon2Cost, Argon2Variant};
use keyway_format::luks2::Kdf;
use speed::Measured;
use std::sync::OnceLock;
use std::time::Duration;

/// Unlock time that cryptsetup aims at by default.
pub const DEFAULT_TIME: Duration = Duration::from_millis(2000);
/// Memory that Argon2 may use by default, in KiB (capped at half of the physical memory).
pub const DEFAULT_MEMORY_KIB: u32 = 1 << 20;
/// Lanes that Argon2 may use by default (capped at the number of online CPUs).
pub const DEFAULT_LANES: u32 = 4;
/// Fewest PBKDF2 iterations.
pub(crate) const PBKDF2_MIN_ITERATIONS: u32 = 1000;
/// Fewest Argon2 passes.
pub(crate) const ARGON2_MIN_TIME: u32 = 4;
/// Minimum and maximum Argon2 memory in KiB.
pub(crate) const ARGON2_MEMORY_KIB: std::ops::RangeInclusive<u32> = 32..=4 * 1024 * 1024;

/// How a KDF's cost is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Measured on this machine, to take about this long for whoever opens it (`--iter-time`,
    /// `--iter-time-for`).
    Time(Duration, Opener),
    /// PBKDF2 iterations or Argon2 passes as given
    /// (`--pbkdf-force-iterations`); Argon2 memory is taken as given too.
    Forced(u32),
}

/// The KDF of a new keyslot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KdfChoice {
    /// PBKDF2.
    Pbkdf2 {
        /// Hash name; LUKS1 uses its header's hash instead.
        hash: String,
        /// Iterations.
        cost: Cost,
    },
    /// Argon2 (LUKS2 only).
    Argon2 {
        /// The variant: i or id.
        variant: Argon2Variant,
        /// Maximum memory, in KiB.
        memory_kib: u32,
        /// Maximum number of lanes.
        lanes: u32,
        /// Passes.
        cost: Cost,
    },
}

impl Default for KdfChoice {
    fn default() -> Self {
        Self::Argon2 {
            variant: Argon2Variant::Argon2id,
            memory_kib: DEFAULT_MEMORY_KIB,
            lanes: DEFAULT_LANES,
            cost: Cost::default(),
        }
    }
}

impl Default for Cost {
    fn default() -> Self {
        Self::Time(DEFAULT_TIME, Opener::default())
    }
}

/// A KDF with its cost settled.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SettledKdf {
    Pbkdf2 { hash: Hash, iterations: u32 },
    Argon2 { variant: Argon2Variant, cost: Argon2Cost },
}

impl KdfChoice {
    /// The same KDF with PBKDF2's hash replaced: LUKS1 has only its header's hash.
    pub(crate) fn with_hash(&self, name: &str) -> Result<Self> {
        match self {
            Self::Pbkdf2 { cost, .. } => Ok(Self::Pbkdf2 { hash: name.into(), cost: *cost }),
            Self::Argon2 { .. } => Err(shared::not_in_luks1()),
        }
    }

    /// Refuses costs that the formats do not allow; nothing is measured.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Pbkdf2 { hash, cost } => {
                let hash = Hash::parse(hash)?;
                check_cost("pbkdf2", *cost, PBKDF2_MIN_ITERATIONS)?;
                check_opener(*cost, Some(hash))
            }
            Self::Argon2 { variant, memory_kib, lanes, cost } => {
                check_cost(variant_name(*variant), *cost, ARGON2_MIN_TIME)?;
                check_opener(*cost, None)?;
                check_argon2_limits(*memory_kib, *lanes, *cost)
            }
        }
    }

    /// Settles the cost for a derived key of `key_len` bytes, with a measurement where a time was
    /// requested.
    pub fn settle(&self, key_len: usize) -> Result<SettledKdf> {
        self.check()?;
        let (Self::Pbkdf2 { cost, .. } | Self::Argon2 { cost, .. }) = self;
        match cost {
            Cost::Forced(passes) => self.forced(*passes),
            Cost::Time(time, opener) => {
                tell(Calibration::Starts);
                let mut speed = Measured::default();
                let found = Calibrated::new(self, key_len, *time, *opener, &mut speed);
                tell(Calibration::Ends(found.as_ref().ok()));
                found.map(|found| found.kdf)
            }
        }
    }

    fn forced(&self, passes: u32) -> Result<SettledKdf> {
        match self {
            Self::Pbkdf2 { hash, .. } => {
                Ok(SettledKdf::Pbkdf2 { hash: Hash::parse(hash)?, iterations: passes })
            }
            Self::Argon2 { variant, memory_kib, lanes, .. } => {
                check_there_is(*memory_kib, Memory::now())?;
                let cost = Argon2Cost { time: passes, memory_kib: *memory_kib, lanes: *lanes };
                Ok(SettledKdf::Argon2 { variant: *variant, cost })
            }
        }
    }

    /// Iterations of the digest that belongs to a keyslot with this KDF: an eighth of a second's
    /// worth, or the minimum when costs are forced.
    pub(crate) fn digest_iterations(&self, hash: Hash, key_len: usize) -> Result<u32> {
        let (Self::Pbkdf2 { cost, .. } | Self::Argon2 { cost, .. }) = self;
        match cost {
            Cost::Forced(_) => Ok(PBKDF2_MIN_ITERATIONS),
            Cost::Time(_, opener) => {
                // Whoever opens Argon2 may be unknown to PBKDF2 with this hash.
                let opener = opener.check(Some(hash)).map_or(Opener::default(), |()| *opener);
                pbkdf2_iterations(hash, key_len, DIGEST_TIME, opener, &mut Measured::default())
            }
        }
    }
}

impl SettledKdf {
    /// The KDF as a LUKS2 keyslot writes it.
    pub(crate) fn with_salt(&self, salt: Vec<u8>) -> Kdf {
        match self {
            Self::Pbkdf2 { hash, iterations } => {
                Kdf::Pbkdf2 { hash: hash.name().into(), iterations: *iterations, salt }
            }
            Self::Argon2 { variant, cost: Argon2Cost { time, memory_kib, lanes } } => {
                let (time, memory_kib, lanes) = (*time, *memory_kib, *lanes);
                match variant {
                    Argon2Variant::Argon2i => Kdf::Argon2i { time, memory_kib, lanes, salt },
                    Argon2Variant::Argon2id => Kdf::Argon2id { time, memory_kib, lanes, salt },
                }
            }
        }
    }
}

/// What happens to the cost of a new keyslot that is to take a given time.
#[derive(Clone, Copy)]
pub enum Calibration<'a, 'b> {
    /// This machine is being measured.
    Starts,
    /// The cost that was chosen; `None` if there is none.
    Ends(Option<&'a Calibrated<'b>>),
}

/// Calls `listener` from now on when a cost is measured: the measurement takes seconds, deep inside
/// of what makes a keyslot. The first listener stays.
pub fn announce(listener: fn(Calibration<'_, '_>)) {
    let _ = LISTENER.set(listener);
}

fn tell(calibration: Calibration<'_, '_>) {
    if let Some(listener) = LISTENER.get() {
        listener(calibration);
    }
}

static LISTENER: OnceLock<fn(Calibration<'_, '_>)> = OnceLock::new();

/// Whether a KDF takes less time than this on any machine, so that it need not be measured.
pub(crate) fn is_harmless(kdf: &Kdf, limit: Duration) -> bool {
    let hours = (limit.as_secs_f64() / 3600.0).min(1.0);
    match kdf {
        Kdf::Pbkdf2 { iterations, .. } => f64::from(*iterations) < HARMLESS_ITERATIONS * hours,
        Kdf::Argon2i { time, memory_kib, .. } | Kdf::Argon2id { time, memory_kib, .. } => {
            f64::from(*time) * f64::from(*memory_kib) < HARMLESS_KIB_PASSES * hours
        }
    }
}

/// CPUs that are online.
pub(crate) fn online_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn variant_name(variant: Argon2Variant) -> &'static str {
    match variant {
        Argon2Variant::Argon2i => "argon2i",
        Argon2Variant::Argon2id => "argon2id",
    }
}

fn check_cost(kdf: &str, cost: Cost, least: u32) -> Result<()> {
    match cost {
        Cost::Forced(n) if n < least => Err(Refusal::Cost
            .because(format!("Forced iteration count is too low for {kdf} (minimum is {least})."))),
        Cost::Time(time, _) if time.is_zero() => {
            Err(Refusal::Cost.because("Requested PBKDF target time cannot be zero."))
        }
        _ => Ok(()),
    }
}

fn check_opener(cost: Cost, hash: Option<Hash>) -> Result<()> {
    match cost {
        Cost::Time(_, opener) => opener.check(hash),
        Cost::Forced(_) => Ok(()),
    }
}

fn check_argon2_limits(memory_kib: u32, lanes: u32, cost: Cost) -> Result<()> {
    let (least, most) = (*ARGON2_MEMORY_KIB.start(), *ARGON2_MEMORY_KIB.end());
    let refuse = |why: String| Err(Refusal::Cost.because(why));
    if memory_kib == 0 {
        return refuse("Requested maximum PBKDF memory cannot be zero.".into());
    }
    if lanes == 0 {
        return refuse("Requested PBKDF parallel threads cannot be zero.".into());
    }
    if lanes > ARGON2_MAX_LANES {
        return refuse(format!(
            "Requested maximum PBKDF parallel cost is too high (maximum is {ARGON2_MAX_LANES})."
        ));
    }
    if memory_kib > most {
        return refuse(format!(
            "Requested maximum PBKDF memory cost is too high (maximum is {most} kilobytes)."
        ));
    }
    if matches!(cost, Cost::Forced(_)) && memory_kib < least.max(8 * lanes) {
        let least = least.max(8 * lanes);
        return refuse(format!("Forced memory cost is too low for argon2 (minimum is {least} kilobytes)."));
    }
    Ok(())
}

/// Half of the physical memory; without swap also at most half of the available memory, and never
/// more than half of what control groups leave: a process that takes more than they leave is
/// killed.
fn sensible_memory_kib(memory: &Memory) -> u32 {
    let mut kib = memory.total_kib / 2;
    if !memory.has_swap && memory.available_kib / 2 > (64 << 10) {
        kib = kib.min(memory.available_kib / 2);
    }
    kib = kib.min(memory.left_kib.map_or(u64::MAX, |left| left / 2));
    u32::try_from(kib).unwrap_or(u32::MAX)
}

/// Refuses an explicit amount of memory that is not available.
fn check_there_is(memory_kib: u32, memory: Option<Memory>) -> Result<()> {
    match memory.and_then(|memory| memory.most_kib()) {
        Some(has_kib) if u64::from(memory_kib) > has_kib => {
            Err(Error::NoMemory { needs_kib: memory_kib.into(), has_kib })
        }
        _ => Ok(()),
    }
}

const ARGON2_MAX_LANES: u32 = 4;
const DIGEST_TIME: Duration = Duration::from_millis(125);
/// In an hour, on the slowest machine.
const HARMLESS_ITERATIONS: f64 = 1e8;
/// In an hour, on the slowest machine, KiB times passes: 4 GiB with four passes.
const HARMLESS_KIB_PASSES: f64 = (16 << 20) as f64;

#[cfg(test)]
mod tests;
