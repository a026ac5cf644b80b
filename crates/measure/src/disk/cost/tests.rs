//! Costs of recorded and of made-up samples, and the sentences beside the figures.

use super::super::model::Whose;
use super::*;
use crate::results::DiskCase;
use crate::results::{Outcome, Pattern, Unit};
use keyway_kernel::Random;

const MIB: f64 = 1_048_576.0;

/// MiB/s of a USB disk's rounds while another program wrote to it: plain, and through Keyway.
const RECORDED: ([f64; 8], [f64; 8]) = (
    [131.0, 128.4, 40.2, 130.1, 133.0, 77.5, 129.9, 131.4],
    [77.3, 75.9, 24.1, 76.8, 78.0, 45.2, 76.6, 77.4],
);

fn case(by: By, mib: u64) -> Case {
    let keyed = by != By::Plain;
    Case::Disk(DiskCase {
        by,
        medium: "file".into(),
        spec: keyed.then(|| "aes-xts-plain64".into()),
        key_bits: keyed.then_some(512),
        sector_size: keyed.then_some(512),
        pattern: Pattern::SequentialRead,
        block: 1 << 20,
        depth: 1,
        total: Some(mib << 20),
        flags: Vec::new(),
        engine: "keyway".into(),
    })
}

fn row(by: By, mib: u64, samples: &[f64]) -> Row {
    let samples = samples.iter().map(|sample| sample * MIB).collect();
    let measured = Measured { unit: Unit::BytesPerSecond, samples, ..Measured::default() };
    Row::new(case(by, mib), Outcome::Measured(measured))
}

fn cost(plain: &[f64], encrypted: &[f64]) -> Cost {
    let rows = [row(By::Plain, 10, plain), row(By::Keyway, 10, encrypted)];
    assert_eq!(of_row(&rows, &rows[0]), None, "plain storage has no cost");
    of_row(&rows, &rows[1]).unwrap()
}

#[test]
fn what_disturbs_a_round_disturbs_both_and_the_cost_is_known_nevertheless() {
    let cost = cost(&RECORDED.0, &RECORDED.1);
    assert_eq!(cost.sentence("reading"), "encryption costs 41 % (40–42 %) of reading");
    assert_eq!(cost.cell(), "40–42 %");
}

/// 41 % lost, while the model expects 2 %: once concluded to be "the disk is the limit".
#[test]
fn a_cost_that_the_cipher_does_not_explain_is_not_the_disks() {
    let cost = cost(&RECORDED.0, &RECORDED.1);
    let model = |cipher: f64| Model {
        disk: 130.0 * MIB,
        cipher: cipher * MIB,
        whose: Whose::Keyway,
        measured: 77.0 * MIB,
    };
    let words = |cipher| cost.beside_model(&model(cipher)).unwrap();
    assert_eq!(
        words(6000.0),
        "first the disk, then Keyway's cipher at the 6000 MiB/s that it reached in memory, would cost 2.1 %: \
         something besides the cipher slows it down"
    );
    assert!(words(190.0).ends_with("would cost 40.6 %: the cipher alone explains it"), "{}", words(190.0));
    assert!(words(60.0).ends_with(
        "would cost 68.4 %: disk and cipher work at the same time, or the cipher uses more cores"
    ));
}

#[test]
fn without_an_interval_nothing_is_concluded() {
    let few = cost(&[100.0; 2], &[59.0, 61.0]);
    assert_eq!((few, few.cell()), (Cost::TooFew { rounds: 2 }, "2 of 3".into()));
    assert_eq!(
        few.sentence("writing 10 MiB"),
        "what encryption costs in writing 10 MiB is not known: 2 of the 3 rounds that an interval needs"
    );
    let model = Model { disk: 1.0, cipher: 1.0, whose: Whose::Kernel, measured: 1.0 };
    assert_eq!(few.beside_model(&model), None);
}

/// Three rounds say what they can: a wide interval, and noise where six would have told more.
#[test]
fn few_rounds_have_a_wide_interval() {
    let few = cost(&[100.0; 3], &[59.0, 60.0, 61.0]);
    assert_eq!(few.sentence("reading"), "encryption costs 40 % (38–42 %) of reading");
    let vague = cost(&[100.0; 3], &[90.0, 95.0, 98.0]);
    assert!(vague.is_noise(), "{vague:?}");
    assert_eq!(cost(&[100.0; 3], &[1.0, 9.0, 5.0]).cell(), "85–100 %");
    let same = [90.0, 95.0, 98.0].repeat(2);
    assert!(!cost(&[100.0; 6], &same).is_noise());
}

#[test]
fn noise_and_speed_are_called_what_they_are() {
    let plain = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0];
    let noise = cost(&plain, &[99.0, 103.0, 98.5, 101.0, 100.0, 99.0]);
    assert!(noise.is_noise());
    assert_eq!(noise.sentence("reading"), "no difference beyond noise in reading (-2.0 to 2.0 %)");
    let faster = cost(&plain, &plain.map(|speed| speed * 1.25));
    assert_eq!(
        faster.sentence("reading"),
        "encryption costs nothing of reading, which was even 25 % (25–25 %) faster than plain"
    );
}

#[test]
fn parts_of_a_long_run_are_no_rounds() {
    let long = |by: By, speeds: [f64; 6]| {
        let mut row = row(by, 10, &speeds);
        let Case::Disk(case) = &mut row.case else { unreachable!() };
        case.flags.push(SUSTAINED.into());
        row
    };
    let rows = [
        long(By::Plain, [100.0, 110.0, 90.0, 100.0, 104.0, 96.0]),
        long(By::Keyway, [50.0, 55.0, 45.0, 50.0, 52.0, 48.0]),
    ];
    let Some(Cost::Known { part, low, high }) = of_row(&rows, &rows[1]) else { panic!() };
    assert!((part - 0.5).abs() < 1e-9 && low < 0.4 && high > 0.58, "{part} {low} {high}");
}

#[test]
fn amounts_that_differ_are_told_apart() {
    let of = |mib: u64, cost: f64| (mib << 20, (0..7).map(|i| cost + f64::from(i) * 0.001).collect());
    let same = BySize(vec![of(10, 0.05), of(20, 0.052), of(50, 0.049)]);
    assert_eq!(
        same.sentence("reading").unwrap(),
        "encryption costs 5.3 % (5.1–5.6 %) of reading 10 to 50 MiB, 21 rounds"
    );
    let cached = BySize(vec![of(10, 0.40), of(20, 0.2), of(50, -0.003)]);
    assert_eq!(
        cached.sentence("reading").unwrap(),
        "encryption costs 40 % (40–41 %) of reading 10 MiB; no difference beyond noise in reading 50 MiB (-0.3 to 0.3 %)"
    );
    assert_eq!(cached.cost(), None);
}

/// Whatever the samples, a sentence says of the cost what each cell of the table can be read as.
#[test]
fn no_sentence_contradicts_its_table() {
    let mut random = Random::seeded(7);
    let mut next = |below: u64| {
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        u64::from_le_bytes(bytes) % below
    };
    for _ in 0..2000 {
        let (cost, noise) = (next(60) as f64 / 100.0, next(50) as f64 / 100.0);
        let depends = next(3) == 0;
        let sizes = (1..=1 + next(5)).map(|size| {
            let cost = if depends { cost / size as f64 } else { cost };
            let one = |next: &mut dyn FnMut(u64) -> u64| cost + noise * (next(1000) as f64 / 1000.0 - 0.5);
            (size << 20, (0..next(12)).map(|_| one(&mut next)).collect::<Vec<f64>>())
        });
        let by_size = BySize(sizes.collect());
        let cells: Vec<Cost> = by_size.0.iter().map(|(_, costs)| Cost::of_rounds(costs)).collect();
        let sentence = by_size.sentence("reading").unwrap_or_default();
        let shown: Vec<&Cost> = cells.iter().filter(|cell| cell.interval().is_some()).collect();
        match by_size.cost() {
            Some(all) => {
                assert!(shown.iter().all(|cell| cell.agrees(&all)), "{sentence} {cells:?}");
                let noise = shown.iter().all(|cell| cell.is_noise());
                assert!(!all.is_noise() || noise, "{sentence} {cells:?}");
                assert_eq!(all.is_noise(), sentence.contains("beyond noise"), "{sentence} {cells:?}");
            }
            None => {
                for cell in [shown.first(), shown.last()].into_iter().flatten() {
                    let says_noise = sentence.contains("no difference beyond noise");
                    assert!(!cell.is_noise() || says_noise, "{sentence} {cells:?}");
                }
            }
        }
        assert!(!sentence.contains('?'), "{sentence}");
    }
}
