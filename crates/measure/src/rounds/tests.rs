//! Rounds with subjects whose samples are known beforehand.

use super::*;
use crate::clock::Scripted;
use crate::results::{By, CipherCase, Direction};
use std::cell::RefCell;
use std::rc::Rc;

/// Gives its samples in order, the last one for ever; writes down when it was asked.
struct Known {
    name: char,
    /// Takes a thousand times as long as the others.
    slow: bool,
    values: Vec<f64>,
    taken: usize,
    log: Rc<RefCell<String>>,
}

impl Subject for Known {
    fn sample(&mut self, clock: &dyn Clock) -> Result<Sample, Outcome> {
        self.log.borrow_mut().push(self.name);
        for _ in 0..if self.slow { 1000 } else { 1 } {
            clock.now();
        }
        let value = self.values[self.taken.min(self.values.len() - 1)];
        self.taken += 1;
        if value < 0.0 {
            let wrong = Wrong::first_difference(&[0], &[1], "after timing").unwrap();
            return Err(Outcome::Wrong(wrong));
        }
        Ok(Sample { value, seconds: 0.001 })
    }

    fn unit(&self) -> Unit {
        Unit::BytesPerSecond
    }

    fn checked(&self) -> String {
        "by hand".into()
    }

    fn least_samples(&self) -> Option<u32> {
        self.slow.then_some(6)
    }
}

#[derive(Default)]
struct Watch {
    rows: Vec<Row>,
    stop_after: Option<usize>,
    rounds: usize,
}

impl Watcher for Watch {
    fn row(&mut self, row: &Row) {
        self.rows.push(row.clone());
    }
    fn progress(&mut self, _: f64, _: &str) {
        self.rounds += 1;
    }
    fn stopped(&self) -> bool {
        self.stop_after.is_some_and(|rounds| self.rounds >= rounds)
    }
}

fn listed(names: &[&str]) -> Vec<Listed> {
    let case = |spec: &&str| {
        Case::Cipher(CipherCase {
            by: By::Keyway,
            spec: spec.to_string(),
            key_bits: 256,
            sector_size: 512,
            message: 512,
            direction: Direction::Encrypt,
            threads: 1,
            default: false,
        })
    };
    names.iter().map(|name| Listed { case: case(name), outcome: None }).collect()
}

fn settings_of(least: u32, most: u32) -> Settings {
    Settings { least_samples: least, most_samples: most, precision: 0.01, ..Settings::default() }
}

fn go(subjects: &[(&str, &[f64])], settings: &Settings, step_ms: u64, watch: &mut Watch) -> String {
    let log = Rc::new(RefCell::new(String::new()));
    let clock = Scripted::new(0, &[Duration::from_millis(step_ms)]);
    let names: Vec<&str> = subjects.iter().map(|(name, _)| *name).collect();
    let prepare = |case: &Case, _: &Settings, _: &dyn Clock| {
        let Case::Cipher(case) = case else { panic!() };
        let (name, values) = subjects.iter().find(|(name, _)| *name == case.spec).unwrap();
        let name = name.chars().next().unwrap();
        let slow = name.is_uppercase();
        let known = Known { name, slow, values: values.to_vec(), taken: 0, log: Rc::clone(&log) };
        Ok(Box::new(known) as Box<dyn Subject>)
    };
    run(&listed(&names), settings, &clock, &prepare, watch);
    log.borrow().clone()
}

#[test]
fn cases_take_turns_and_end_when_they_are_known_well_enough() {
    let noisy: Vec<f64> = (0..100).map(|i| if i % 2 == 0 { 100.0 } else { 200.0 }).collect();
    let mut watch = Watch::default();
    let log = go(&[("a", &[100.0]), ("b", &noisy)], &settings_of(8, 40), 0, &mut watch);
    assert!(log.starts_with("abababababababab"), "{log}");
    assert_eq!(log.matches('a').count(), 8);
    assert_eq!(log.matches('b').count(), 40);
    let noted: Vec<bool> = watch.rows.iter().map(|row| !row.measured().unwrap().notes.is_empty()).collect();
    assert_eq!(noted, [false, true]);
}

#[test]
fn time_ends_what_is_never_known_well_enough() {
    let noisy: Vec<f64> = (0..1000).map(|i| 100.0 + f64::from(i % 7) * 20.0).collect();
    let mut watch = Watch::default();
    let settings = Settings { time_seconds: Some(0.1), ..settings_of(6, 1000) };
    let log = go(&[("a", &noisy)], &settings, 5, &mut watch);
    assert!((6..25).contains(&log.len()), "{}", log.len());
    assert_eq!(watch.rows.len(), 1);
}

#[test]
fn what_is_slow_leaves_the_others_time_and_comes_in_all_of_the_run() {
    let noisy: Vec<f64> = (0..10_000).map(|i| if i % 2 == 0 { 100.0 } else { 200.0 }).collect();
    let mut watch = Watch::default();
    let settings = Settings { time_seconds: Some(10.0), ..settings_of(6, 10_000) };
    let log = go(&[("a", &noisy), ("S", &noisy)], &settings, 1, &mut watch);
    assert_eq!(log.matches('S').count(), 6, "{log}");
    let between: Vec<usize> = log.split('S').map(str::len).skip(1).take(5).collect();
    assert!(between.iter().all(|fast| (50..1000).contains(fast)), "{between:?}");
}

#[test]
fn wrong_output_leaves_no_figure() {
    let mut watch = Watch::default();
    go(&[("a", &[100.0, 100.0, -1.0]), ("b", &[1.0])], &settings_of(6, 20), 0, &mut watch);
    let Outcome::Wrong(wrong) = &watch.rows[0].outcome else { panic!("{:?}", watch.rows[0]) };
    assert_eq!(wrong.during, "sample 3: after timing");
    assert!(watch.rows[1].measured().is_some());
}

#[test]
fn a_stopped_run_has_only_rows_with_samples_enough() {
    let mut watch = Watch { stop_after: Some(7), ..Watch::default() };
    let noisy: Vec<f64> = (0..100).map(|i| 100.0 + f64::from(i % 7) * 20.0).collect();
    go(&[("a", &noisy)], &settings_of(6, 100), 0, &mut watch);
    assert_eq!(watch.rows[0].measured().unwrap().samples.len(), 7);
    let mut early = Watch { stop_after: Some(3), ..Watch::default() };
    go(&[("a", &noisy)], &settings_of(6, 100), 0, &mut early);
    assert!(early.rows.is_empty());
}

#[test]
fn short_times_make_short_samples() {
    let long = settings(None, 100, 0.0);
    assert_eq!((long.least_samples, long.sample_seconds), (15, 0.005));
    let short = settings(Some(1.0), 100, 0.0);
    assert_eq!(short.least_samples, 6);
    assert!((0.000_2..0.001).contains(&short.sample_seconds));
    assert_eq!(passes(Duration::from_micros(100), 0.005), 50);
    assert_eq!(passes(Duration::ZERO, 0.005), 1 << 20);
}
