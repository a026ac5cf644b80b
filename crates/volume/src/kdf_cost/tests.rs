//! Costs that are given, and those that are measured: floors, ceilings and memory.

use super::*;

fn argon2(memory_kib: u32, lanes: u32, cost: Cost) -> KdfChoice {
    KdfChoice::Argon2 { variant: Argon2Variant::Argon2id, memory_kib, lanes, cost }
}

#[test]
fn forced_costs_have_floors_and_ceilings() {
    let pbkdf2 = |n| KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(n) };
    assert!(pbkdf2(1000).check().is_ok());
    assert_eq!(
        pbkdf2(999).check().unwrap_err().to_string(),
        "Forced iteration count is too low for pbkdf2 (minimum is 1000)."
    );
    assert!(argon2(32, 1, Cost::Forced(4)).check().is_ok());
    assert!(argon2(32, 1, Cost::Forced(3)).check().is_err());
    assert!(argon2(31, 1, Cost::Forced(4)).check().is_err());
    assert!(argon2(16, 4, Cost::Forced(4)).check().is_err());
    assert_eq!(
        argon2(64, 5, Cost::Forced(4)).check().unwrap_err().to_string(),
        "Requested maximum PBKDF parallel cost is too high (maximum is 4)."
    );
    assert!(argon2(4 * 1024 * 1024 + 1, 1, Cost::Forced(4)).check().is_err());
    assert!(argon2(0, 1, Cost::Time(DEFAULT_TIME)).check().is_err());
    assert!(argon2(32, 0, Cost::Time(DEFAULT_TIME)).check().is_err());
}

fn memory(available_kib: u64, has_swap: bool, left_kib: Option<u64>) -> Memory {
    Memory { total_kib: 8 << 20, available_kib, has_swap, left_kib }
}

#[test]
fn b23_what_is_sensible_leaves_room() {
    let kib = |available, has_swap, left| sensible_memory_kib(&memory(available, has_swap, left));
    assert_eq!(kib(7 << 20, true, None), 4 << 20);
    assert_eq!(kib(1 << 20, true, None), 4 << 20, "the rest is swapped out");
    assert_eq!(kib(1 << 20, false, None), 512 << 10);
    // As in cryptsetup: with very little available memory, the available amount is ignored. A
    // control group would kill such a process.
    assert_eq!((kib(128 << 10, false, None), kib((128 << 10) + 2, false, None)), (4 << 20, (64 << 10) + 1));
    for has_swap in [true, false] {
        assert_eq!(kib(100 << 10, has_swap, Some(100 << 10)), 50 << 10);
        assert_eq!(kib(400 << 10, has_swap, Some(400 << 10)), 200 << 10);
    }
}

#[test]
fn b23_memory_that_is_not_there_is_refused() {
    let fits = |kib, memory| check_there_is(kib, Some(memory));
    fits(1024, memory(1024, false, None)).unwrap();
    fits(1025, memory(1024, true, None)).unwrap();
    fits(1024, memory(1024, true, Some(1024))).unwrap();
    check_there_is(u32::MAX, None).unwrap();
    for there in [memory(1024, false, None), memory(1024, true, Some(1024))] {
        let error = fits(1025, there).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Argon2 needs 1025 KiB of memory, and 1024 KiB are left to this process"
        );
    }
}

#[test]
fn memory_grows_before_passes() {
    let cost = Argon2Cost { time: 4, memory_kib: 1000, lanes: 2 };
    assert_eq!(scaled(cost, 10.0, 32, 1 << 20), Argon2Cost { memory_kib: 10_000, ..cost });
    assert_eq!(scaled(cost, 10.0, 32, 5000), Argon2Cost { time: 8, memory_kib: 5000, lanes: 2 });
    let slow = Argon2Cost { time: 8, memory_kib: 5000, lanes: 2 };
    assert_eq!(scaled(slow, 0.25, 32, 5000), Argon2Cost { time: 4, memory_kib: 2500, lanes: 2 });
    assert_eq!(scaled(cost, 0.001, 32, 5000).memory_kib, 32);
}

#[test]
fn forced_costs_settle_as_given() {
    let settled = argon2(64, 4, Cost::Forced(5)).settle(64).unwrap();
    let cost = Argon2Cost { time: 5, memory_kib: 64, lanes: 4 };
    assert_eq!(settled, SettledKdf::Argon2 { variant: Argon2Variant::Argon2id, cost });
}
