//! How fast this machine derives keys.

use keyway_boot::unlock_time::{Argon2Rates, Rates, Work};
use keyway_crypto::Hash;
use keyway_crypto::kdf::pace::{Beside, Pace};
use keyway_format::interval::Interval;
use keyway_format::luks2::Kdf;
use keyway_volume::{UnlockOptions, UnlockTimes};

/// Rates, and how many seconds passed for each that was computed while they were measured.
pub(super) struct Measured {
    pub(super) rates: Rates,
    pub(super) interference: f64,
}

impl Measured {
    /// The rates of another program on the same CPU.
    pub(super) fn with(self, other: impl FnOnce(&Rates) -> Rates) -> Self {
        Self { rates: other(&self.rates), ..self }
    }
}

/// Under Linux: of each hash that occurs, and of SHA-512 and SHA-256, to which a keyslot may be
/// changed.
pub(super) fn of_linux<'a>(works: impl Iterator<Item = &'a Work> + Clone) -> Measured {
    let mut times = UnlockTimes::new(UnlockOptions::default().threads);
    let pbkdf2 = each_once(hashes(works.clone()).chain(["sha512", "sha256"]), &mut times);
    let argon2 = of_argon2(works, &mut times, None);
    let rates = Rates { pbkdf2, argon2, each_slot: Interval::exact(0.01).widened(0.5, 3.0) };
    Measured { rates, interference: times.interference() }
}

/// The rates relative to which GRUB's are given. It runs the lanes of Argon2 one after another.
pub(super) fn for_grub<'a>(works: impl Iterator<Item = &'a Work> + Clone, pace: &Pace) -> Measured {
    let own = |name: &&str| Hash::find(name).is_some_and(|hash| pace.beside(hash) == Beside::SameHash);
    let own: Vec<&str> = hashes(works.clone()).chain(["sha256"]).filter(own).collect();
    let mut times = UnlockTimes::new(1);
    let pbkdf2 = each_once(own.into_iter().chain(["sha512"]), &mut times);
    let argon2 = of_argon2(works, &mut times, Some(1));
    let rates = Rates { pbkdf2, argon2, each_slot: Interval::default() };
    Measured { rates, interference: times.interference() }
}

fn hashes<'a>(works: impl Iterator<Item = &'a Work>) -> impl Iterator<Item = &'a str> {
    works.filter_map(|work| match work {
        Work::Pbkdf2 { hash, .. } => Some(hash.as_str()),
        Work::Argon2 { .. } => None,
    })
}

/// The rates of these hashes that this library has.
fn each_once<'a>(names: impl Iterator<Item = &'a str>, times: &mut UnlockTimes) -> Vec<(String, Interval)> {
    let mut known: Vec<(String, Interval)> = Vec::new();
    for name in names {
        let hash = Hash::find(name).filter(|_| known.iter().all(|(other, _)| other != name));
        known.extend(hash.and_then(|hash| Some((name.to_owned(), of_pbkdf2(hash, times)?))));
    }
    known
}

fn of_pbkdf2(hash: Hash, times: &mut UnlockTimes) -> Option<Interval> {
    let time = times.of_pbkdf2(hash, SAMPLE, hash.output_len()).ok()?;
    Some(time.under(SAMPLE.into()))
}

fn of_argon2<'a>(
    works: impl Iterator<Item = &'a Work>,
    times: &mut UnlockTimes,
    lanes_at_once: Option<u32>,
) -> Argon2Rates {
    let mut rates = Argon2Rates::default();
    let mut rate = |work: &Work| {
        let Work::Argon2 { time, memory_kib, lanes } = work else { return None };
        let lanes = lanes_at_once.unwrap_or(*lanes as u32);
        let (passes, kib) = (*time as u32, *memory_kib as u32);
        let kdf = Kdf::Argon2id { time: passes, memory_kib: kib, lanes, salt: Vec::new() };
        let rate = times.of_kdf(&kdf, 64).ok()?.under(*time as f64 * *memory_kib as f64);
        Some((*memory_kib, rate))
    };
    works.filter_map(&mut rate).for_each(|(memory_kib, rate)| rates.add(memory_kib, rate));
    rates
}

const SAMPLE: u32 = 100_000;
