//! The same results as text: for a terminal, for a README, for a spreadsheet, for a fleet's
//! database, and compared with another run.

mod brief;
pub mod diff;
mod disk;
mod flat;
mod html;
mod machines;
mod markdown;
mod ranking;
mod terminal;

pub use brief::{brief, brief_of_storage};
pub use flat::{csv, json_lines};
pub use html::page as html;
pub use html::passport::{PassportPage, PassportSlot, passport};
pub use machines::machines;
pub use markdown::markdown;
pub use terminal::terminal;

use crate::results::{By, Case, CipherCase, Machine, Measured, Outcome, Results, Row, Unit, Wrong};
use crate::stats::Summary;

/// A figure with its unit: "3421.7 MiB/s", "1.52 M/s", "17".
pub(crate) fn figure(value: f64, unit: Unit) -> String {
    match unit {
        Unit::BytesPerSecond => format!("{:.1} MiB/s", value / f64::from(1 << 20)),
        Unit::IterationsPerSecond => format!("{value:.0} iterations/s"),
        Unit::PassesPerSecond => format!("{value:.2} passes/s"),
        Unit::Cost => format!("{value:.0}"),
        Unit::RequestsPerSecond => format!("{value:.0} requests/s"),
        Unit::Seconds => format!("{value:.4} s"),
    }
}

/// "±0.4 %", or how many of the samples are there that an interval needs: "3 of 6".
pub(crate) fn precision(summary: &Summary) -> String {
    let few = || format!("{} of {}", summary.count, crate::stats::SMALLEST);
    summary.precision().map_or_else(few, |part| format!("±{:.1} %", 100.0 * part))
}

/// The name of a case in a table, without whose code it is.
pub(crate) fn label(case: &Case) -> String {
    match case {
        Case::Cipher(case) => case.spec.clone(),
        Case::Kdf(case) => case.label(),
        other => other.id(),
    }
}

/// "1 thread, messages of 512 bytes"; a run of sectors is named as such.
pub(crate) fn circumstances(case: &CipherCase) -> String {
    let CipherCase { threads, sector_size, message, .. } = case;
    let threads = if *threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
    let sectors = match message == sector_size {
        true => "one sector".to_owned(),
        false => format!("{} sectors", message / (*sector_size).max(1)),
    };
    format!("{threads}, {sectors} of {sector_size} bytes a call")
}

/// Reasons for rows without figures, each once, with the cases it applies to: either what cannot
/// exist or what could not be measured.
pub(crate) fn reasons(results: &Results, impossible: bool) -> Vec<(String, Vec<String>)> {
    let reason = |row: &Row| match (&row.outcome, impossible) {
        (Outcome::Impossible { reason }, true) => Some(reason.clone()),
        (Outcome::NotMeasured { reason, missing_right: None, .. }, false) => Some(reason.clone()),
        (Outcome::NotMeasured { reason, missing_right: Some(right), .. }, false) => {
            Some(format!("{reason} (missing: {right})"))
        }
        _ => None,
    };
    let named = results.rows.iter().filter_map(|row| Some((reason(row)?, name_without_figures(&row.case))));
    by_key(named).into_iter().map(|(reason, names)| (reason, distinct(names))).collect()
}

/// The distinct items, in order of first appearance.
fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    by_key(all.into_iter().map(|one| (one, ()))).into_iter().map(|(one, _)| one).collect()
}

/// Values by their keys, in order of each key's first appearance.
fn by_key<K: PartialEq, V>(all: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut found: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in all {
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => found.push((key, vec![value])),
        }
    }
    found
}

/// The cases with figures, and what their samples say.
fn figures(results: &Results) -> impl Iterator<Item = (&Case, &Measured, Summary)> {
    let measured = results.rows.iter().filter_map(|row| Some((&row.case, row.measured()?)));
    measured.filter_map(|(case, it)| Some((case, it, Summary::of(it)?)))
}

/// How many samples and outliers a run has, and how long its shortest sample took in seconds.
fn totals(results: &Results) -> (usize, usize, f64) {
    figures(results).fold((0, 0, f64::INFINITY), |(samples, outliers, shortest), (_, measured, it)| {
        (samples + it.count, outliers + it.outliers.len(), shortest.min(measured.sample_seconds))
    })
}

/// The medians of cases other than ciphers in memory and storage.
fn others(results: &Results) -> Vec<(&Case, Unit, Summary)> {
    let others = figures(results).filter(|(case, ..)| !matches!(case, Case::Cipher(_) | Case::Disk(_)));
    others.map(|(case, measured, summary)| (case, measured.unit, summary)).collect()
}

fn name_without_figures(case: &Case) -> String {
    match case {
        Case::Cipher(CipherCase { spec, key_bits, by, .. }) => {
            let key = if *key_bits == 0 { String::new() } else { format!(" {key_bits}") };
            let by = if *by == By::Keyway { String::new() } else { format!(" by {by}") };
            format!("{spec}{key}{by}")
        }
        Case::Disk(case) => disk::without_figures(case),
        other => label(other),
    }
}

/// Rows whose output was wrong.
pub(crate) fn wrong(results: &Results) -> Vec<String> {
    let line = |row: &Row| match &row.outcome {
        Outcome::Wrong(Wrong { at, expected, found, during, remedy }) => {
            let remedy = remedy.as_ref().map_or_else(String::new, |remedy| format!("; {remedy}"));
            Some(format!("{}: byte {at} is {found} and should be {expected} ({during}){remedy}", row.id))
        }
        _ => None,
    };
    results.rows.iter().filter_map(line).collect()
}

/// The machine in a few lines.
pub(crate) fn machine_lines(results: &Results) -> [String; 3] {
    let Machine { cpus, cpu, architecture, aes_code, kernel, system, .. } = &results.machine;
    let system = system.as_ref().map_or_else(String::new, |system| format!(", {system}"));
    [
        format!("{cpus} × {cpu} ({architecture}), AES by {aes_code}"),
        format!("{kernel}{system}"),
        format!("{}; {}", results.started, versions(results)),
    ]
}

/// "keyway 0.1.0, openssl 3.0.17".
fn versions(results: &Results) -> String {
    let versions = results.versions.iter().map(|(name, version)| format!("{name} {version}"));
    versions.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
