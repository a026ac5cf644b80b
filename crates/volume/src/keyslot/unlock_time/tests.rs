//! Times follow costs, and samples stay within what they may take.

use super::*;

/// A header asks for any amount of memory; a sample takes what the caller allows.
#[test]
fn a_sample_takes_no_more_memory_than_it_may() {
    let sample = |most: u32| {
        let times = UnlockTimes::new(2).within(most);
        times.argon2_sample(Argon2Variant::Argon2id, u32::MAX, 2).unwrap().kib
    };
    assert_eq!(sample(16 << 10), 16 << 10);
    assert!(sample(64 << 10) <= 64 << 10);
    let exact = Interval::exact(1.0);
    assert_eq!(reaching(exact, 16 << 10, 16 << 10), exact);
    assert_eq!(reaching(exact, 16 << 10, (16 << 10) + 1), Interval { high: BEYOND, ..exact });
}

#[test]
fn times_grow_with_the_cost_and_each_kind_is_measured_once() {
    let mut times = UnlockTimes::new(2);
    let pbkdf2 = |iterations| Kdf::Pbkdf2 { hash: "sha256".into(), iterations, salt: vec![0; 32] };
    let one = times.of_kdf(&pbkdf2(1_000_000), 64).unwrap();
    let ten = times.of_kdf(&pbkdf2(10_000_000), 64).unwrap();
    let ratio = ten.likely / one.likely;
    assert!((9.99..10.01).contains(&ratio), "{ratio}");
    assert_eq!(times.pbkdf2.len(), 1);

    // Long keys are extrapolated from eight blocks.
    let eight = times.of_kdf(&pbkdf2(1_000_000), 8 * 32).unwrap();
    let million = times.of_kdf(&pbkdf2(1_000_000), 8_000_000 * 32).unwrap();
    let ratio = million.likely / eight.likely;
    assert!((999_999.0..1_000_001.0).contains(&ratio), "{ratio}");
    assert_eq!(times.pbkdf2.len(), 2);

    let argon2 = |time| Kdf::Argon2id { time, memory_kib: 65536, lanes: 2, salt: vec![0; 32] };
    let four = times.of_kdf(&argon2(4), 64).unwrap();
    let eight = times.of_kdf(&argon2(8), 64).unwrap();
    let ratio = eight.likely / four.likely;
    assert!((1.0..2.01).contains(&ratio), "{ratio}");
    assert_eq!(times.argon2.len(), 1);
    assert!(times.of_kdf(&Kdf::Pbkdf2 { hash: "no".into(), iterations: 1, salt: vec![] }, 64).is_err());
}
