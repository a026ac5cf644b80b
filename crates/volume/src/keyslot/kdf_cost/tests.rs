//! Costs that are given, and those that are measured: floors, ceilings and memory.

use super::calibration::{Limits, argon2_cost, scaled};
use super::speed::{Speed, Took};
use super::*;
use keyway_crypto::kdf::speed;

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
    assert!(argon2(0, 1, Cost::default()).check().is_err());
    assert!(argon2(32, 0, Cost::default()).check().is_err());
}

fn memory(available_kib: u64, has_swap: bool, left_kib: Option<u64>) -> Memory {
    Memory { total_kib: 8 << 20, available_kib, has_swap, left_kib }
}

#[test]
fn what_is_sensible_leaves_room() {
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
fn memory_that_is_not_there_is_refused() {
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
    let within = |cost, factor, most_kib| scaled(cost, factor, Limits { least_kib: 32, most_kib, lanes: 2 });
    assert_eq!(within(cost, 10.0, 1 << 20), Argon2Cost { memory_kib: 10_000, ..cost });
    assert_eq!(within(cost, 10.0, 5000), Argon2Cost { time: 8, memory_kib: 5000, lanes: 2 });
    let slow = Argon2Cost { time: 8, memory_kib: 5000, lanes: 2 };
    assert_eq!(within(slow, 0.25, 5000), Argon2Cost { time: 4, memory_kib: 2500, lanes: 2 });
    assert_eq!(within(cost, 0.001, 5000).memory_kib, 32);
}

/// A machine that derives keys of one block at one rate, computes two blocks in the time of one, and
/// a GiB-pass of Argon2 a second in each thread.
struct Machine;

const RATE: f64 = 1_000_000.0;

impl Speed for Machine {
    fn pbkdf2(&mut self, _: Hash, _: usize) -> Result<f64> {
        Ok(RATE)
    }

    fn argon2(&mut self, _: Argon2Variant, cost: Argon2Cost) -> Result<Took> {
        let in_one_thread = f64::from(cost.time) * f64::from(cost.memory_kib) / f64::from(1 << 20);
        Ok(Took { here: in_one_thread / f64::from(cost.lanes), in_one_thread })
    }
}

fn opener(name: &str) -> Opener {
    Opener::find(name).unwrap()
}

/// Iterations for two seconds and a key of 64 bytes: two blocks of SHA-256, one of SHA-512.
fn two_seconds(hash: &str, of: &str) -> (f64, Vec<Option<f64>>) {
    let (mut machine, time) = (Machine, Duration::from_secs(2));
    let choice = KdfChoice::Pbkdf2 { hash: hash.into(), cost: Cost::Time(time, opener(of)) };
    choice.check().unwrap();
    let found = Calibrated::new(&choice, 64, time, opener(of), &mut machine).unwrap();
    let SettledKdf::Pbkdf2 { iterations, .. } = found.kdf else { panic!("{:?}", found.kdf) };
    let told = ["keyway", "cryptsetup", "grub-2.12"].map(|name| found.seconds(opener(name)));
    (iterations.into(), told.to_vec())
}

#[test]
fn the_time_holds_for_who_opens() {
    let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-5;
    let of = |speed: &speed::KdfSpeed, hash| speed.pbkdf2(hash).unwrap();
    let cryptsetup = of(&speed::CRYPTSETUP, Hash::Sha256);
    let (iterations, told) = two_seconds("sha256", "cryptsetup");
    assert!(near(iterations, 2.0 * RATE * cryptsetup / 2.0), "two blocks, one after the other: {iterations}");
    let grub = iterations * 2.0 / RATE / of(&speed::GRUB_2_12, Hash::Sha256);
    for (told, seconds) in told.into_iter().zip([iterations / RATE, 2.0, grub]) {
        assert!(near(told.unwrap(), seconds), "{told:?} {seconds}");
    }
    assert!(near(two_seconds("sha256", "keyway").0, 2.0 * RATE));
    assert!(near(two_seconds("sha512", "grub-2.12").0, 2.0 * RATE * 0.17 / speed::FIRMWARE));
    assert!(near(two_seconds("sha256", "pi4").0, 233_224.0));
    assert_eq!(two_seconds("sha256", "linux"), two_seconds("sha256", "cryptsetup"), "the slower one");
    let (sha3, told) = two_seconds("sha3-256", "cryptsetup");
    assert!(near(told[1].unwrap(), 2.0) && told[2].is_none() && sha3 > 1000.0, "GRUB lacks it: {told:?}");
}

#[test]
fn argon2s_time_holds_for_who_opens() {
    let limits = Limits { least_kib: 32, most_kib: 1 << 20, lanes: 2 };
    let found = |name: &str| {
        let (cost, took) =
            argon2_cost(Argon2Variant::Argon2id, limits, Duration::from_secs(2), opener(name), &mut Machine)?;
        let seconds = opener(name).argon2(cost, took).unwrap();
        assert!((1.9..=2.2).contains(&seconds), "{name}: {cost:?} take {seconds}");
        Ok::<_, Error>((cost.memory_kib, took.here))
    };
    let of_cryptsetup = |kib: u32| speed::CRYPTSETUP.argon2(kib.into()).unwrap();
    let near = |took: f64, here: f64| assert!((0.94..=1.11).contains(&(took / here)), "{took} {here}");
    near(found("keyway").unwrap().1, 2.0);
    near(found("grub-2.14").unwrap().1, 0.36 / speed::FIRMWARE);
    let (memory_kib, took) = found("cryptsetup").unwrap();
    let seconds = took / of_cryptsetup(memory_kib);
    assert!((1.95..=2.05).contains(&seconds), "the last step is a small one: {seconds}");
    assert!((0.4..0.53).contains(&of_cryptsetup(memory_kib)), "{memory_kib} KiB");
    found("pi4").unwrap();
    assert!(found("grub-2.12").is_err(), "it has no Argon2");
}

#[test]
fn who_cannot_derive_it_is_refused_before_anything_is_measured() {
    let asked = |hash: &str, name| {
        let cost = Cost::Time(DEFAULT_TIME, opener(name));
        KdfChoice::Pbkdf2 { hash: hash.into(), cost }.check().map_err(|error| error.to_string())
    };
    assert!(asked("sha3-256", "cryptsetup").is_ok() && asked("sha512", "grub-2.06").is_ok());
    let why = asked("sha3-256", "grub-2.12").unwrap_err();
    assert_eq!(why, "PBKDF2 with sha3-256 is missing in GRUB 2.12, or was never timed.");
    let argon2 = argon2(1024, 1, Cost::Time(DEFAULT_TIME, opener("grub-2.12"))).check().unwrap_err();
    assert!(argon2.to_string().contains("Argon2 is missing in GRUB 2.12"), "{argon2}");
}

#[test]
fn openers_are_found_by_their_names() {
    let (others, own): (Vec<_>, Vec<_>) =
        Opener::names().partition(|name| speed::KdfSpeed::others().any(|it| it == *name));
    assert!(own.iter().all(|name| opener(name).name() == *name) && Opener::find("abacus").is_none());
    // Those have the speed of a release.
    assert!(others.contains(&"grub-fedora"));
    assert!(others.iter().all(|name| own.contains(&opener(name).name()) && opener(name).name() != *name));
}

#[test]
fn forced_costs_settle_as_given() {
    let settled = argon2(64, 4, Cost::Forced(5)).settle(64).unwrap();
    let cost = Argon2Cost { time: 5, memory_kib: 64, lanes: 4 };
    assert_eq!(settled, SettledKdf::Argon2 { variant: Argon2Variant::Argon2id, cost });
}
