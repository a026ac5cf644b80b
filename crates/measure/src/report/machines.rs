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
        let warnings = results.warnings.iter().map(|warning| format!("WARNING: {warning}"));
        for line in machine_lines(results).into_iter().chain(warnings) {
            let _ = writeln!(text, "    {line}");
        }
    }
    let rows = rows(all);
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let head = (String::new(), (1..=all.len()).map(|number| format!("[{number}]")).collect());
    text.push('\n');
    for (name, cells) in std::iter::once(head).chain(rows) {
        let cells: String = cells.iter().map(|cell| format!("  {cell:>14}")).collect();
        let _ = writeln!(text, "{name:width$}{cells}");
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
    let figure = || {
        let measured = results.row(id)?.measured()?;
        let median = Summary::of(measured)?.median;
        Some(match measured.unit {
            Unit::IterationsPerSecond => format!("{median:.0} /s"),
            unit => figure(median, unit),
        })
    };
    figure().unwrap_or_else(|| "-".to_owned())
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
