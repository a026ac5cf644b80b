//! The same results as text: for a terminal, for a README, for a spreadsheet, for a fleet's
//! database, and compared with another run.

pub mod diff;
mod disk;
mod flat;
mod html;
mod machines;
mod markdown;
mod ranking;
mod terminal;

pub use flat::{csv, json_lines};
pub use html::page as html;
pub use html::passport::{PassportPage, PassportSlot, passport};
pub use machines::machines;
pub use markdown::markdown;
pub use terminal::terminal;

use crate::results::{Case, CipherCase, KdfCase, Outcome, Results, Row, Unit};
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

/// "±0.4 %", or why there is none.
pub(crate) fn precision(summary: &Summary) -> String {
    summary.precision().map_or_else(|| "±?".to_owned(), |part| format!("±{:.1} %", 100.0 * part))
}

/// The name of a case in a table, without whose code it is.
pub(crate) fn label(case: &Case) -> String {
    match case {
        Case::Cipher(case) => case.spec.clone(),
        Case::Kdf(case) => kdf_label(case),
        other => other.id(),
    }
}

fn kdf_label(case: &KdfCase) -> String {
    let hash = case.hash.as_ref().map_or_else(String::new, |hash| format!("-{hash}"));
    let memory = case.memory_kib.map_or_else(String::new, |kib| format!(" {} MiB", kib / 1024));
    let what = match (case.hash.is_some(), case.lanes) {
        (true, _) => "at once",
        (false, 1) => "lane",
        (false, _) => "lanes",
    };
    let time = case.iter_time_ms.map_or_else(String::new, |ms| format!(" for {ms} ms"));
    format!("{}{hash}{memory}, {} {what}{time}", case.kdf, case.lanes)
}

/// "1 thread, messages of 512 bytes"; a run of sectors is named as such.
pub(crate) fn circumstances(case: &CipherCase) -> String {
    let threads = if case.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", case.threads) };
    match case.message == case.sector_size {
        true => format!("{threads}, one sector of {} bytes a call", case.sector_size),
        false => {
            let sectors = case.message / case.sector_size.max(1);
            format!("{threads}, {sectors} sectors of {} bytes a call", case.sector_size)
        }
    }
}

/// Reasons for rows without figures, each once, with the cases it applies to: either what cannot
/// exist or what could not be measured.
pub(crate) fn reasons(results: &Results, impossible: bool) -> Vec<(String, Vec<String>)> {
    let reason = |row: &Row| match (&row.outcome, impossible) {
        (Outcome::Impossible { reason }, true) => Some(reason.clone()),
        (Outcome::NotMeasured { reason, missing_right: None }, false) => Some(reason.clone()),
        (Outcome::NotMeasured { reason, missing_right: Some(right) }, false) => {
            Some(format!("{reason} (missing: {right})"))
        }
        _ => None,
    };
    let named = results.rows.iter().filter_map(|row| Some((reason(row)?, name_without_figures(&row.case))));
    by_key(named).into_iter().map(|(reason, names)| (reason, distinct(names))).collect()
}

/// The distinct items, in order of first appearance.
fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
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

/// The medians of cases other than ciphers in memory and storage.
fn others(results: &Results) -> Vec<(&Case, Unit, Summary)> {
    let rows = results.rows.iter().filter(|row| !matches!(row.case, Case::Cipher(_) | Case::Disk(_)));
    let measured = rows.filter_map(|row| Some((row, row.measured()?)));
    measured.filter_map(|(row, it)| Some((&row.case, it.unit, Summary::of(it)?))).collect()
}

fn name_without_figures(case: &Case) -> String {
    match case {
        Case::Cipher(cipher) => {
            let key = if cipher.key_bits == 0 { String::new() } else { format!(" {}", cipher.key_bits) };
            let by = if cipher.by == crate::results::By::Keyway {
                String::new()
            } else {
                format!(" by {}", cipher.by)
            };
            format!("{}{key}{by}", cipher.spec)
        }
        Case::Disk(case) => disk::without_figures(case),
        other => label(other),
    }
}

/// Rows whose output was wrong.
pub(crate) fn wrong(results: &Results) -> Vec<String> {
    let line = |row: &Row| match &row.outcome {
        Outcome::Wrong(wrong) => {
            let remedy = wrong.remedy.as_ref().map_or_else(String::new, |remedy| format!("; {remedy}"));
            Some(format!(
                "{}: byte {} is {} and should be {} ({}){remedy}",
                row.id, wrong.at, wrong.found, wrong.expected, wrong.during
            ))
        }
        _ => None,
    };
    results.rows.iter().filter_map(line).collect()
}

/// The machine in a few lines.
pub(crate) fn machine_lines(results: &Results) -> Vec<String> {
    let machine = &results.machine;
    let mut lines = vec![format!(
        "{} × {} ({}), AES by {}",
        machine.cpus, machine.cpu, machine.architecture, machine.aes_code
    )];
    let system = machine.system.as_ref().map_or_else(String::new, |system| format!(", {system}"));
    lines.push(format!("{}{system}", machine.kernel));
    let versions: Vec<String> =
        results.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    lines.push(format!("{}; {}", results.started, versions.join(", ")));
    lines
}

#[cfg(test)]
mod tests;
