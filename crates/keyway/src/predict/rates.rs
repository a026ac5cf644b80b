//! How fast this machine derives keys.

use keyway_boot::unlock_time::{Rates, Work};
use keyway_crypto::Hash;
use keyway_format::luks2::Kdf;
use keyway_volume::{UnlockOptions, UnlockTimes};

/// Under Linux: of each hash that occurs, and of SHA-512 and SHA-256, to which a keyslot may be
/// changed.
pub(super) fn of_linux<'a>(works: impl Iterator<Item = &'a Work> + Clone) -> Rates {
    let hashes = works.clone().filter_map(|work| match work {
        Work::Pbkdf2 { hash, .. } => Some(hash.as_str()),
        Work::Argon2 { .. } => None,
    });
    let mut pbkdf2: Vec<(String, f64)> = Vec::new();
    for name in hashes.chain(["sha512", "sha256"]) {
        let is_known = pbkdf2.iter().any(|(known, _)| known == name);
        let hash = Hash::find(name).filter(|_| !is_known);
        pbkdf2.extend(hash.and_then(|hash| Some((name.to_owned(), of_pbkdf2(hash)?))));
    }
    let argon2 = of_argon2(works, &mut UnlockTimes::new(UnlockOptions::default().threads), None);
    Rates { pbkdf2, argon2, each_slot: 0.01 }
}

/// The rates relative to which GRUB's are given. It runs the lanes of Argon2 one after another.
pub(super) fn for_grub<'a>(works: impl Iterator<Item = &'a Work>) -> Rates {
    let pbkdf2 = of_pbkdf2(Hash::Sha512).map(|rate| ("sha512".to_owned(), rate));
    let argon2 = of_argon2(works, &mut UnlockTimes::new(1), Some(1));
    Rates { pbkdf2: pbkdf2.into_iter().collect(), argon2, each_slot: 0.0 }
}

/// The best of three, so that the load of other programs does not count.
fn of_pbkdf2(hash: Hash) -> Option<f64> {
    let once = |_| UnlockTimes::new(1).of_pbkdf2(hash, SAMPLE, hash.output_len()).ok();
    let fastest = (0..3).filter_map(once).min()?;
    Some(f64::from(SAMPLE) / fastest.as_secs_f64().max(1e-9))
}

/// The slowest of several rates, so that the prediction is not too optimistic.
fn of_argon2<'a>(
    works: impl Iterator<Item = &'a Work>,
    times: &mut UnlockTimes,
    lanes_at_once: Option<u32>,
) -> Option<f64> {
    let rate = |work: &Work| {
        let Work::Argon2 { time, memory_kib, lanes } = work else { return None };
        let lanes = lanes_at_once.unwrap_or(*lanes as u32);
        let (passes, kib) = (*time as u32, *memory_kib as u32);
        let kdf = Kdf::Argon2id { time: passes, memory_kib: kib, lanes, salt: Vec::new() };
        let took = times.of_kdf(&kdf, 64).ok()?.as_secs_f64().max(1e-9);
        Some(*time as f64 * *memory_kib as f64 / took)
    };
    works.filter_map(rate).reduce(f64::min)
}

const SAMPLE: u32 = 100_000;
