//! Key derivations: iterations or passes per second, or the cost that takes a given time. Samples
//! on one thread count the CPU's time ([`keyway_volume::keyslot::kdf_rate`]): other programs do not disturb
//! them. Each derived key is compared with the one that the portable code derives.

use super::{SLOW, pattern, shortest};
use crate::Clock;
use crate::results::{KdfCase, Outcome, Settings, Unit, right};
use crate::rounds::{Sample, Subject, fits, passes};
use crate::stats::SMALLEST;
use keyway_crypto::kdf::{
    Argon2Cost, Argon2Variant, Derivation, argon2_on, pbkdf2_on, pbkdf2_side_by_side, stretch,
};
use keyway_crypto::{Cpu, Error, Hash, Secret, Stop};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const PASSWORD: &[u8] = b"correct horse battery staple";

/// A derivation that can be run with any cost.
enum Kdf {
    Pbkdf2 {
        hash: Hash,
        passwords: usize,
    },
    Argon2 {
        variant: Argon2Variant,
        memory_kib: u32,
        lanes: u32,
    },
    /// BitLocker's.
    Stretching,
}

struct Derive {
    kdf: Kdf,
    /// PBKDF2 iterations or Argon2 passes in one sample.
    cost: u32,
    expected: Vec<u8>,
    /// The target duration, if the cost for it is sought.
    target: Option<f64>,
}

pub(crate) fn prepare(
    case: &KdfCase,
    settings: &Settings,
    clock: &dyn Clock,
    left: f64,
) -> Result<Subject, Outcome> {
    let kdf = Kdf::of(case)?;
    let (probe, began) = (kdf.smallest(), clock.now());
    let mut key = vec![0; case.key_bits as usize / 8];
    let guess = kdf.guess(clock, left, &mut key)?;
    fits(WHOLE, guess * IN_ALL, (guess > 0.0).then_some(guess), left)?;
    let once = kdf.once(clock, &mut key)?;
    let least = Some(once.as_secs_f64());
    let target = case.iter_time_ms.map(|ms| f64::from(ms) / 1000.0);
    let wanted = target.map_or(settings.sample_seconds, |seconds| seconds.min(LONGEST));
    let cost = passes(once, wanted).saturating_mul(probe).max(probe);
    let seconds = once.as_secs_f64() * f64::from(cost) / f64::from(probe);
    let left = left - clock.now().saturating_sub(began).as_secs_f64();
    fits(WHOLE, seconds * (IN_ALL - 1.0), least, left)?;
    let mut expected = vec![0; key.len()];
    kdf.derive_portably(cost, &mut expected)?;
    let unit = match (&kdf, target) {
        (_, Some(_)) => Unit::Cost,
        (Kdf::Pbkdf2 { .. } | Kdf::Stretching, None) => Unit::IterationsPerSecond,
        (Kdf::Argon2 { .. }, None) => Unit::PassesPerSecond,
    };
    let derive = Derive { kdf, cost, expected, target };
    Ok(Subject {
        sample: Box::new(move |clock| derive.sample(clock)),
        unit,
        checked: "the portable code: the key of each timed derivation".to_owned(),
        code: None,
        least_samples: (once > SLOW).then_some(FEWEST),
        sample_seconds: Some(seconds),
        least_seconds: least,
        notes: Vec::new(),
    })
}

/// What has to fit into the time that is left.
const WHOLE: &str = "three derivations and the check of their keys";
/// How long that takes, in derivations: one to begin with, three samples, and one by the portable
/// code, which takes as long as four.
const IN_ALL: f64 = 1.0 + SMALLEST as f64 + 4.0;
/// Costs for a time are extrapolated from samples no longer than this, in seconds:
/// both KDFs take time in proportion to their cost.
const LONGEST: f64 = 0.2;
/// Memory that is derived over in a moment.
const LITTLE_KIB: u32 = 16 << 10;
/// The number of repetitions: the fewest that give an interval.
const FEWEST: u32 = 6;

impl Kdf {
    fn of(case: &KdfCase) -> Result<Self, Outcome> {
        let lanes = case.lanes;
        let variant = match case.kdf.as_str() {
            "pbkdf2" => {
                let name = case.hash.as_deref().unwrap_or("sha256");
                let hash = Hash::parse(name).map_err(failed)?;
                let passwords = lanes as usize;
                if passwords > 1 && !Derivation::fits(hash, 1, case.key_bits as usize / 8) {
                    let reason = format!("{name} has no code that derives several keys side by side");
                    return Err(Outcome::not_measured(reason));
                }
                return Ok(Self::Pbkdf2 { hash, passwords });
            }
            "bitlocker" => return Ok(Self::Stretching),
            "argon2i" => Argon2Variant::Argon2i,
            _ => Argon2Variant::Argon2id,
        };
        Ok(Self::Argon2 { variant, memory_kib: case.memory_kib.unwrap_or(1 << 20), lanes })
    }

    /// How many threads compute at once.
    fn threads(&self) -> usize {
        match self {
            Self::Pbkdf2 { passwords, .. } => *passwords,
            Self::Argon2 { lanes, .. } => *lanes as usize,
            Self::Stretching => 1,
        }
    }

    /// The cost of the first try.
    fn smallest(&self) -> u32 {
        match self {
            Self::Pbkdf2 { .. } | Self::Stretching => 1000,
            Self::Argon2 { .. } => 1,
        }
    }

    /// About how long the smallest cost takes, without spending that time: Argon2's is in proportion
    /// to its memory. Nothing is known, and nothing spent, where there is no bound.
    fn guess(&self, clock: &dyn Clock, left: f64, key: &mut [u8]) -> Result<f64, Outcome> {
        let &Self::Argon2 { variant, memory_kib, lanes } = self else { return Ok(0.0) };
        if left.is_infinite() || memory_kib <= LITTLE_KIB {
            return Ok(0.0);
        }
        let little = Self::Argon2 { variant, memory_kib: LITTLE_KIB, lanes };
        let before = clock.now();
        little.derive(Cpu::detect(), 1, key)?;
        let once = clock.now().saturating_sub(before);
        Ok(once.as_secs_f64() * f64::from(memory_kib) / f64::from(LITTLE_KIB))
    }

    /// How long the smallest cost takes. What is slow needs no warming up.
    fn once(&self, clock: &dyn Clock, key: &mut [u8]) -> Result<Duration, Outcome> {
        let mut derive = || self.derive(Cpu::detect(), self.smallest(), key);
        let before = clock.now();
        derive()?;
        let first = clock.now().saturating_sub(before);
        if first > SLOW { Ok(first) } else { shortest(clock, derive) }
    }

    /// Derives keys; with several passwords all keys must be equal, because the passwords are
    /// equal.
    fn derive(&self, cpu: Cpu, cost: u32, key: &mut [u8]) -> Result<(), Outcome> {
        let salt = salt();
        match *self {
            Self::Pbkdf2 { hash, passwords: 1 } => {
                pbkdf2_on(cpu, hash, PASSWORD, &salt, cost, key, &Stop::new()).map_err(failed)
            }
            Self::Pbkdf2 { hash, passwords } => side_by_side(hash, passwords, cost, &salt, key),
            Self::Argon2 { variant, memory_kib, lanes } => {
                let cost = Argon2Cost { time: cost, memory_kib, lanes };
                argon2_on(cpu, variant, cost, PASSWORD, &salt, key, lanes as usize, &Stop::new())
                    .map_err(failed)
            }
            Self::Stretching => stretched(cpu, cost, key),
        }
    }

    /// With the portable code, one password at a time.
    fn derive_portably(&self, cost: u32, key: &mut [u8]) -> Result<(), Outcome> {
        match *self {
            Self::Pbkdf2 { hash, .. } => Self::Pbkdf2 { hash, passwords: 1 },
            Self::Argon2 { variant, memory_kib, lanes } => Self::Argon2 { variant, memory_kib, lanes },
            Self::Stretching => Self::Stretching,
        }
        .derive(Cpu::portable(), cost, key)
    }
}

/// As many rounds of BitLocker's as `cost` says.
fn stretched(cpu: Cpu, cost: u32, key: &mut [u8]) -> Result<(), Outcome> {
    let (mut digest, mut salt, mut out) = ([0; 32], [0; 16], [0; 32]);
    pattern(2, &mut digest);
    pattern(3, &mut salt);
    stretch(cpu, &digest, &salt, cost.into(), &mut out, &Stop::new()).map_err(failed)?;
    key.copy_from_slice(&out[..key.len()]);
    Ok(())
}

fn side_by_side(hash: Hash, passwords: usize, cost: u32, salt: &[u8], key: &mut [u8]) -> Result<(), Outcome> {
    let stop = Stop::new();
    let derivations: Option<Vec<Derivation<'_>>> =
        (0..passwords).map(|_| Derivation::new(hash, PASSWORD, salt, cost, key.len(), &stop)).collect();
    let Some(derivations) = derivations else { return Err(failed(Error::Cost("no such derivation"))) };
    let keys: Mutex<Vec<Result<Secret, Error>>> = Mutex::new(Vec::new());
    pbkdf2_side_by_side(derivations, passwords, &|_, result| {
        keys.lock().unwrap_or_else(PoisonError::into_inner).push(result);
        None
    });
    for derived in keys.into_inner().unwrap_or_else(PoisonError::into_inner) {
        key.copy_from_slice(derived.map_err(failed)?.expose());
    }
    Ok(())
}

impl Derive {
    fn sample(&self, clock: &dyn Clock) -> Result<Sample, Outcome> {
        let mut key = vec![0; self.expected.len()];
        let (before, computed) = (clock.now(), clock.computed());
        self.kdf.derive(Cpu::detect(), self.cost, &mut key)?;
        let computed = computed.zip(clock.computed()).map(|(before, after)| after.saturating_sub(before));
        let seconds = clock.now().saturating_sub(before).as_secs_f64().max(1e-9);
        right(&self.expected, &key, "the timed derivation")?;
        // Threads beside each other share caches and memory: their clock is the machine's.
        let took = match computed.filter(|_| self.kdf.threads() == 1) {
            Some(computed) => computed.as_secs_f64().clamp(1e-9, seconds),
            None => seconds,
        };
        let rate = f64::from(self.cost) / took;
        let value = match (self.target, &self.kdf) {
            (Some(target), _) => (rate * target).max(1.0),
            (None, Kdf::Pbkdf2 { passwords, .. }) => rate * *passwords as f64,
            (None, Kdf::Argon2 { .. } | Kdf::Stretching) => rate,
        };
        Ok(Sample { value, seconds })
    }
}

fn salt() -> [u8; 32] {
    let mut salt = [0; 32];
    pattern(3, &mut salt);
    salt
}

fn failed(error: Error) -> Outcome {
    let reason = error.to_string();
    match error {
        Error::NoMemory { .. } | Error::Unsupported(_) => Outcome::not_measured(reason),
        _ => Outcome::impossible(reason),
    }
}
