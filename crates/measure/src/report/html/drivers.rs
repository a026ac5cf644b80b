//! Drivers of the kernel's crypto API, each by its name.

use super::chart::{Bar, Bars};
use super::figure::{Table, figure};
use super::run::Run;
use super::words;
use crate::results::{Case, Direction, Outcome, Unit};
use crate::stats::Summary;
use maud::{Markup, html};

/// A chart of all drivers that were measured; those with wrong output are in the table too.
pub(super) fn drivers(run: &Run<'_>) -> Markup {
    let mut table = Table::new("Driver|Algorithm|Priority|Key|Request||MiB/s||Output");
    let mut bars = Bars::default();
    for row in &run.results.rows {
        let Case::Driver(case) = &row.case else { continue };
        let summary = row.measured().and_then(Summary::of);
        let output = match &row.outcome {
            Outcome::Measured(measured) => format!("right: {}", measured.checked),
            Outcome::Wrong(wrong) => format!("WRONG from byte {} on", wrong.at),
            Outcome::Impossible { reason } | Outcome::NotMeasured { reason, .. } => reason.clone(),
        };
        let request = words::bytes(u64::from(case.message));
        table.rows.push(vec![
            case.driver.clone(),
            case.algorithm.clone(),
            case.priority.to_string(),
            case.key_bits.to_string(),
            request.clone(),
            case.direction.to_string(),
            summary.as_ref().map_or_else(String::new, |it| words::mib(it.median)),
            summary.as_ref().map_or_else(String::new, words::precision),
            output,
        ]);
        let Some(summary) = summary else { continue };
        let row = bars.labelled(&format!("{} {}, {request}", case.driver, case.key_bits));
        let series = usize::from(case.direction == Direction::Decrypt);
        row.bars.push(Bar::of(series, &summary, Unit::BytesPerSecond));
    }
    if table.rows.is_empty() {
        return html! {};
    }
    let mut chart = Bars::of(bars.rows, Unit::BytesPerSecond);
    chart.name_series(["encrypt", "decrypt"]);
    let title = "Drivers of the kernel's crypto API";
    let text = "Each run by its own name, one request at a time; its output compared with Keyway's.";
    html! {
        h2 { "The kernel's drivers" }
        @if chart.rows.is_empty() { (table.markup(title)) } @else { (figure(title, text, &chart, &table)) }
    }
}
