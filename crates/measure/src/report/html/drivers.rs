//! Drivers of the kernel's crypto API, each by its name.

use super::chart::{BarRow, Bars};
use super::ciphers::{Owned, bar, doing};
use super::figure::Table;
use super::run::Run;
use super::words;
use crate::results::{Case, Direction, Outcome};
use crate::stats::Summary;
use maud::{Markup, html};

/// A chart of all that were measured; the wrong ones are in the table too.
pub(super) fn drivers(run: &Run<'_>) -> Markup {
    let head = ["Driver", "Algorithm", "Priority", "Key", "Request", "", "MiB/s", "", "Output"];
    let mut table = Table::new(&head, 0);
    let mut rows: Vec<BarRow> = Vec::new();
    for row in &run.results.rows {
        let Case::Driver(case) = &row.case else { continue };
        let summary = row.measured().and_then(Summary::of);
        let output = match &row.outcome {
            Outcome::Measured(measured) => format!("right: {}", measured.checked),
            Outcome::Wrong(wrong) => format!("WRONG from byte {} on", wrong.at),
            Outcome::Impossible { reason } | Outcome::NotMeasured { reason, .. } => reason.clone(),
        };
        table.rows.push(vec![
            case.driver.clone(),
            case.algorithm.clone(),
            case.priority.to_string(),
            case.key_bits.to_string(),
            words::bytes(u64::from(case.message)),
            doing(case.direction).to_owned(),
            summary.as_ref().map_or_else(String::new, |it| words::mib(it.median)),
            summary.as_ref().map_or_else(String::new, words::precision),
            output,
        ]);
        let Some(summary) = summary else { continue };
        let label = format!("{} {}, {}", case.driver, case.key_bits, words::bytes(u64::from(case.message)));
        let bar = bar(usize::from(case.direction == Direction::Decrypt), &summary);
        match rows.iter_mut().find(|known| known.label == label) {
            Some(known) => known.bars.push(bar),
            None => rows.push(BarRow { place: None, label, default: false, bars: vec![bar] }),
        }
    }
    if table.rows.is_empty() {
        return html! {};
    }
    let highest = rows.iter().flat_map(|row| &row.bars).map(|bar| bar.value).fold(0.0, f64::max);
    let (per, unit) = words::throughput_unit(highest);
    let both = rows.iter().any(|row| row.bars.len() > 1);
    let series = if both { vec!["encrypt".to_owned(), "decrypt".to_owned()] } else { Vec::new() };
    let text = "Each asked by its own name, one request at a time; its output compared with Keyway's.";
    let chart = Bars { series, rows, per, unit: unit.to_owned() };
    let nothing_measured = chart.rows.is_empty();
    html! {
        h2 { "The kernel's drivers" }
        @if nothing_measured {
            (table.markup("Drivers of the kernel's crypto API"))
        } @else {
            (Owned::new("Drivers of the kernel's crypto API", text, chart, table).markup())
        }
    }
}
