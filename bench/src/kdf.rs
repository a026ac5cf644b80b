//! KDFs in the process: PBKDF2 beside Debian's OpenSSL, Argon2id beside Debian's libargon2.

use crate::Options;
use crate::rounds::{Case, Goal, Unit};
use crate::sys::libargon2_id;
use keyway_crypto::kdf::{Argon2Cost, Argon2Variant, argon2, pbkdf2};
use keyway_crypto::{Hash, Stop};
use openssl::hash::MessageDigest;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

pub(crate) fn cases(_: &Options) -> Vec<Case> {
    vec![
        pbkdf2_case("sha1", MessageDigest::sha1()),
        pbkdf2_case("sha256", MessageDigest::sha256()),
        pbkdf2_case("sha512", MessageDigest::sha512()),
        argon2_case("64 MiB, 4 lanes", 64 << 10, 4, 9),
        argon2_case("1 GiB, 4 lanes", 1 << 20, 4, 3),
        argon2_case("1 GiB, 1 lane", 1 << 20, 1, 3),
    ]
}

/// A 64-byte key, as for AES-256-XTS.
fn pbkdf2_case(name: &str, digest: MessageDigest) -> Case {
    let hash = Hash::parse(name).expect("a known hash");
    let ours = move |key: &mut [u8]| {
        pbkdf2(hash, PASSWORD, SALT, ITERATIONS, key, &Stop::new()).expect("a derivation that nobody stops");
    };
    let theirs = move |key: &mut [u8]| {
        openssl::pkcs5::pbkdf2_hmac(PASSWORD, SALT, ITERATIONS as usize, digest, key).expect("OpenSSL");
    };
    same_key(ours, theirs);
    let rate = |elapsed: Duration| f64::from(ITERATIONS) / elapsed.as_secs_f64() / 1e6;
    Case::new(format!("PBKDF2-{name}, 64-byte key"), Unit::Iterations, 9)
        .with("keyway", move || rate(timed(ours)))
        .with("OpenSSL (Debian)", move || rate(timed(theirs)))
        .wanting(Goal::RatioAtLeast(1.0))
}

/// Four passes; all processors, as cryptsetup takes them.
fn argon2_case(title: &str, memory_kib: u32, lanes: u32, rounds: usize) -> Case {
    let threads = available_parallelism().map_or(1, usize::from);
    let cost = Argon2Cost { time: 4, memory_kib, lanes };
    let ours = move |key: &mut [u8]| {
        argon2(Argon2Variant::Argon2id, cost, PASSWORD, SALT, key, threads, &Stop::new())
            .expect("enough memory");
    };
    let theirs = move |key: &mut [u8]| libargon2_id(cost.time, memory_kib, lanes, PASSWORD, SALT, key);
    if memory_kib < 1 << 20 {
        same_key(ours, theirs);
    }
    Case::new(format!("Argon2id, 4 passes, {title}"), Unit::Milliseconds, rounds)
        .with("keyway", move || timed(ours).as_secs_f64() * 1e3)
        .with("libargon2 (Debian)", move || timed(theirs).as_secs_f64() * 1e3)
        .wanting(Goal::RatioAtMost(1.0))
}

fn timed(derive: impl Fn(&mut [u8])) -> Duration {
    let mut key = [0; 64];
    let started = Instant::now();
    derive(&mut key);
    assert_ne!(std::hint::black_box(key), [0; 64]);
    started.elapsed()
}

fn same_key(ours: impl Fn(&mut [u8]), theirs: impl Fn(&mut [u8])) {
    let (mut a, mut b) = ([0; 64], [0; 64]);
    ours(&mut a);
    theirs(&mut b);
    assert_eq!(a, b, "the contestants disagree");
}

const PASSWORD: &[u8] = b"correct horse battery staple";
const SALT: &[u8] = b"thirty-two bytes of salt, always";
const ITERATIONS: u32 = 400_000;
