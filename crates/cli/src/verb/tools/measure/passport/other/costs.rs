//! Seconds that ways into a volume take: here, on the target, and in cryptsetup.

use super::super::question::Question;
use super::super::words::stretching;
use crate::output::figures::grouped;
use crate::output::size::human;
use keyway::Machine;
use keyway::parts::{Way, WayCost};
use keyway_boot::unlock_time::{Rates, Work};
use keyway_format::interval::Interval;

/// What is computed; `None` where that is nothing that counts.
pub(super) fn work(cost: &WayCost) -> Option<Work> {
    match cost {
        WayCost::Pbkdf2 { hash, iterations, derived, .. } => {
            Some(Work::pbkdf2(hash.name(), (*iterations).into(), *derived))
        }
        WayCost::Argon2id { passes, memory_kib } => {
            Some(Work::Argon2 { time: (*passes).into(), memory_kib: (*memory_kib).into(), lanes: 1 })
        }
        WayCost::Stretching { rounds } => Some(Work::Stretching { rounds: *rounds }),
        WayCost::Hash { .. } | WayCost::Nothing => None,
    }
}

/// What of it tells whether a guess is right.
pub(super) fn telling(cost: &WayCost) -> Option<Work> {
    match cost {
        WayCost::Pbkdf2 { hash, iterations, telling, .. } => {
            Some(Work::pbkdf2(hash.name(), (*iterations).into(), *telling))
        }
        other => work(other),
    }
}

/// "pbkdf2 sha512", for messages.
pub(super) fn function(cost: &WayCost) -> String {
    match cost {
        WayCost::Pbkdf2 { hash, .. } => format!("pbkdf2 {}", hash.name()),
        WayCost::Argon2id { .. } => "argon2id".to_owned(),
        WayCost::Stretching { .. } => "BitLocker's stretching".to_owned(),
        WayCost::Hash { name, .. } => name.clone(),
        WayCost::Nothing => "nothing".to_owned(),
    }
}

/// "pbkdf2 sha512, 500,000 iterations".
pub(super) fn derivation(cost: &WayCost) -> String {
    match cost {
        WayCost::Pbkdf2 { iterations, .. } => {
            format!("{}, {} iterations", function(cost), grouped((*iterations).into()))
        }
        WayCost::Argon2id { passes, memory_kib } => {
            format!("argon2id, {passes} passes over {}, 1 lane", human(u64::from(*memory_kib) * 1024))
        }
        WayCost::Stretching { rounds } => stretching(*rounds),
        WayCost::Hash { digests: 0, .. } => "no key derivation, not even a hash".to_owned(),
        WayCost::Hash { name, digests: 1 } => format!("{name} once, no key derivation"),
        WayCost::Hash { name, digests } => format!("{name}, {digests} digests, no key derivation"),
        WayCost::Nothing => "no key derivation".to_owned(),
    }
}

/// How long something takes; `None` where no rate is known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Seconds {
    pub(super) here: Option<Interval>,
    /// On the target, where that is another machine or program.
    pub(super) on_target: Option<Interval>,
    /// In cryptsetup on this machine, where that is beside the question.
    pub(super) by_cryptsetup: Option<Interval>,
}

/// A machine's rates, and how many derivations it runs at once.
struct Speed {
    rates: Rates,
    threads: usize,
}

/// How fast those are that are asked about.
pub(super) struct Machines {
    here: Speed,
    /// The target; `None` where it cannot open the volume.
    target: Option<Speed>,
    /// Where the target is this program on this machine.
    cryptsetup: Option<Speed>,
    interference: f64,
}

impl Machines {
    /// Measures what these ways take.
    pub(super) fn of(ways: &[Way], question: &Question) -> Self {
        let works: Vec<Work> = ways.iter().filter_map(|way| work(&way.cost)).collect();
        let target = &question.target;
        let (rates, interference) = Machine::here().rates(&works, None, question.sample_kib);
        let here = Speed { rates, threads: keyway::parts::UnlockOptions::default().threads };
        if target.is_here() {
            let cryptsetup = Some(Speed { rates: here.rates.of_cryptsetup(), threads: 1 });
            let on_target = Some(Speed { rates: here.rates.clone(), threads: here.threads });
            return Self { here, target: on_target, cryptsetup, interference };
        }
        let on_target = target.rates_of(&works).map(|(rates, _)| Speed { rates, threads: target.threads() });
        Self { here, target: on_target, cryptsetup: None, interference }
    }

    /// How many seconds passed for each that was computed here.
    pub(super) fn interference(&self) -> f64 {
        self.interference
    }

    /// Until all of these ways were tried.
    pub(super) fn seconds(&self, ways: &[Way]) -> Seconds {
        Seconds {
            here: self.here.seconds(ways),
            on_target: self.target.as_ref().and_then(|speed| speed.seconds(ways)),
            by_cryptsetup: self.cryptsetup.as_ref().and_then(|speed| speed.seconds(ways)),
        }
    }
}

impl Speed {
    fn seconds(&self, ways: &[Way]) -> Option<Interval> {
        let mut parts = Vec::new();
        for way in ways {
            let Some(work) = work(&way.cost) else { continue };
            let each = self.rates.seconds(&work)?.times(1.0 / way.parts as f64);
            parts.extend(std::iter::repeat_n(each, way.parts * way.headers));
        }
        if parts.is_empty() {
            return None;
        }
        let until = |of: fn(&Interval) -> f64| through(parts.iter().map(of), self.threads);
        let time = Interval {
            low: until(|part| part.low),
            likely: until(|part| part.likely),
            high: until(|part| part.high),
        };
        Some(time + self.rates.each_slot)
    }
}

/// When the last part is done, where so many threads take one after the other.
fn through(parts: impl Iterator<Item = f64>, threads: usize) -> f64 {
    let mut busy: Vec<f64> = vec![0.0; threads.max(1)];
    for part in parts {
        let first = busy.iter_mut().min_by(|one, other| (**one).total_cmp(other));
        first.into_iter().for_each(|until| *until += part);
    }
    busy.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_crypto::Hash;

    #[test]
    fn threads_take_parts_in_order() {
        let parts = || [3.0, 1.0, 1.0, 2.0].into_iter();
        assert_eq!([1, 2, 3, 8].map(|threads| through(parts(), threads)), [7.0, 4.0, 3.0, 3.0]);
        assert_eq!(through(parts(), 0), 7.0);
    }

    #[test]
    fn costs_in_words() {
        let pbkdf2 = WayCost::Pbkdf2 { hash: Hash::Sha512, iterations: 500_000, derived: 192, telling: 64 };
        assert_eq!(derivation(&pbkdf2), "pbkdf2 sha512, 500,000 iterations");
        assert_eq!(work(&pbkdf2), Some(Work::pbkdf2("sha512", 500_000, 192)));
        assert_eq!(telling(&pbkdf2), Some(Work::pbkdf2("sha512", 500_000, 64)));
        let argon2 = WayCost::Argon2id { passes: 6, memory_kib: 416 << 10 };
        assert_eq!(derivation(&argon2), "argon2id, 6 passes over 416.0 MiB, 1 lane");
        assert_eq!(derivation(&WayCost::Stretching { rounds: 1 << 20 }), "1,048,576 rounds of SHA-256");
        let hash = |digests| WayCost::Hash { name: "sha256".into(), digests };
        assert_eq!(derivation(&hash(1)), "sha256 once, no key derivation");
        assert_eq!(work(&hash(2)), None);
    }
}
