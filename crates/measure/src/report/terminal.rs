//! Tables with bars, eighty columns wide.

use super::ranking::{Entry, Group, groups};
use super::{circumstances, figure, label, machine_lines, precision, reasons, totals, wrong};
use crate::results::{By, Case, Results, Row};
use crate::stats::Summary;
use std::fmt::Write;

/// All results of a run, for a terminal.
pub fn terminal(results: &Results) -> String {
    let mut text = String::new();
    for line in machine_lines(results) {
        let _ = writeln!(text, "{line}");
    }
    for warning in &results.warnings {
        let _ = writeln!(text, "WARNING: {warning}");
    }
    for group in groups(results) {
        ciphers(&mut text, &group);
    }
    for table in super::disk::tables(results) {
        text += &table.terminal();
    }
    others(&mut text, results);
    without_figures(&mut text, results);
    footer(&mut text, results);
    text
}

fn ciphers(text: &mut String, group: &Group<'_>) {
    let _ = writeln!(text, "\n{}, MiB/s", circumstances(group.like));
    text.push_str(&table(&group.entries.iter().collect::<Vec<_>>(), group.highest()));
}

/// A line for each, with bars up to the highest.
pub(super) fn table(entries: &[&Entry<'_>], highest: f64) -> String {
    let mut text = String::new();
    let width = entries.iter().map(|entry| entry.name().chars().count()).max().unwrap_or(0).max(11);
    let _ = writeln!(text, "     {:width$}  {:>5}  {:>8} {:>7}  {:>8}", "", "key", "encrypt", "", "decrypt");
    for entry in entries {
        let mark = if entry.case.is_default() { '*' } else { ' ' };
        let (place, name, key) = (entry.place, entry.name(), entry.case.key_bits);
        let (encrypt, decrypt) = (mib(&entry.encrypt), mib(&entry.decrypt));
        let bar = bar(entry, highest);
        let _ = writeln!(text, "{place:>3}{mark} {name:width$}  {key:>5}  {encrypt}  {decrypt} {bar}");
    }
    text
}

fn mib(summary: &Option<Summary>) -> String {
    let (median, precision) = summary.as_ref().map_or(("-".to_owned(), String::new()), |it| {
        (format!("{:.1}", it.median / f64::from(1 << 20)), precision(it).replace(" %", "%"))
    });
    format!("{median:>8} {precision:>7}")
}

/// Eighths of a column: the width follows the median.
fn bar(entry: &Entry<'_>, highest: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let part = entry.figure().map_or(0.0, |summary| summary.median) / highest.max(1.0);
    let eighths = (part * BAR as f64 * 8.0).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// The width of a full bar in columns.
const BAR: usize = 12;

/// Everything except ciphers in memory, one line each.
fn others(text: &mut String, results: &Results) {
    let rows = super::others(results);
    let width = rows.iter().map(|(case, ..)| name(case).chars().count()).max().unwrap_or(0);
    text.push_str(if rows.is_empty() { "" } else { "\n" });
    for (case, unit, summary) in rows {
        let mark = if case.is_default() { '*' } else { ' ' };
        let figure = figure(summary.median, unit);
        let _ = writeln!(text, "{mark} {:width$}  {figure:>22} {}", name(case), precision(&summary));
    }
}

fn name(case: &Case) -> String {
    match case {
        Case::Kdf(kdf) if kdf.by != By::Keyway => format!("{} ({})", label(case), kdf.by),
        other => label(other),
    }
}

fn without_figures(text: &mut String, results: &Results) {
    for (title, impossible) in [("Cannot exist", true), ("Not measured", false)] {
        for (number, (reason, names)) in reasons(results, impossible).into_iter().enumerate() {
            let title = if number == 0 { format!("\n{title}\n") } else { String::new() };
            let shown = names[..names.len().min(SHOWN)].join(", ");
            let more = names.get(SHOWN..).filter(|more| !more.is_empty());
            let more = more.map_or_else(String::new, |more| format!(" and {} more", more.len()));
            let _ = writeln!(text, "{title}  {shown}{more}:\n      {reason}");
        }
    }
    for line in wrong(results) {
        let _ = writeln!(text, "\nWRONG OUTPUT: {line}");
    }
}

/// The number of cases named beside a reason.
const SHOWN: usize = 4;

fn footer(text: &mut String, results: &Results) {
    let (samples, outliers, shortest) = totals(results);
    if samples > 0 {
        let clock = 200.0 * results.settings.clock_seconds / shortest;
        let shortest = 1000.0 * shortest;
        let _ = writeln!(
            text,
            "\nMedians with their 95 % intervals of {samples} samples, {outliers} of them outliers. Every output was right.\n\
             Same place: no difference beyond noise. * is the default. The clock took {clock:.4} % of the\n\
             shortest sample ({shortest:.2} ms).",
        );
    }
    let by_kernel = |row: &Row| matches!(&row.case, Case::Cipher(it) if matches!(it.by, By::Kernel(_)));
    if results.rows.iter().any(|row| by_kernel(row) && row.measured().is_some()) {
        text.push_str(
            "(kernel): through AF_ALG, one sector per request, with two system calls each that dm-crypt does \
            not need.\n",
        );
    }
    if !results.complete {
        let _ = writeln!(text, "The run was stopped: {} rows are complete.", results.rows.len());
    }
}
