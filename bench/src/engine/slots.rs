//! Keyslots tried side by side on one thread, beside one of them alone:
//! what a passphrase costs that fits the last slot.

use crate::options::Options;
use crate::rounds::{Case, Goal, Sample, Unit};
use crate::samples::thread_seconds;
use keyway_crypto::kdf::{Derivation, pbkdf2, pbkdf2_side_by_side};
use keyway_crypto::{Error, Hash, Secret, Stop};
use std::sync::Mutex;

pub(crate) fn cases(options: &Options) -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, wanted) in [("sha512", Some(2.2)), ("sha256", None), ("sha1", None)] {
        let title = format!("PBKDF2-{name}, {SLOTS} keyslots of 64 bytes");
        if options.wants(&title) {
            let hash = Hash::parse(name).expect("a known hash");
            assert_eq!(side_by_side(hash, 1000), SALTS.map(|salt| alone(hash, 1000, salt)));
            let case = Case::new(title, Unit::Milliseconds, options.rounds)
                .entering("keyway", Ok(milliseconds(move || drop(side_by_side(hash, ITERATIONS)))))
                .entering(
                    "keyway, one slot",
                    Ok(milliseconds(move || drop(alone(hash, ITERATIONS, SALTS[0])))),
                )
                .wanting(wanted.map(Goal::RatioAtMost));
            cases.push(case);
        }
    }
    cases
}

/// Of this thread's own time.
fn milliseconds(mut work: impl FnMut() + 'static) -> Sample {
    Box::new(move || thread_seconds(&mut work) * 1e3)
}

fn alone(hash: Hash, iterations: u32, salt: &[u8]) -> Vec<u8> {
    let mut key = vec![0; KEY];
    pbkdf2(hash, PASSWORD, salt, iterations, &mut key, &Stop::new()).expect("a derivation that nobody stops");
    key
}

fn side_by_side(hash: Hash, iterations: u32) -> [Vec<u8>; SLOTS] {
    let stop = Stop::new();
    let derivations = SALTS.map(|salt| {
        Derivation::new(hash, PASSWORD, salt, iterations, KEY, &stop).expect("a hash that runs side by side")
    });
    let keys = Mutex::new([const { Vec::new() }; SLOTS]);
    pbkdf2_side_by_side(derivations.into(), 1, &|slot, key: Result<Secret, Error>| {
        let key = key.expect("a derivation that nobody stops");
        keys.lock().expect("no panic")[slot] = key.expose().to_vec();
        None
    });
    keys.into_inner().expect("no panic")
}

const SLOTS: usize = 8;
const KEY: usize = 64;
const PASSWORD: &[u8] = b"correct horse battery staple";
const SALTS: [&[u8]; SLOTS] = [b"one", b"two", b"three", b"four", b"five", b"six", b"seven", b"eight"];
const ITERATIONS: u32 = 20_000;
