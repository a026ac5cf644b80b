//! How fast this machine derives keys.

use keyway_boot::unlock_time::{Argon2Rates, Rates, Work};
use keyway_crypto::Hash;
use keyway_crypto::kdf::speed::{Beside, KdfSpeed};
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
/// changed. Samples of Argon2 take at most so much memory.
pub(super) fn of_linux<'a>(works: impl Iterator<Item = &'a Work> + Clone, most_kib: u32) -> Measured {
    let mut times = UnlockTimes::new(UnlockOptions::default().threads).within(most_kib);
    let pbkdf2 = each_once(hashes(works.clone()).chain(["sha512", "sha256"]), &mut times);
    let side_by_side = side_by_side(works.clone(), &mut times);
    let argon2 = of_argon2(works.clone(), &mut times, None);
    let each_slot = Interval::exact(0.01).widened(0.5, 3.0);
    let mut rounds = works.filter_map(|work| match work {
        Work::Stretching { rounds } => Some(*rounds),
        _ => None,
    });
    let rate = |rounds| Some(times.of_stretching(rounds).ok()?.under(rounds as f64));
    let stretching = rounds.next().and_then(rate);
    let rates = Rates { pbkdf2, side_by_side, argon2, stretching, each_slot };
    Measured { rates, interference: times.interference() }
}

/// The rates relative to which GRUB's are given. It runs the lanes of Argon2 one after another.
pub(super) fn for_grub<'a>(
    works: impl Iterator<Item = &'a Work> + Clone,
    speed: &KdfSpeed,
    most_kib: u32,
) -> Measured {
    let own = |name: &&str| Hash::find(name).is_some_and(|hash| speed.beside(hash) == Beside::SameHash);
    let own: Vec<&str> = hashes(works.clone()).chain(["sha256"]).filter(own).collect();
    let mut times = UnlockTimes::new(1).within(most_kib);
    let pbkdf2 = each_once(own.into_iter().chain(["sha512"]), &mut times);
    let argon2 = of_argon2(works, &mut times, Some(1));
    let rates = Rates { pbkdf2, argon2, ..Rates::default() };
    Measured { rates, interference: times.interference() }
}

fn hashes<'a>(works: impl Iterator<Item = &'a Work>) -> impl Iterator<Item = &'a str> {
    works.filter_map(|work| match work {
        Work::Pbkdf2 { hash, .. } => Some(hash.as_str()),
        Work::Argon2 { .. } | Work::Stretching { .. } => None,
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

/// The rates of keys of several blocks, which this library computes side by side where the CPU can: of
/// those that occur, and of a 512-bit key with SHA-256, to which a keyslot may be changed.
fn side_by_side<'a>(
    works: impl Iterator<Item = &'a Work>,
    times: &mut UnlockTimes,
) -> Vec<(String, u64, Interval)> {
    let mut known: Vec<(String, u64, Interval)> = Vec::new();
    let several = works.filter_map(|work| match work {
        Work::Pbkdf2 { hash, blocks, .. } if *blocks > 1 => Some((hash.as_str(), *blocks)),
        _ => None,
    });
    for (name, blocks) in several.chain([("sha256", 2)]) {
        let is_new = known.iter().all(|(other, of, _)| (other.as_str(), *of) != (name, blocks));
        let Some(hash) = Hash::find(name).filter(|_| is_new) else { continue };
        let len = (blocks as usize).saturating_mul(hash.output_len());
        let time = times.of_pbkdf2(hash, SAMPLE, len).ok();
        known.extend(time.map(|time| (name.to_owned(), blocks, time.under(SAMPLE.into()))));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Two blocks of SHA-256 and four of SHA-1 were summed as if they were computed one after the
    /// other.
    #[test]
    fn a_key_of_several_blocks_takes_what_its_derivation_takes() {
        let works = [("sha1", 20), ("sha1", 64), ("sha256", 64), ("sha256", 32)]
            .map(|(hash, len)| Work::pbkdf2(hash, 1_000_000, len));
        let Measured { rates, .. } = of_linux(works.iter(), 1 << 10);
        let known: Vec<_> = rates.side_by_side.iter().map(|(hash, of, _)| (hash.as_str(), *of)).collect();
        assert_eq!(known, [("sha1", 4), ("sha256", 2)]);
        for (work, (.., rate)) in works[1..].iter().zip(&rates.side_by_side) {
            assert_eq!(rates.seconds(work).unwrap(), rate.under(1e6));
        }
        let Measured { rates, .. } = for_grub(works.iter(), &keyway_crypto::kdf::speed::CRYPTSETUP, 1 << 10);
        assert!(rates.side_by_side.is_empty(), "GRUB computes one after the other");
    }
}
