//! KDFs in the process: PBKDF2 beside Debian's OpenSSL, Argon2id beside Debian's libargon2.

use crate::foreign::{Peer, Secret, libargon2_id};
use crate::options::Options;
use crate::rounds::{Case, Goal, Unit};
use crate::samples::wall_seconds;
use keyway_crypto::kdf::{Argon2Cost, Argon2Variant, argon2, pbkdf2};
use keyway_crypto::{Hash, Stop};
use std::thread::available_parallelism;

pub(crate) fn cases(options: &Options) -> Vec<Case> {
    let mut cases = Vec::new();
    for hash in ["sha1", "sha256", "sha512"] {
        let title = format!("PBKDF2-{hash}, 64-byte key");
        if options.wants(&title) {
            cases.push(pbkdf2_case(title, hash));
        }
    }
    for (name, memory_kib, lanes, rounds) in [
        ("64 MiB, 4 lanes", 64 << 10, 4, 9),
        ("1 GiB, 4 lanes", 1 << 20, 4, 3),
        ("1 GiB, 1 lane", 1 << 20, 1, 3),
    ] {
        let title = format!("Argon2id, 4 passes, {name}");
        if options.wants(&title) {
            cases.push(argon2_case(title, memory_kib, lanes, rounds));
        }
    }
    cases
}

/// A 64-byte key, as for AES-256-XTS.
fn pbkdf2_case(title: String, name: &'static str) -> Case {
    let hash = Hash::parse(name).expect("a known hash");
    let ours = move |key: &mut [u8]| {
        pbkdf2(hash, PASSWORD, SALT, ITERATIONS, key, &Stop::new()).expect("a derivation that nobody stops");
    };
    let theirs =
        move |key: &mut [u8]| assert!(Peer::OpenSsl3.pbkdf2(name, SECRET, ITERATIONS, key), "OpenSSL");
    same_key(ours, theirs);
    let rate = |seconds: f64| f64::from(ITERATIONS) / seconds / 1e6;
    Case::new(title, Unit::Iterations, 9)
        .with("keyway", move || rate(timed(ours)))
        .with("OpenSSL (Debian)", move || rate(timed(theirs)))
        .wanting(Goal::RatioAtLeast(1.0))
}

/// Four passes; all processors, as cryptsetup takes them.
fn argon2_case(title: String, memory_kib: u32, lanes: u32, rounds: usize) -> Case {
    let threads = available_parallelism().map_or(1, usize::from);
    let cost = Argon2Cost { time: 4, memory_kib, lanes };
    let ours = move |key: &mut [u8]| {
        argon2(Argon2Variant::Argon2id, cost, PASSWORD, SALT, key, threads, &Stop::new())
            .expect("enough memory");
    };
    let theirs = move |key: &mut [u8]| {
        assert!(libargon2_id([cost.time, memory_kib, lanes], SECRET, key), "libargon2");
    };
    if memory_kib < 1 << 20 {
        same_key(ours, theirs);
    }
    Case::new(title, Unit::Milliseconds, rounds)
        .with("keyway", move || timed(ours) * 1e3)
        .with("libargon2 (Debian)", move || timed(theirs) * 1e3)
        .wanting(Goal::RatioAtMost(1.0))
}

fn timed(derive: impl Fn(&mut [u8])) -> f64 {
    let mut key = [0; 64];
    let seconds = wall_seconds(|| derive(&mut key));
    assert_ne!(key, [0; 64]);
    seconds
}

fn same_key(ours: impl Fn(&mut [u8]), theirs: impl Fn(&mut [u8])) {
    let (mut a, mut b) = ([0; 64], [0; 64]);
    ours(&mut a);
    theirs(&mut b);
    assert_eq!(a, b, "the contestants disagree");
}

const SECRET: Secret<'static> = Secret { password: PASSWORD, salt: SALT };
const PASSWORD: &[u8] = b"correct horse battery staple";
const SALT: &[u8] = b"thirty-two bytes of salt, always";
const ITERATIONS: u32 = 400_000;
