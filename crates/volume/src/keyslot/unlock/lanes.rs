//! Tries PBKDF2 keyslots together: their derivations, and the digests of the resulting keys, run in
//! vector lanes.
//!
//! Each keyslot proceeds independently (derive, open the area, digest the key, compare) and is
//! reported as soon as it is decided, whatever the others cost.

use super::{Job, Unlocked};
use crate::keyslot::digest::KeyDigest;
use crate::{Error, Luks, Result};
use keyway_crypto::kdf::{Derivation, pbkdf2_side_by_side};
use keyway_crypto::{Secret, Stop};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

/// Reports the outcome of the keyslot with this number among those tried.
pub(crate) type Report<'a> = &'a (dyn Fn(usize, Result<Option<Unlocked>>) + Sync);

/// Tries `jobs` with `passphrase` on up to `threads` threads; each ends early when its stop is
/// raised. All jobs must use PBKDF2 with a hash that can run in vector lanes.
pub(crate) fn run(
    luks: &Luks,
    jobs: &[Job],
    passphrase: &Secret,
    threads: usize,
    stops: &[Stop],
    report: Report<'_>,
) {
    let start = |(job, stop): (&Job, _)| {
        job.keyslot.derivation(passphrase, stop).expect("a keyslot whose derivation goes in lanes")
    };
    let derivations = jobs.iter().zip(stops).map(start).collect();
    let attempt = Attempt { luks, jobs, stops, keys: Mutex::new(jobs.iter().map(|_| None).collect()) };
    pbkdf2_side_by_side(derivations, threads, &|number, derived| {
        let run = AssertUnwindSafe(|| attempt.go_on(number, derived.map_err(Error::from)));
        // The waiting thread must always get an outcome for this keyslot.
        match catch_unwind(run).unwrap_or_else(|_| Err(jobs[number].broken())) {
            Ok(Step::Check(derivation)) => return Some(derivation),
            Ok(Step::Decided(outcome)) => report(number, Ok(outcome)),
            Err(error) => report(number, Err(error)),
        }
        None
    });
}

struct Attempt<'a> {
    luks: &'a Luks,
    jobs: &'a [Job],
    stops: &'a [Stop],
    /// For each open keyslot: its key, and which of its digests is being computed.
    keys: Mutex<Vec<Option<(Secret, usize)>>>,
}

/// What a keyslot does next.
enum Step<'a> {
    Check(Derivation<'a>),
    Decided(Option<Unlocked>),
}

impl<'a> Attempt<'a> {
    /// Takes the area's key, or later a digest of the key in the keyslot.
    fn go_on(&self, number: usize, derived: Result<Secret>) -> Result<Step<'a>> {
        let derived = derived?;
        let job = &self.jobs[number];
        let open = self.keys.lock().unwrap_or_else(PoisonError::into_inner)[number].take();
        match open {
            None => self.check(number, job.open(self.luks, &derived)?, 0),
            Some((key, at)) if job.digests[at].is(&derived) => Ok(Step::Decided(Some(job.unlocked(at, key)))),
            Some((key, at)) => self.check(number, key, at + 1),
        }
    }

    /// Starts the computation of the digest `at` of `key`.
    fn check(&self, number: usize, key: Secret, at: usize) -> Result<Step<'a>> {
        let (job, stop) = (&self.jobs[number], &self.stops[number]);
        let Some(digest): Option<&KeyDigest> = job.digests.get(at) else { return Ok(Step::Decided(None)) };
        if let Some(derivation) = digest.derivation(&key, stop) {
            self.keys.lock().unwrap_or_else(PoisonError::into_inner)[number] = Some((key, at));
            return Ok(Step::Check(derivation));
        }
        if digest.matches(&key, stop)? {
            return Ok(Step::Decided(Some(job.unlocked(at, key))));
        }
        self.check(number, key, at + 1)
    }
}
