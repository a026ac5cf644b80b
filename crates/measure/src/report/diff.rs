//! Two runs side by side: what changed beyond noise.

use super::{figure, label};
use crate::results::{Case, CipherCase, Frequency, Outcome, Results, Row};
use crate::stats::{Change, Summary, compare};
use std::collections::HashMap;
use std::fmt::Write;

/// The differences between two runs.
#[derive(Debug, Default)]
pub struct Diff {
    /// Rows that are worse in the second run: a lower figure, or none where the first has one.
    pub worse: Vec<String>,
    /// Rows that are better.
    pub better: Vec<String>,
    /// Rows that only one of the runs has.
    pub unmatched: Vec<String>,
    /// The number of rows in both runs without a difference beyond noise.
    pub same: usize,
    /// Other differences that may make the figures incomparable.
    pub circumstances: Vec<String>,
}

impl Diff {
    /// Matches rows by case name; a difference below the fraction `least` of the first figure does
    /// not count.
    pub fn between(before: &Results, after: &Results, least: f64) -> Self {
        let mut diff = Self { circumstances: circumstances(before, after), ..Self::default() };
        let (earlier, later) = (by_name(before), by_name(after));
        for old in &before.rows {
            match later.get(&*old.id) {
                Some(new) => diff.rows(old, new, least),
                None => diff.unmatched.push(format!("only in the first: {}", old.id)),
            }
        }
        let added = after.rows.iter().filter(|new| !earlier.contains_key(&*new.id));
        diff.unmatched.extend(added.map(|new| format!("only in the second: {}", new.id)));
        diff
    }

    /// Whether something got worse.
    pub fn is_regression(&self) -> bool {
        !self.worse.is_empty()
    }

    fn rows(&mut self, old: &Row, new: &Row, least: f64) {
        let name = name(&old.case);
        match (&old.outcome, &new.outcome) {
            (Outcome::Measured(a), Outcome::Measured(b)) if a.unit == b.unit => {
                let (Some(x), Some(y)) = (Summary::of(a), Summary::of(b)) else { return };
                match compare(&x, &y, least) {
                    Change::By(by) => {
                        let (percent, x, y) =
                            (100.0 * by, figure(x.median, a.unit), figure(y.median, b.unit));
                        let better = (by > 0.0) == a.unit.more_is_better();
                        let lines = if better { &mut self.better } else { &mut self.worse };
                        lines.push(format!("{percent:+6.1} %  {name}: {x} → {y}"));
                    }
                    Change::Noise => self.same += 1,
                    Change::TooFewSamples => {
                        self.unmatched.push(format!("too few samples to compare: {name}"));
                    }
                }
            }
            (a, Outcome::Wrong(wrong)) if !matches!(a, Outcome::Wrong(_)) => {
                self.worse.push(format!("{name}: its output is now wrong, from byte {} on", wrong.at));
            }
            (Outcome::Measured(_), Outcome::NotMeasured { reason, .. } | Outcome::Impossible { reason }) => {
                self.worse.push(format!("{name}: no longer has a figure: {reason}"));
            }
            (_, Outcome::Measured(b)) => {
                let median = Summary::of(b).map(|summary| figure(summary.median, b.unit)).unwrap_or_default();
                self.better.push(format!("{name}: now has a figure: {median}"));
            }
            _ => self.same += 1,
        }
    }

    /// The text for a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.circumstances {
            let _ = writeln!(text, "WARNING: {line}");
        }
        for (title, lines) in
            [("Worse", &self.worse), ("Better", &self.better), ("Not compared", &self.unmatched)]
        {
            let title = (!lines.is_empty()).then(|| format!("{title}\n"));
            text.extend(title.into_iter().chain(lines.iter().map(|line| format!("  {line}\n"))));
        }
        let (worse, better, unmatched) = (self.worse.len(), self.better.len(), self.unmatched.len());
        let same = format!("{} without a difference beyond noise", self.same);
        text + &format!("{worse} worse, {better} better, {same}, {unmatched} not compared\n")
    }
}

fn by_name(results: &Results) -> HashMap<&str, &Row> {
    results.rows.iter().map(|row| (&*row.id, row)).collect()
}

fn name(case: &Case) -> String {
    match case {
        Case::Cipher(it) => {
            let CipherCase { spec, key_bits, direction, by, .. } = it;
            format!("{spec} {key_bits} {direction} ({}, {by})", super::circumstances(it))
        }
        other => label(other),
    }
}

fn circumstances(before: &Results, after: &Results) -> Vec<String> {
    let (a, b) = (&before.machine, &after.machine);
    let known = |it: &Option<String>| it.clone().unwrap_or_else(|| "unknown".to_owned());
    let pairs = [
        ("CPU", a.cpu.clone(), b.cpu.clone()),
        ("number of CPUs", a.cpus.to_string(), b.cpus.to_string()),
        ("kernel", a.kernel.clone(), b.kernel.clone()),
        ("governor", known(&a.governor), known(&b.governor)),
    ];
    let line = |what: &str, x: &str, y: &str| format!("the {what} differs: {x}, then {y}");
    let differ = pairs.iter().filter(|(_, x, y)| x != y);
    let mut lines: Vec<String> = differ.map(|(what, x, y)| line(what, x, y)).collect();
    let middle = |seen: Frequency| (seen.lowest_mhz + seen.highest_mhz) / 2.0;
    let show = |seen: Frequency| format!("{:.0} to {:.0} MHz", seen.lowest_mhz, seen.highest_mhz);
    if let (Some(x), Some(y)) = (a.frequency, b.frequency)
        && (middle(x) / middle(y) - 1.0).abs() > CLOCKS_DIFFER
    {
        lines.push(line("clock frequency", &show(x), &show(y)));
    }
    lines
}

/// Clock frequencies that differ by more than this fraction explain a difference between figures.
const CLOCKS_DIFFER: f64 = 0.02;
