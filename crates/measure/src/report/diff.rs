//! Two runs side by side: what changed beyond noise.

use super::{figure, label};
use crate::results::{Case, CipherCase, Frequency, Measured, NoTime, Outcome, Results, Row, Unit};
use crate::stats::{Change, Summary, compare_runs};
use serde::Serialize;
use serde_json::json;
use std::collections::HashMap;
use std::fmt::Write;

/// The differences between two runs.
#[derive(Debug, Default)]
pub struct Diff {
    /// The rows of both runs, in the order of the first.
    pub rows: Vec<Pair>,
    /// Other differences that may make the figures incomparable.
    pub circumstances: Vec<String>,
}

/// A row of both runs, or of one of them.
#[derive(Debug, Serialize)]
pub struct Pair {
    /// The row's name in the results.
    pub id: String,
    /// What became of it.
    pub verdict: Verdict,
    /// The change as a part of the first median, if it is beyond noise: 0.1 is ten percent more.
    pub change: Option<f64>,
    /// The unit of both figures.
    pub unit: Option<Unit>,
    /// The first run's figure, if it has one.
    pub before: Option<Figure>,
    /// The second run's.
    pub after: Option<Figure>,
    /// Why there is no figure or no comparison.
    pub reason: Option<String>,
    /// For readers.
    #[serde(skip)]
    line: String,
}

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A worse figure, or none where the first run has one.
    Worse,
    /// A better one.
    Better,
    /// No difference beyond noise.
    Same,
    /// Only one of the runs has the row, or too few samples of it.
    NotCompared,
}

/// A median with the interval that it is compared by.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Figure {
    /// The median.
    pub median: f64,
    /// The lower end of the interval in which another run's median is expected.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

impl Figure {
    fn of(row: &Row) -> Option<Self> {
        let Summary { median, apart, .. } = Summary::of(row.measured()?)?;
        // A bell curve over three samples reaches below zero; no figure does.
        Some(Self { median, low: apart.map(|it| it.0.max(0.0)), high: apart.map(|it| it.1) })
    }
}

impl Pair {
    fn of(old: &Row, new: Option<&Row>, verdict: Verdict, line: String) -> Self {
        let unit = |row: &Row| row.measured().map(|measured| measured.unit);
        Self {
            id: old.id.clone(),
            verdict,
            change: None,
            unit: unit(old).or_else(|| unit(new?)),
            before: Figure::of(old),
            after: new.and_then(Figure::of),
            reason: None,
            line,
        }
    }

    /// A row of the second run only.
    fn added(row: &Row, line: String) -> Self {
        let there = Self::of(row, None, Verdict::NotCompared, line);
        Self { before: None, after: there.before, reason: Some("only in the second".into()), ..there }
    }
}

/// The document's form; a new number says that old readers would misread it.
const VERSION: u32 = 1;

impl Diff {
    /// Matches rows by case name; a difference below the fraction `least` of the first figure does
    /// not count.
    pub fn between(before: &Results, after: &Results, least: f64) -> Self {
        let mut diff = Self { circumstances: circumstances(before, after), ..Self::default() };
        let (earlier, later) = (by_name(before), by_name(after));
        for old in &before.rows {
            diff.rows.push(match later.get(&*old.id) {
                Some(new) => compared(old, new, least),
                None => {
                    let line = format!("only in the first: {}", old.id);
                    let pair = Pair::of(old, None, Verdict::NotCompared, line);
                    Pair { reason: Some("only in the first".into()), ..pair }
                }
            });
        }
        let added = after.rows.iter().filter(|new| !earlier.contains_key(&*new.id));
        diff.rows.extend(added.map(|new| Pair::added(new, format!("only in the second: {}", new.id))));
        diff
    }

    /// Whether something got worse.
    pub fn is_regression(&self) -> bool {
        self.count(Verdict::Worse) > 0
    }

    /// The lines of the rows with that verdict.
    fn of(&self, verdict: Verdict) -> impl Iterator<Item = &str> {
        self.rows.iter().filter(move |pair| pair.verdict == verdict).map(|pair| &*pair.line)
    }

    /// How many rows have that verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.of(verdict).count()
    }

    /// The document of `--json`: docs/bench-diff.schema.json.
    pub fn json(&self) -> String {
        let count = |verdict| self.count(verdict);
        let document = json!({
            "version": VERSION,
            "circumstances": self.circumstances,
            "worse": count(Verdict::Worse),
            "better": count(Verdict::Better),
            "same": count(Verdict::Same),
            "not_compared": count(Verdict::NotCompared),
            "rows": self.rows,
        });
        format!("{document:#}\n")
    }

    /// The text for a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.circumstances {
            let _ = writeln!(text, "WARNING: {line}");
        }
        let titles =
            [("Worse", Verdict::Worse), ("Better", Verdict::Better), ("Not compared", Verdict::NotCompared)];
        for (title, verdict) in titles {
            let title = self.of(verdict).next().map(|_| format!("{title}\n"));
            text.extend(title.into_iter().chain(self.of(verdict).map(|line| format!("  {line}\n"))));
        }
        let [worse, better, same, unmatched] =
            [Verdict::Worse, Verdict::Better, Verdict::Same, Verdict::NotCompared]
                .map(|verdict| self.count(verdict));
        let same = format!("{same} without a difference beyond noise");
        text + &format!("{worse} worse, {better} better, {same}, {unmatched} not compared\n")
    }
}

/// A row that both runs have.
fn compared(old: &Row, new: &Row, least: f64) -> Pair {
    let name = name(&old.case);
    let pair = |verdict, line| Pair::of(old, Some(new), verdict, line);
    match (&old.outcome, &new.outcome) {
        (Outcome::Measured(a), Outcome::Measured(b)) if a.unit == b.unit => {
            let both = Summary::of(a).zip(Summary::of(b));
            match both.as_ref().map_or(Change::TooFewSamples, |(x, y)| compare_runs(x, y, least)) {
                Change::By(by) => {
                    let show =
                        |row: &Row| Figure::of(row).map_or_else(String::new, |it| figure(it.median, a.unit));
                    let better = (by > 0.0) == a.unit.more_is_better();
                    let verdict = if better { Verdict::Better } else { Verdict::Worse };
                    let line = format!("{:+6.1} %  {name}: {} → {}", 100.0 * by, show(old), show(new));
                    Pair { change: Some(by), ..pair(verdict, line) }
                }
                Change::Noise => pair(Verdict::Same, String::new()),
                Change::TooFewSamples => {
                    let reason = "too few samples to compare";
                    Pair {
                        reason: Some(reason.into()),
                        ..pair(Verdict::NotCompared, format!("{reason}: {name}"))
                    }
                }
            }
        }
        (a, Outcome::Wrong(wrong)) if !matches!(a, Outcome::Wrong(_)) => {
            let reason = format!("its output is now wrong, from byte {} on", wrong.at);
            let line = format!("{name}: {reason}");
            Pair { reason: Some(reason), ..pair(Verdict::Worse, line) }
        }
        // Which rows a bound leaves without a figure is chance, of the machine's other load.
        (Outcome::Measured(a), Outcome::NotMeasured { reason, no_time: Some(it), .. })
            if is_slower(a, *it, least) =>
        {
            let line = format!("{name}: no longer has a figure, being slower: {reason}");
            Pair { reason: Some(reason.clone()), ..pair(Verdict::Worse, line) }
        }
        (Outcome::Measured(_), Outcome::NotMeasured { reason, no_time: Some(_), .. })
        | (Outcome::NotMeasured { reason, no_time: Some(_), .. }, Outcome::Measured(_)) => {
            let line = format!("no time was left in one of the runs: {name}");
            Pair { reason: Some(reason.clone()), ..pair(Verdict::NotCompared, line) }
        }
        (Outcome::Measured(_), Outcome::NotMeasured { reason, .. } | Outcome::Impossible { reason }) => {
            let line = format!("{name}: no longer has a figure: {reason}");
            Pair { reason: Some(reason.clone()), ..pair(Verdict::Worse, line) }
        }
        (_, Outcome::Measured(b)) => {
            let median = Summary::of(b).map(|summary| figure(summary.median, b.unit)).unwrap_or_default();
            pair(Verdict::Better, format!("{name}: now has a figure: {median}"))
        }
        _ => pair(Verdict::Same, String::new()),
    }
}

/// Whether the least work of a sample now takes longer than a whole sample took before, beyond the interval
/// in which another run's is expected. (Less work in less time would say nothing.)
fn is_slower(before: &Measured, now: NoTime, least: f64) -> bool {
    let Some(seconds) = now.least_seconds else { return false };
    let Some(Summary { median, apart: Some((low, high)), .. }) = Summary::of(before) else { return false };
    let slowest = if before.unit.more_is_better() { median / low } else { high / median };
    low > 0.0 && seconds > before.sample_seconds * slowest.max(1.0 + least)
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
