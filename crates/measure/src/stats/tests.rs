//! Tests against distributions whose median, quantiles and MAD are known, and tables of order
//! statistics.

use super::*;

/// Numbers in 0..1 from a generator that is the same everywhere (xorshift64*).
fn uniform(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed | 1;
    (0..count)
        .map(|_| {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
        })
        .collect()
}

/// The Box–Muller transform.
fn normal(seed: u64, count: usize) -> Vec<f64> {
    let uniform = uniform(seed, 2 * count);
    uniform
        .chunks_exact(2)
        .map(|u| (-2.0 * (1.0 - u[0]).ln()).sqrt() * (2.0 * std::f64::consts::PI * u[1]).cos())
        .collect()
}

fn close(found: f64, expected: f64, by: f64) {
    assert!((found - expected).abs() <= by, "{found} is not {expected} ± {by}");
}

#[test]
fn a_few_numbers_by_hand() {
    let it = summarise(&[1.0, 3.0, 2.0, 100.0, 4.0, 5.0, 6.0]).unwrap();
    assert_eq!((it.count, it.median, it.mad), (7, 4.0, 2.0));
    assert_eq!(it.interval, Some((1.0, 100.0)));
    assert_eq!(it.outliers, [3]);
    close(it.p5, 1.3, 1e-12);
    close(it.p95, 71.8, 1e-12);
    assert_eq!(median(&[1.0, 2.0]), Some(1.5));
    assert_eq!(summarise(&[]), None);
}

#[test]
fn the_one_sample_that_differs_is_an_outlier() {
    let same = summarise(&[5.0; 20]).unwrap();
    assert_eq!((same.mad, same.interval, same.outliers.len()), (0.0, Some((5.0, 5.0)), 0));
    let mut one = vec![5.0; 20];
    one[7] = 5.1;
    assert_eq!(summarise(&one).unwrap().outliers, [7]);
}

/// The ranks returned by R's `qbinom(0.025, n, 0.5)`, counted from 0.
#[test]
fn ranks_are_those_of_the_binomial_distribution() {
    for (count, ranks) in [
        (5, None),
        (6, Some((0, 5))),
        (8, Some((0, 7))),
        (9, Some((1, 7))),
        (11, Some((1, 9))),
        (12, Some((2, 9))),
        (20, Some((5, 14))),
        (25, Some((7, 17))),
        (50, Some((17, 32))),
        (100, Some((39, 60))),
    ] {
        assert_eq!(interval_ranks(count), ranks, "{count}");
    }
    let (low, high) = interval_ranks(100_000).unwrap();
    close(low as f64, 50_000.0 - 1.96 * 100_000_f64.sqrt() / 2.0, 2.0);
    assert_eq!(low + high, 99_999);
}

#[test]
fn the_normal_distribution_is_found_again() {
    let samples: Vec<f64> = normal(1, 100_000).iter().map(|z| 100.0 + 15.0 * z).collect();
    let it = summarise(&samples).unwrap();
    close(it.median, 100.0, 0.2);
    close(it.mad, 15.0 * 0.6745, 0.15);
    close(it.p5, 100.0 - 15.0 * 1.6449, 0.3);
    close(it.p95, 100.0 + 15.0 * 1.6449, 0.3);
    // 3.5 standard deviations to either side: 0.0465 %.
    close(it.outliers.len() as f64, 46.5, 25.0);
}

#[test]
fn the_exponential_distribution_is_found_again() {
    let samples: Vec<f64> = uniform(2, 100_000).iter().map(|u| -(1.0 - u).ln()).collect();
    let it = summarise(&samples).unwrap();
    close(it.median, std::f64::consts::LN_2, 0.01);
    close(it.p5, -(0.95_f64.ln()), 0.003);
    close(it.p95, 20_f64.ln(), 0.04);
    // The distance from the median: sinh(m) = ½.
    close(it.mad, 0.481_212, 0.01);
}

/// The interval keeps its promise on a skewed distribution with a known median: 95 of 100, with no
/// distribution assumed.
#[test]
fn the_interval_holds_the_median_as_often_as_it_says() {
    for count in [7, 15, 40] {
        let holds = (0..4000).filter(|run| {
            let samples: Vec<f64> =
                uniform(1000 + 7919 * run, count).iter().map(|u| -(1.0 - u).ln()).collect();
            let (low, high) = summarise(&samples).unwrap().interval.unwrap();
            low <= std::f64::consts::LN_2 && std::f64::consts::LN_2 <= high
        });
        let part = holds.count() as f64 / 4000.0;
        assert!((0.94..=1.0).contains(&part), "{count} samples: {part}");
    }
}

/// Correlated samples around a known median: an interval that counts them as independent contains
/// the median much too seldom.
#[test]
fn the_interval_knows_what_samples_in_turn_are_worth() {
    for (kept, least) in [(0.0_f64, 0.945), (0.5, 0.91), (0.8, 0.88)] {
        let runs = 2000;
        let holds = (0..runs).filter(|run| {
            let steps = normal(77 + 7919 * run, 100);
            let mut last = normal(5 + 104_729 * run, 1)[0];
            let follows = |step: &f64| {
                last = kept * last + (1.0 - kept * kept).sqrt() * step;
                last
            };
            let samples: Vec<f64> = steps.iter().map(follows).collect();
            let (low, high) = summarise(&samples).unwrap().interval.unwrap();
            low <= 0.0 && 0.0 <= high
        });
        let part = holds.count() as f64 / runs as f64;
        assert!(part >= least, "{kept}: {part}");
    }
}

/// Three samples are few: their interval is wide, holds all of them, and keeps the promise.
#[test]
fn few_samples_have_a_wide_interval() {
    assert_eq!(summarise(&[1.0, 2.0]).unwrap().interval, None);
    let (low, high) = summarise(&[1.0, 2.0, 3.0]).unwrap().interval.unwrap();
    close(low, 2.0 - 4.303 / 3_f64.sqrt(), 1e-9);
    close(high, 2.0 + 4.303 / 3_f64.sqrt(), 1e-9);
    assert_eq!(summarise(&[7.0; 4]).unwrap().interval, Some((7.0, 7.0)));
    for count in 3..6 {
        let holds = (0..4000).filter(|run| {
            let samples = normal(1000 + 7919 * run, count);
            let (low, high) = summarise(&samples).unwrap().interval.unwrap();
            assert!(samples.iter().all(|sample| (low..=high).contains(sample)));
            (low..=high).contains(&0.0)
        });
        let part = holds.count() as f64 / 4000.0;
        assert!((0.94..=1.0).contains(&part), "{count} samples: {part}");
    }
}

#[test]
fn noise_is_not_a_difference_and_a_difference_is() {
    let of = |seed, middle: f64| {
        let samples: Vec<f64> = normal(seed, 30).iter().map(|z| middle + z).collect();
        summarise(&samples).unwrap()
    };
    let false_alarms =
        (0..1000).filter(|i| compare(&of(3 + i, 100.0), &of(90_000 + i, 100.0), 0.0) != Change::Noise);
    assert!(false_alarms.count() < 10);
    let missed =
        (0..200).filter(|i| compare(&of(3 + i, 100.0), &of(90_000 + i, 103.0), 0.0) == Change::Noise);
    assert_eq!(missed.count(), 0);
    let Change::By(by) = compare(&of(1, 100.0), &of(2, 80.0), 0.02) else { panic!("a fifth less is seen") };
    close(by, -0.2, 0.02);
    assert_eq!(compare(&of(1, 100.0), &of(2, 103.0), 0.05), Change::Noise);
    let few = summarise(&[1.0, 2.0]).unwrap();
    assert_eq!(compare(&few, &few, 0.0), Change::TooFewSamples);
}

/// The samples of a run on a machine that drifts: around `middle`, with a level of its own for the
/// run and for each of ten stretches of it, both of the standard deviation `drift`, and noise on
/// each sample.
fn drifting(seed: u64, count: usize, middle: f64, drift: f64, noise: f64) -> Vec<f64> {
    let levels = normal(seed.wrapping_mul(6_364_136_223_846_793_005), 11);
    let level = |i: usize| drift * (levels[10] + levels[i * 10 / count]);
    let samples = normal(seed.wrapping_mul(2_862_933_555_777_941_757), count);
    samples.iter().enumerate().map(|(i, z)| middle * (1.0 + level(i) + noise * z)).collect()
}

/// The part of a thousand comparisons that call the second run changed.
fn called_changed(count: usize, change: f64, drift: f64, noise: f64, least: f64) -> f64 {
    let run = |seed, middle| summarise(&drifting(seed, count, middle, drift, noise)).unwrap();
    let changed = (1..=1000_u64).filter(|i| {
        compare_runs(&run(2 * i, 100.0), &run(2 * i + 1, 100.0 * (1.0 + change)), least) != Change::Noise
    });
    changed.count() as f64 / 1000.0
}

/// By the intervals of the medians alone a third of the rows and more were called changed.
#[test]
fn drift_between_two_runs_of_one_program_is_not_a_change() {
    for count in [3, 5, 6, 9, 15, 25, 60, 301] {
        for (drift, noise) in [(0.0, 0.01), (0.003, 0.003), (0.01, 0.002), (0.02, 0.01), (0.05, 0.01)] {
            let found = called_changed(count, 0.0, drift, noise, 0.0);
            // What docs/METHOD.md says.
            let fewer_than = if drift == 0.0 { 0.01 } else { 0.05 };
            assert!(found < fewer_than, "{count} samples, drift {drift}, noise {noise}: {found}");
        }
    }
}

#[test]
fn a_real_change_of_five_percent_is_found_through_drift() {
    for count in [15, 25, 60, 301] {
        for (drift, noise) in [(0.0, 0.01), (0.003, 0.003), (0.005, 0.005)] {
            for change in [0.05, -0.05] {
                let found = called_changed(count, change, drift, noise, 0.02);
                assert!(found >= 0.95, "{count} samples, drift {drift}, noise {noise}: {found}");
            }
        }
    }
}
