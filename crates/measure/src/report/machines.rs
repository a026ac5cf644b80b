//! The same cases on several machines, side by side.

use super::{figure, label, machine_lines};
use crate::results::{Case, Results, Unit};
use crate::stats::Summary;
use std::fmt::Write;

/// A column for each machine, a line for each case that at least one of them has figures of.
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
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let _ = write!(text, "\n{:width$}", "");
    for number in 1..=all.len() {
        let _ = write!(text, "  {:>14}", format!("[{number}]"));
    }
    text.push('\n');
    for row in rows {
        let _ = write!(text, "{:width$}", row.name);
        for cell in row.cells {
            let _ = write!(text, "  {cell:>14}");
        }
        text.push('\n');
    }
    text
}

struct Line {
    name: String,
    cells: Vec<String>,
}

fn rows(all: &[Results]) -> Vec<Line> {
    let mut seen = std::collections::HashSet::new();
    let mut lines = Vec::new();
    for row in all.iter().flat_map(|results| &results.rows).filter(|row| row.measured().is_some()) {
        if !seen.insert(&row.id) {
            continue;
        }
        let cells = all.iter().map(|results| cell(results, &row.id)).collect();
        lines.push(Line { name: name(&row.case), cells });
    }
    lines
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
