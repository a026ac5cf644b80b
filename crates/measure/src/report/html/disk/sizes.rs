//! Throughput by data size, and bars if there is only one size.

use super::super::chart::{Bar, Bars, Lines, Point, add_point, highest};
use super::super::figure::{Table, figure};
use super::super::words;
use super::{Figured, capital, load, pattern_name, way};
use crate::results::{Pattern, Unit};
use maud::Markup;

/// Throughput by data size, or bars if there is only one size. `of` distinguishes its title from
/// those of other comparisons.
pub(super) fn over_sizes(all: &[&Figured<'_>], pattern: Pattern, of: &str) -> Markup {
    let mut totals: Vec<u64> = all.iter().filter_map(|it| it.case.total).collect();
    totals.sort_unstable();
    totals.dedup();
    let unit = all[0].measured.unit;
    if totals.len() < 2 || all.iter().any(|it| it.measured.unit != unit) {
        return requests(all, unit, of);
    }
    let title = capital(&format!("{}, over the amount of data{of}", pattern_name(pattern)));
    let head = figure_head(unit);
    let mut table = Table::new(&format!("Through|Requests|Amount|{head}||Samples|Model|Remarks"));
    let mut lines = Vec::new();
    for it in all {
        let Some(total) = it.case.total else { continue };
        let at = totals.binary_search(&total).unwrap_or(0) as f64;
        let point = Point { at, value: it.summary.median, interval: it.summary.interval };
        add_point(&mut lines, &it.path, point);
        let mut cells = cells(it, unit);
        cells.insert(2, words::bytes(total));
        table.rows.push(cells);
    }
    lines.iter_mut().for_each(|line| line.points.sort_by(|a, b| a.at.total_cmp(&b.at)));
    let (per, unit) = words::axis(highest(&lines), unit);
    let marks = totals.iter().enumerate().map(|(at, total)| (at as f64, words::bytes(*total))).collect();
    let chart = Lines { across: "data read or written".into(), marks, per, unit, by_tens: false, lines };
    figure(&title, &(capital(&load(all[0].case)) + "."), &chart, &table)
}

/// Bars for each kind of request.
pub(super) fn requests(all: &[&Figured<'_>], unit: Unit, of: &str) -> Markup {
    let mut table = Table::new(&format!("Through|Requests|{}||Samples|Model|Remarks", figure_head(unit)));
    let mut bars = Bars::default();
    for it in all {
        table.rows.push(cells(it, unit));
        bars.push(&it.path, &way(it.case), |number| Bar::of(number, &it.summary, unit));
    }
    let highest = all.iter().map(|it| it.summary.median).fold(0.0, f64::max);
    (bars.per, bars.unit) = words::axis(highest, unit);
    let title =
        if unit == Unit::RequestsPerSecond { "Requests per second" } else { "Throughput by kind of request" };
    figure(&format!("{title}{of}"), "", &bars, &table)
}

fn cells(it: &Figured<'_>, unit: Unit) -> Vec<String> {
    let (median, model) = (it.summary.median, it.model.map(|model| model.expected()));
    let (figure, model) = match unit {
        Unit::BytesPerSecond => (words::mib(median), model.map(words::mib)),
        _ => {
            let block = f64::from(it.case.block.max(1));
            (words::count(median), model.map(|bytes| words::count(bytes / block)))
        }
    };
    let (precision, count) = (words::precision(&it.summary), it.summary.count.to_string());
    let way = format!("{}, {}", pattern_name(it.case.pattern), load(it.case));
    vec![it.path.clone(), way, figure, precision, count, model.unwrap_or_default(), remarks(it)]
}

/// Remarks that the model's figure shows are left out.
fn remarks(it: &Figured<'_>) -> String {
    let own = it.measured.notes.iter().filter(|note| it.model.is_none() || !note.starts_with("c·d/"));
    own.cloned().collect::<Vec<_>>().join("; ")
}

fn figure_head(unit: Unit) -> &'static str {
    if unit == Unit::BytesPerSecond { "MiB/s" } else { words::unit_name(unit) }
}
