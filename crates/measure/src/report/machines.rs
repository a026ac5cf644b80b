//! The same cases on several machines, side by side.

use super::{figure, label, machine_lines};
use crate::results::{Case, Results, Row, Unit};
use crate::stats::Summary;
use std::fmt::Write;

/// A column for each machine, a line for each case for which at least one of them has figures.
pub fn machines(all: &[Results]) -> String {
    let mut text = String::new();
    for (number, results) in all.iter().enumerate() {
        let _ = writeln!(text, "[{}] {}", number + 1, results.machine.name);
        for line in machine_lines(results) {
            let _ = writeln!(text, "    {line}");
        }
        for warning in &results.warnings {
            let _ = writeln!(text, "    WARNING: {warning}");
        }
    }
    let rows = rows(all);
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let _ = write!(text, "\n{:width$}", "");
    for number in 1..=all.len() {
        let _ = write!(text, "  {:>14}", format!("[{number}]"));
    }
    text.push('\n');
    for (name, cells) in rows {
        let _ = write!(text, "{name:width$}");
        for cell in cells {
            let _ = write!(text, "  {cell:>14}");
        }
        text.push('\n');
    }
    text
}

fn rows(all: &[Results]) -> Vec<(String, Vec<String>)> {
    let mut seen = std::collections::HashSet::new();
    let measured = all.iter().flat_map(|results| &results.rows).filter(|row| row.measured().is_some());
    let first = measured.filter(|row| seen.insert(&row.id));
    let line = |row: &Row| (name(&row.case), all.iter().map(|results| cell(results, &row.id)).collect());
    first.map(line).collect()
}

fn cell(results: &Results, id: &str) -> String {
    let measured = results.row(id).and_then(|row| row.measured());
    let figure = measured.and_then(|measured| {
        let median = Summary::of(measured)?.median;
        Some(match measured.unit {
            Unit::IterationsPerSecond => format!("{median:.0} /s"),
            unit => figure(median, unit),
        })
    });
    figure.unwrap_or_else(|| "-".to_owned())
}

fn name(case: &Case) -> String {
    match case {
        Case::Cipher(it) => {
            let (way, threads) = (it.direction, it.threads);
            let (spec, bits, sector, message) = (&it.spec, it.key_bits, it.sector_size, it.message);
            format!("{spec} {bits} {way} {message}/{sector} ×{threads} {}", it.by)
        }
        other => label(other),
    }
}
