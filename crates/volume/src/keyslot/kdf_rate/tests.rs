//! Rates are made of CPU time, whatever the clock says.

use super::*;
use std::thread;

/// While this thread computes nothing, its clock of CPU time stands: the rest of the time went to
/// nobody, or to other programs.
#[test]
fn what_others_take_is_not_counted() {
    let watch = Watch::start(ClockId::ThreadCPUTime, 1.0);
    thread::sleep(Duration::from_millis(200));
    let taken = watch.taken();
    assert!(taken.passed >= 0.2 && taken.computed < taken.passed / 2.0);
}

#[test]
fn a_rate_is_the_best_of_samples() {
    let taken = |computed| Taken { computed, passed: 10.0 };
    let taken = [0.034, 0.030, 0.031, 0.090, 0.015].map(taken).to_vec();
    assert_eq!(Samples { cost: 3000.0, taken }.rate().round(), 100_000.0);
}

/// An emulated machine said so twice, and a keyslot was to have billions of iterations.
#[test]
fn work_that_took_nothing_is_no_sample() {
    let taken = |computed| Taken { computed, passed: 10.0 };
    let taken = [0.034, 1e-9, 0.030, 1e-9, 0.033, 0.0035, 0.031].map(taken).to_vec();
    assert_eq!(Samples { cost: 3000.0, taken }.rate().round(), 100_000.0);
    // All that there is.
    assert!(Samples { cost: 3000.0, taken: vec![Taken { computed: 0.03, passed: 0.1 }] }.rate() > 99_999.0);
}

/// Lanes share their time; a CPU clock that counts more than passed counts other threads.
#[test]
fn argon2_takes_its_lanes_share() {
    let cost = kdf::Argon2Cost { time: 2, memory_kib: 1024, lanes: 2 };
    let Took { here, in_one_thread } = took(kdf::Argon2Variant::Argon2id, cost).unwrap();
    assert!(0.0 < here && here <= in_one_thread && in_one_thread <= 2.0 * here, "{here} {in_one_thread}");
}
