//! Rounds with subjects with known samples.

use super::*;
use crate::clock::Scripted;
use crate::results::{CipherCase, right};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// A subject that returns its samples in order, repeating the last, and logs each call. Slow
/// subjects take a thousand times as long as the others.
fn known(name: char, values: Vec<f64>, log: Rc<RefCell<String>>) -> Subject {
    let (slow, mut taken) = (name.is_uppercase(), 0);
    let sample = move |clock: &dyn Clock| {
        log.borrow_mut().push(name);
        for _ in 0..if slow { 1000 } else { 1 } {
            clock.now();
        }
        let value = values[taken.min(values.len() - 1)];
        taken += 1;
        match value < 0.0 {
            true => right(&[0], &[1], "after timing").map(|()| unreachable!()),
            false => Ok(Sample { value, seconds: 0.001 }),
        }
    };
    Subject {
        sample: Box::new(sample),
        unit: Unit::BytesPerSecond,
        checked: "by hand".into(),
        code: None,
        least_samples: slow.then_some(6),
        sample_seconds: None,
        least_seconds: None,
        notes: Vec::new(),
    }
}

/// Keeps the rows; stops a run after some rounds.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) rows: Vec<Row>,
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
    let case = |spec: &&str| Case::Cipher(CipherCase::new(spec, 256, 512));
    names.iter().map(|name| Listed { case: case(name), outcome: None }).collect()
}

fn settings_of(least: u32, most: u32) -> Settings {
    Settings { least_samples: least, most_samples: most, precision: 0.01, ..Settings::default() }
}

fn go(subjects: &[(&str, &[f64])], settings: &Settings, step_ms: u64, watch: &mut Watch) -> String {
    let log = Rc::new(RefCell::new(String::new()));
    let clock = Scripted::new(0, &[Duration::from_millis(step_ms)]);
    let names: Vec<&str> = subjects.iter().map(|(name, _)| *name).collect();
    let prepare = |case: &Case, _: &Settings, _: &dyn Clock, _: f64| {
        let Case::Cipher(case) = case else { panic!() };
        let (name, values) = subjects.iter().find(|(name, _)| *name == case.spec).unwrap();
        Ok(known(name.chars().next().unwrap(), values.to_vec(), Rc::clone(&log)))
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
    let settings = Settings { time_seconds: Some(0.2), ..settings_of(6, 1000) };
    let log = go(&[("a", &noisy)], &settings, 5, &mut watch);
    assert!((6..25).contains(&log.len()), "{}", log.len());
    assert_eq!(watch.rows.len(), 1);
}

/// The bound holds by the run's own clock, and what had no time says so by name.
#[test]
fn the_time_is_a_bound_and_what_does_not_fit_is_left_out_by_name() {
    let noisy: Vec<f64> = (0..1000).map(|i| 100.0 + f64::from(i % 7) * 20.0).collect();
    for (seconds, figures) in [(0.001, 0), (3.0, 1), (20.0, 2)] {
        let (clock, mut watch) = (Scripted::new(0, &[Duration::from_millis(1)]), Watch::default());
        let settings = Settings { time_seconds: Some(seconds), ..settings_of(6, 1000) };
        let prepare = |case: &Case, _: &Settings, _: &dyn Clock, _: f64| {
            let Case::Cipher(case) = case else { panic!() };
            let (name, log) = (case.spec.chars().next().unwrap(), Rc::new(RefCell::new(String::new())));
            let subject = known(name, noisy.clone(), log);
            let sample_seconds = name.is_uppercase().then_some(1.0);
            Ok(Subject { sample_seconds, ..subject })
        };
        run(&listed(&["a", "S"]), &settings, &clock, &prepare, &mut watch);
        // A reading or two for what is looked at last, and one sample of the fast case.
        assert!(clock.now().as_secs_f64() <= seconds + 0.02, "{seconds}: {:?}", clock.now());
        assert_eq!(watch.rows.len(), 2, "{seconds}");
        let with_figures = watch.rows.iter().filter(|row| row.measured().is_some());
        assert_eq!(with_figures.count(), figures, "{seconds}: {:?}", watch.rows);
        for row in watch.rows.iter().filter(|row| row.measured().is_none()) {
            let Outcome::NotMeasured { reason, .. } = &row.outcome else { panic!("{row:?}") };
            assert!(reason.contains("--time"), "{reason}");
        }
    }
}

/// Samples that took seven times as long as expected left ten cases one sample each, and no figure.
#[test]
fn a_busy_machine_leaves_the_first_cases_their_figures() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let (clock, mut watch) = (Scripted::new(0, &[Duration::from_millis(5)]), Watch::default());
    let settings = Settings { time_seconds: Some(0.3), ..settings_of(6, 1000) };
    let prepare = |case: &Case, _: &Settings, _: &dyn Clock, _: f64| {
        let Case::Cipher(case) = case else { panic!() };
        let name = case.spec.chars().next().unwrap();
        Ok(Subject { sample_seconds: Some(0.002), ..known(name, vec![100.0], Rc::default()) })
    };
    run(&listed(&names), &settings, &clock, &prepare, &mut watch);
    let with_figures = watch.rows.iter().filter(|row| row.measured().is_some());
    let specs = with_figures.map(|row| row.id.split('/').nth(2).unwrap()).collect::<String>();
    assert_eq!((specs.as_str(), watch.rows.len()), ("abcd", names.len()), "{:?}", watch.rows);
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
