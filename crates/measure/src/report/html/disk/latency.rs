//! How long single requests take: the median, and the slow ones that users notice.

use super::super::super::by_key;
use super::super::chart::{Line, Lines, Point, add_point};
use super::super::figure::{Table, figure};
use super::super::words;
use super::{Figured, amount, way};
use maud::{Markup, html};

/// A chart for each kind of random request; sequential ones only if nothing else was measured. `of`
/// distinguishes its titles from those of other comparisons.
pub(super) fn curves(all: &[Figured<'_>], of: &str) -> Markup {
    let in_order = |it: &Figured<'_>| it.case.pattern.is_sequential();
    let random_too = all.iter().any(|it| !in_order(it));
    let has_points =
        |it: &&Figured<'_>| it.measured.latency.as_ref().is_some_and(|points| !points.is_empty());
    let shown = all.iter().filter(has_points).filter(|it| !(random_too && in_order(it)));
    let ways = by_key(shown.map(|it| (format!("{}{of}", way(it.case)), it)));
    html! {
        @if !ways.is_empty() {
            p.lead {
                b { "How long requests take." } " Of a thousand requests, 990 take no longer than the time \
                    above “99 %”. The slowest ones "
                "decide whether a system feels slow."
            }
            div.two { @for (way, rows) in ways { (curve(&way, &rows)) } }
        }
    }
}

fn curve(way: &str, rows: &[&Figured<'_>]) -> Markup {
    let mut percents = Vec::new();
    let mut table = Table::new("Through|Amount|Part of all requests|Take no longer than");
    let mut lines: Vec<Line> = Vec::new();
    for it in rows {
        // Of several data sizes the last is the largest.
        lines.retain(|line| line.name != it.path);
        let mut points = it.measured.latency.clone().unwrap_or_default();
        for point in &points {
            let (part, time) = (percent(point.percent), words::microseconds(point.microseconds));
            table.rows.push(vec![it.path.clone(), amount(it.case), part, time]);
        }
        percents.extend(points.iter().map(|point| point.percent));
        points.sort_by(|a, b| a.percent.total_cmp(&b.percent));
        for point in points {
            let (at, value) = (place(point.percent), point.microseconds);
            add_point(&mut lines, &it.path, Point { at, value, interval: None });
        }
    }
    percents.sort_by(f64::total_cmp);
    percents.dedup();
    let chart = Lines {
        across: "part of all requests".into(),
        marks: percents.into_iter().map(|part| (place(part), percent(part))).collect(),
        per: 1.0,
        unit: "µs, each line ten times the one below".into(),
        by_tens: true,
        lines,
    };
    figure(way, "", &chart, &table)
}

/// The position of a percentile: as far from the middle as it has nines. 90 % is one to the right,
/// 99 % two, 1 % two to the left; the slowest request is beyond the last.
fn place(percent: f64) -> f64 {
    let part = (percent / 100.0).clamp(0.0, 1.0);
    if part >= 1.0 { SLOWEST } else { (part / (1.0 - part)).log10().clamp(-SLOWEST, SLOWEST) }
}

const SLOWEST: f64 = 4.0;

fn percent(percent: f64) -> String {
    format!("{percent} %")
}
