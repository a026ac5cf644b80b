//! Real measurements, for a short time.

use super::*;
use crate::clock::Machine;
use crate::prepare;
use crate::results::{By, Case, CipherCase, Direction, KdfCase, Settings, Unit};
use crate::rounds;

fn cipher(spec: &str, key_bits: u32, threads: u32, direction: Direction) -> Case {
    Case::Cipher(CipherCase { direction, threads, ..CipherCase::new(spec, key_bits, 512) })
}

fn short() -> Settings {
    Settings { sample_seconds: 0.000_2, ..rounds::settings(Some(0.1), 1, 0.0) }
}

#[test]
fn ciphers_are_measured_and_found_right() {
    let clock = Machine::start();
    for (spec, bits) in [
        ("aes-xts-plain64", 512),
        ("serpent-cbc-essiv:sha256", 256),
        ("des-ecb", 64),
        ("twofish-aes-xts-plain64", 1024),
        ("twofish-aes-lrw-benbi", 768),
        ("serpent-blowfish_le-aes-cbc-tcrypt", 1216),
    ] {
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            for threads in [1, 2] {
                let case = cipher(spec, bits, threads, direction);
                let mut subject = prepare(&case, &short(), &clock, f64::INFINITY).unwrap();
                for _ in 0..3 {
                    let sample = (subject.sample)(&clock).unwrap();
                    assert!(sample.value > 1e5 && sample.seconds > 0.0, "{spec}: {sample:?}");
                }
                assert_eq!(subject.unit, Unit::BytesPerSecond);
            }
        }
    }
}

#[test]
fn a_run_is_one_call_of_many_sectors() {
    let clock = Machine::start();
    let Case::Cipher(case) = cipher("aes-xts-plain64", 512, 1, Direction::Decrypt) else { panic!() };
    for message in [1024, 65_536, 131_072] {
        let case = Case::Cipher(CipherCase { message, ..case.clone() });
        (prepare(&case, &short(), &clock, f64::INFINITY).unwrap().sample)(&clock).unwrap();
    }
    let odd = prepare(&Case::Cipher(CipherCase { message: 700, ..case }), &short(), &clock, f64::INFINITY);
    assert!(matches!(odd.err(), Some(Outcome::NotMeasured { .. })));
}

#[test]
fn derivations_are_measured_and_found_right() {
    let clock = Machine::start();
    let kdf = |kdf: &str, hash: Option<&str>, lanes, iter_time_ms| {
        Case::Kdf(KdfCase {
            hash: hash.map(str::to_owned),
            memory_kib: hash.is_none().then_some(64),
            iter_time_ms,
            ..KdfCase::new(kdf, lanes)
        })
    };
    for (case, unit) in [
        (kdf("pbkdf2", Some("sha256"), 1, None), Unit::IterationsPerSecond),
        (kdf("pbkdf2", Some("sha512"), 2, None), Unit::IterationsPerSecond),
        (kdf("argon2i", None, 1, None), Unit::PassesPerSecond),
        (kdf("argon2id", None, 4, Some(10)), Unit::Cost),
    ] {
        let mut subject = prepare(&case, &short(), &clock, f64::INFINITY).unwrap();
        assert!((subject.sample)(&clock).unwrap().value >= 1.0);
        assert_eq!(subject.unit, unit);
    }
    let none = prepare(&kdf("pbkdf2", Some("sha3-256"), 2, None), &short(), &clock, f64::INFINITY);
    assert!(matches!(none.err(), Some(Outcome::NotMeasured { .. })));
    let impossible = prepare(&kdf("argon2i", None, 1000, None), &short(), &clock, f64::INFINITY);
    assert!(matches!(impossible.err(), Some(Outcome::Impossible { .. })));
}

/// If AF_ALG is available, its output is right; if not, the row names the missing module or
/// permission.
#[test]
fn the_kernels_ciphers_are_measured_or_say_what_is_missing() {
    let clock = Machine::start();
    let Case::Cipher(case) = cipher("aes-cbc-essiv:sha256", 256, 2, Direction::Encrypt) else { panic!() };
    let kernel = |spec: &str, key_bits, message| {
        let case = CipherCase { by: By::Kernel(None), spec: spec.into(), key_bits, message, ..case.clone() };
        prepare(&Case::Cipher(case), &short(), &clock, f64::INFINITY)
    };
    for (spec, bits, message) in
        [("aes-cbc-essiv:sha256", 256, 512), ("aes-xts-plain64", 512, 4096), ("aes-ecb", 128, 512)]
    {
        match kernel(spec, bits, message) {
            Ok(mut subject) => {
                assert!((subject.sample)(&clock).unwrap().value > 1e4);
                assert!(subject.code.unwrap().contains("aes"));
            }
            Err(Outcome::NotMeasured { reason, .. }) => {
                assert!(reason.contains("af_alg") || reason.contains("AF_ALG"), "{reason}");
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    for (spec, bits) in [("aes:64-cbc-lmk", 8192), ("aes-cbc-tcw", 512), ("aes-cbc-elephant", 512)] {
        let Err(Outcome::NotMeasured { reason, .. }) = kernel(spec, bits, 512) else { panic!("{spec}") };
        assert_eq!(reason, "the kernel's cbc(aes) is only a part of it; dm-crypt does the rest");
    }
    let Err(Outcome::NotMeasured { reason, .. }) = kernel("twofish-aes-xts-plain64", 1024, 512) else {
        panic!()
    };
    assert_eq!(reason, "dm-crypt has no chains of ciphers: it stacks a mapping for each");
}
