//! Advice on volumes at random, and on each kind that went wrong.

use super::*;
use crate::unlock_time::{Argon2Rates, Board, Place};
use keyway_crypto::kdf::speed;

fn slot(number: u64, iterations: u64) -> Candidate {
    Candidate {
        number,
        derive: Work::pbkdf2("sha512", iterations, 64),
        digest: Work::pbkdf2("sha256", 1000, 32),
        key_len: 64,
        standing: Standing::Opens,
    }
}

fn rates() -> Rates {
    let exact = |hash: &str, rate| (hash.to_owned(), Interval::exact(rate));
    Rates { pbkdf2: vec![exact("sha512", 100_000.0), exact("sha256", 200_000.0)], ..Rates::default() }
}

fn goal(rates: &Rates, within: f64) -> Goal<'_> {
    Goal { rates, within, wanted: None, format: 2, memory_kib: None }
}

fn impossible(advice: &Advice) -> &str {
    let Advice::Impossible { because } = advice else { panic!("{advice:?}") };
    because
}

#[test]
fn what_is_quick_enough_stays() {
    let (slots, rates) = ([slot(0, 200_000), slot(1, 10_000)], rates());
    let four = goal(&rates, 4.0);
    let Advice::Nothing { slot: 0, seconds } = advise(&slots, &four) else { panic!() };
    assert!((2.0..2.01).contains(&seconds.likely));
    let Advice::Nothing { slot: 1, seconds } = advise(&slots, &Goal { wanted: Some(1), ..four }) else {
        panic!()
    };
    assert!((2.1..2.12).contains(&seconds.likely));
}

#[test]
fn a_new_cost_fits_the_time_and_every_slow_keyslot_is_named() {
    let (slots, rates) = ([slot(0, 2_612_730), slot(1, 2_612_730)], rates());
    let four = goal(&rates, 4.0);
    let Advice::Change(Change { slot: 0, cost, seconds, skip, .. }) = advise(&slots, &four) else { panic!() };
    let Some(Work::Pbkdf2 { iterations, .. }) = cost else { panic!("{cost:?}") };
    assert!((350_000..=360_000).contains(&iterations) && seconds.likely <= 4.0 && skip.is_empty());
    let slow: Vec<u64> = too_slow(&slots, &four).into_iter().map(|(number, _)| number).collect();
    assert_eq!(slow, [0, 1]);
}

#[test]
fn what_is_tried_before_is_skipped_or_in_the_way() {
    let (slots, rates) = ([slot(0, 2_612_730), slot(1, 2_612_730)], rates());
    let second = Goal { wanted: Some(1), ..goal(&rates, 4.0) };
    let advice = advise(&slots, &second);
    assert!(matches!(&advice, Advice::Change(Change { slot: 1, skip, .. }) if *skip == [0]), "{advice:?}");
    let old = advise(&slots, &Goal { format: 1, ..second });
    assert!(impossible(&old).contains("26.1 s"), "{old:?}");
    let gone = advise(&slots, &Goal { wanted: Some(9), ..second });
    assert!(impossible(&gone).contains("no such keyslot"));
    let nothing_known = Rates::default();
    impossible(&advise(&[slot(0, 1)], &goal(&nothing_known, 1.0)));
}

/// A keyslot that cannot open is not made cheaper, and one that opens is not skipped for it.
#[test]
fn the_last_working_keyslot_is_not_advised_away() {
    let (mut slots, rates) = ([slot(0, 300_000), slot(1, 2_612_730)], rates());
    let second = Goal { wanted: Some(1), ..goal(&rates, 4.0) };
    let Advice::Change(Change { skip, .. }) = advise(&slots, &second) else { panic!() };
    assert_eq!(skip, [] as [u64; 0], "keyslot 0 opens in time");
    slots[1].standing = Standing::InVain;
    assert!(impossible(&advise(&slots, &second)).contains("whatever its key derivation"));
    slots[0].standing = Standing::NotTried;
    assert!(impossible(&advise(&slots, &goal(&rates, 4.0))).contains("no keyslot opens"));
}

#[test]
fn a_slow_digest_is_named() {
    let (mut slots, rates) = ([slot(0, 200_000)], rates());
    slots[0].digest = Work::pbkdf2("sha256", 190_000, 32);
    let advice = advise(&slots, &goal(&rates, 1.0));
    let because = impossible(&advice);
    assert!(because.contains("digest") && because.contains("190000 iterations of sha256"), "{because}");
    assert!(!because.contains("1000 iterations,"), "{because}");
}

#[test]
fn argon2_becomes_cheaper_before_it_becomes_pbkdf2() {
    let argon2 = |memory_kib| Work::Argon2 { time: 4, memory_kib, lanes: 4 };
    let slots = [Candidate { derive: argon2(1 << 20), ..slot(0, 0) }];
    let rates = Rates { argon2: Argon2Rates::of_any(Interval::exact((1 << 21) as f64)), ..rates() };
    let Advice::Change(change) = advise(&slots, &goal(&rates, 0.5)) else { panic!() };
    let Some(Work::Argon2 { time: 4, memory_kib, .. }) = change.cost else { panic!("{change:?}") };
    assert!((200 << 10..240 << 10).contains(&memory_kib) && change.cheap().is_none());
    // Memory that the target does not have.
    let small = Goal { memory_kib: Some(64 << 10), ..goal(&rates, 0.5) };
    let Advice::Change(change) = advise(&slots, &small) else { panic!() };
    assert!(matches!(change.cost, Some(Work::Argon2 { memory_kib: 65536, .. })), "{change:?}");
    // Where it would be cheap to guess, and so would PBKDF2, that is said.
    let slow = Rates { argon2: Argon2Rates::of_any(Interval::exact(40_000.0)), ..rates };
    let Advice::Change(change) = advise(&slots, &goal(&slow, 0.5)) else { panic!() };
    assert!(change.cheap().is_some(), "{change:?}");
}

/// With the margin there would be 209,000: so near, the margin goes first.
#[test]
fn what_is_recommended_is_taken_where_only_the_margin_is_missing() {
    let rates = rates();
    for (within, expected) in [(2.34, 210_000), (2.2, 210_000), (3.0, 269_000)] {
        let Advice::Change(change) = advise(&[slot(0, 2_612_730)], &goal(&rates, within)) else { panic!() };
        let Some(Work::Pbkdf2 { iterations, .. }) = change.cost else { panic!("{change:?}") };
        assert_eq!((iterations, change.cheap()), (expected, None), "{within}");
        assert!(change.seconds.likely <= within && change.at_least(&rates).is_none());
    }
    let Advice::Change(change) = advise(&[slot(0, 2_612_730)], &goal(&rates, 2.1)) else { panic!() };
    assert!(change.cheap().is_some());
    let needed = change.at_least(&rates).unwrap().likely;
    assert!((2.1..2.11).contains(&needed), "{needed}");
    // A keyslot is never made slower for it.
    let Advice::Change(change) =
        advise(&[slot(0, 2_612_730), slot(1, 150_000)], &Goal { wanted: Some(1), ..goal(&rates, 1.2) })
    else {
        panic!()
    };
    assert!(matches!(change.cost, Some(Work::Pbkdf2 { iterations: ..150_000, .. })), "{change:?}");
}

/// In 0.2 s there would be 50,000 iterations, for a volume that had Argon2 over 1 GiB.
#[test]
fn argon2_never_becomes_pbkdf2_that_is_cheap_to_guess() {
    let derive = Work::Argon2 { time: 4, memory_kib: 1 << 20, lanes: 4 };
    let slots = [Candidate { derive, standing: Standing::OpensWithAnotherKdf, ..slot(0, 0) }];
    let rates = rates();
    let advice = advise(&slots, &goal(&rates, 1.0));
    let because = impossible(&advice);
    for part in ["89000 iterations of PBKDF2", "cheap to guess", "210000 are recommended, and take 2.1 s"] {
        assert!(because.contains(part), "{because}");
    }
    let Advice::Change(change) = advise(&slots, &goal(&rates, 4.0)) else { panic!() };
    assert!(matches!(change.cost, Some(Work::Pbkdf2 { .. })) && change.cheap().is_none(), "{change:?}");
}

/// Numbers that are the same in each run (Knuth's MMIX).
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Of any magnitude below 2^bits.
    fn wide(&mut self, bits: u64) -> u64 {
        let limit = 1 << self.below(bits);
        self.below(limit)
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    fn rates(&mut self) -> Rates {
        let speed = 10f64.powf(4.0 + self.below(300) as f64 / 100.0);
        let around = |rate: f64| Interval::exact(rate).widened(0.8, 1.3);
        let mut here = Rates {
            pbkdf2: ["sha1", "sha256", "sha512"].map(|hash| (hash.to_owned(), around(speed))).to_vec(),
            argon2: Argon2Rates::of_any(around(speed * 2.0)),
            each_slot: Interval::exact(0.01).widened(0.5, 3.0),
            ..Rates::default()
        };
        match self.below(5) {
            0 => Board::find("pi4").unwrap().rates(),
            1 => here.of_cryptsetup(),
            2 => here.of_grub(&speed::GRUB_2_06, Place::Firmware),
            3 => here.of_grub(&speed::GRUB_2_14, Place::Firmware),
            _ => {
                if self.below(3) == 0 {
                    here.argon2 = Argon2Rates::default();
                }
                here
            }
        }
    }

    fn candidate(&mut self, number: u64, format: u8, digest: &Work, rates: &Rates) -> Candidate {
        let iterations = 1000 + self.wide(24);
        let hash = self.one_of(&["sha1", "sha256", "sha512"]);
        let derive = match self.below(3) {
            0 if format == 2 => Work::Argon2 {
                time: 4 + self.below(8),
                memory_kib: 32 + self.wide(22),
                lanes: 1 + self.below(4),
            },
            _ => Work::pbkdf2(hash, iterations, 64),
        };
        let standing = match self.below(8) {
            0 => Standing::InVain,
            1 => Standing::NotTried,
            _ if rates.seconds(&derive).is_none() => Standing::OpensWithAnotherKdf,
            _ => Standing::Opens,
        };
        Candidate { number, derive, digest: digest.clone(), key_len: 64, standing }
    }
}

/// Volumes, targets and limits at random: each change, made on the model, meets the limit as told;
/// no keyslot that stays gets slower without being named; none that opened in time is lost; and what is cheap to guess
/// is so because no other cost would meet the limit.
#[test]
fn no_advice_makes_anything_worse_than_it_says() {
    let (mut seeded, mut changes, mut skips, mut cheap, mut weaker) = (Seeded(16), 0, 0, 0, 0);
    for case in 0..20_000 {
        let (rates, format) = (seeded.rates(), 1 + seeded.below(2) as u8);
        let digest = Work::pbkdf2("sha256", 1000 + seeded.wide(20), 32);
        let count = 1 + seeded.below(4);
        let slots: Vec<Candidate> =
            (0..count).map(|number| seeded.candidate(number, format, &digest, &rates)).collect();
        let within = 0.05 * 10f64.powf(seeded.below(300) as f64 / 100.0);
        let wanted = Some(seeded.below(count + 2)).filter(|number| *number < count);
        let memory_kib = Some(seeded.one_of(&[1 << 16, 3 << 18, 1 << 24]));
        let goal = Goal { rates: &rates, within, wanted, format, memory_kib };
        let told = format!("case {case}: {slots:?}, {goal:?}");
        let Advice::Change(change) = advise(&slots, &goal) else { continue };
        changes += 1;
        skips += change.skip.len();
        let after = change.applied(&slots);
        let now: Vec<(u64, Interval)> = of(&slots, &rates);
        let then: Vec<(u64, Interval)> = of(&after, &rates);
        let (_, seconds) = then.iter().find(|(number, _)| *number == change.slot).expect(&told);
        assert!(seconds.likely <= within && close(*seconds, change.seconds), "{change:?}, {told}");
        for (number, before) in now {
            match then.iter().find(|(slot, _)| *slot == number) {
                Some((_, after)) if after.likely > before.likely * 1.000_001 => {
                    let said = change.later.iter().find(|(slot, _)| *slot == number);
                    assert!(said.is_some_and(|(_, said)| close(*said, *after)), "{change:?}, {told}");
                }
                Some(_) => {}
                None => assert!(change.skip.contains(&number) && before.low > within, "{change:?}, {told}"),
            }
        }
        let own = &slots.iter().find(|slot| slot.number == change.slot).unwrap().derive;
        match (own, &change.cost) {
            (_, None) => assert!(!change.skip.is_empty(), "{told}"),
            (
                Work::Argon2 { time, memory_kib: own, .. },
                Some(Work::Argon2 { time: t, memory_kib: m, .. }),
            ) => {
                assert!(t <= time && m <= own && Some(*m) <= memory_kib, "{change:?}, {told}");
            }
            (Work::Pbkdf2 { .. }, Some(Work::Argon2 { .. }))
            | (Work::Stretching { .. }, Some(_))
            | (_, Some(Work::Stretching { .. })) => panic!("{change:?}, {told}"),
            (Work::Pbkdf2 { hash, iterations, .. }, Some(Work::Pbkdf2 { hash: h, iterations: i, .. })) => {
                assert!(h != hash || i <= iterations, "{change:?}, {told}");
            }
            (Work::Argon2 { .. }, Some(Work::Pbkdf2 { .. })) => {
                weaker += 1;
                assert!(change.cheap().is_none(), "{change:?}, {told}");
            }
        }
        if let Some(Work::Pbkdf2 { hash, iterations, blocks }) = &change.cost
            && let Some(Least::Iterations(least)) = change.cheap()
        {
            cheap += 1;
            // What is recommended would have taken too long, or is more than the keyslot had.
            let had = matches!(own, Work::Pbkdf2 { hash: own, iterations, .. } if own == hash && *iterations < least.into());
            let more = Work::Pbkdf2 {
                hash: hash.clone(),
                iterations: u64::from(least) - iterations,
                blocks: *blocks,
            };
            let more = change.seconds.likely + rates.seconds(&more).expect(&told).likely;
            assert!(had || more > within * 0.85, "{change:?}, {told}");
        }
    }
    println!(
        "{changes} changes, {skips} keyslots skipped, {cheap} cheap to guess, {weaker} PBKDF2 for Argon2"
    );
    assert!(
        changes > 2000 && skips > 100 && cheap > 100 && weaker > 100,
        "{changes} {skips} {cheap} {weaker}"
    );
}

fn of(slots: &[Candidate], rates: &Rates) -> Vec<(u64, Interval)> {
    in_turn(slots, rates).map(|(slot, seconds)| (slot.number, seconds)).collect()
}

fn close(one: Interval, other: Interval) -> bool {
    [(one.low, other.low), (one.likely, other.likely), (one.high, other.high)]
        .iter()
        .all(|(one, other)| (one - other).abs() < 1e-6 * (1.0 + one))
}
