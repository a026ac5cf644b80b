//! Throughput over the amount of data, and bars where there is one amount only.

use super::super::chart::{Bar, BarRow, Bars, Line, Lines, Point};
use super::super::ciphers::{self, Owned};
use super::super::figure::Table;
use super::super::palette::SERIES;
use super::super::{kdf, words};
use super::{Figured, capital, load, pattern_name, way};
use crate::results::{Pattern, Unit};
use maud::Markup;

/// Throughput over the amount of data, or bars where there is one
/// amount only. `of` tells its title from another's.
pub(super) fn over_sizes(all: &[&Figured<'_>], pattern: Pattern, of: &str) -> Markup {
    let mut totals: Vec<u64> = all.iter().filter_map(|it| it.case.total).collect();
    totals.sort_unstable();
    totals.dedup();
    let unit = all[0].measured.unit;
    if totals.len() < 2 || all.iter().any(|it| it.measured.unit != unit) {
        return requests(all, unit, of);
    }
    let title = capital(&format!("{}, over the amount of data{of}", pattern_name(pattern)));
    let mut table = Table::new(
        &["Through", "Requests", "Amount", figure_head(unit), "", "Samples", "Model", "Remarks"],
        0,
    );
    let mut lines: Vec<Line> = Vec::new();
    for it in all {
        let Some(total) = it.case.total else { continue };
        let at = totals.binary_search(&total).unwrap_or(0) as f64;
        let point = Point { at, value: it.summary.median, interval: it.summary.interval };
        let mut cells = cells(it, unit);
        cells.insert(2, words::bytes(total));
        table.rows.push(cells);
        match lines.iter().position(|line| line.name == it.path) {
            Some(line) => lines[line].points.push(point),
            None if lines.len() < SERIES => lines.push(Line { name: it.path.clone(), points: vec![point] }),
            None => {}
        }
    }
    lines.iter_mut().for_each(|line| line.points.sort_by(|a, b| a.at.total_cmp(&b.at)));
    let highest = lines.iter().flat_map(|line| &line.points).map(|point| point.value).fold(0.0, f64::max);
    let (per, unit) = unit_axis(highest, unit);
    let marks = totals.iter().enumerate().map(|(at, total)| (at as f64, words::bytes(*total))).collect();
    let chart = Lines { across: "data read or written".into(), marks, per, unit, by_tens: false, lines };
    Owned::new(title, capital(&load(all[0].case)) + ".", chart, table).markup()
}

/// Bars for each way of asking.
pub(super) fn requests(all: &[&Figured<'_>], unit: Unit, of: &str) -> Markup {
    let head = ["Through", "Requests", figure_head(unit), "", "Samples", "Model", "Remarks"];
    let mut table = Table::new(&head, 0);
    let mut bars = Grouped::default();
    for it in all {
        table.rows.push(cells(it, unit));
        let bar = |number| match unit {
            Unit::BytesPerSecond => ciphers::bar(number, &it.summary),
            _ => kdf::bar(number, &it.summary, unit),
        };
        bars.push(&it.path, way(it.case), bar);
    }
    let highest = all.iter().map(|it| it.summary.median).fold(0.0, f64::max);
    let (per, axis) = unit_axis(highest, unit);
    let title =
        if unit == Unit::RequestsPerSecond { "Requests a second" } else { "Throughput by kind of request" };
    let chart = Bars { series: bars.series, rows: bars.rows, per, unit: axis };
    Owned::new(format!("{title}{of}"), "", chart, table).markup()
}

/// Bars by row and series, as they come.
#[derive(Default)]
pub(super) struct Grouped {
    pub(super) series: Vec<String>,
    pub(super) rows: Vec<BarRow>,
}

impl Grouped {
    /// One more, unless there are more series than a chart can tell apart.
    pub(super) fn push(&mut self, series: &str, label: String, bar: impl FnOnce(usize) -> Bar) {
        let number = match self.series.iter().position(|known| known == series) {
            Some(number) => number,
            None if self.series.len() < SERIES => {
                self.series.push(series.to_owned());
                self.series.len() - 1
            }
            None => return,
        };
        let bar = bar(number);
        match self.rows.iter_mut().find(|row| row.label == label) {
            Some(row) => row.bars.push(bar),
            None => self.rows.push(BarRow { place: None, label, default: false, bars: vec![bar] }),
        }
    }
}

fn cells(it: &Figured<'_>, unit: Unit) -> Vec<String> {
    let (figure, model) = match unit {
        Unit::BytesPerSecond => {
            (words::mib(it.summary.median), it.model.map(|model| words::mib(model.expected())))
        }
        _ => {
            let requests = |bytes: f64| words::count(bytes / f64::from(it.case.block.max(1)));
            (words::count(it.summary.median), it.model.map(|model| requests(model.expected())))
        }
    };
    vec![
        it.path.clone(),
        format!("{}, {}", pattern_name(it.case.pattern), load(it.case)),
        figure,
        words::precision(&it.summary),
        it.summary.count.to_string(),
        model.unwrap_or_default(),
        remarks(it),
    ]
}

/// What stands in the model's own figure is left out.
fn remarks(it: &Figured<'_>) -> String {
    let own = it.measured.notes.iter().filter(|note| it.model.is_none() || !note.starts_with("c·d/"));
    own.cloned().collect::<Vec<_>>().join("; ")
}

fn figure_head(unit: Unit) -> &'static str {
    if unit == Unit::BytesPerSecond { "MiB/s" } else { kdf::unit_name(unit) }
}

fn unit_axis(highest: f64, unit: Unit) -> (f64, String) {
    match unit {
        Unit::BytesPerSecond => {
            let (per, unit) = words::throughput_unit(highest);
            (per, unit.to_owned())
        }
        _ => kdf::axis(highest, kdf::unit_name(unit)),
    }
}
