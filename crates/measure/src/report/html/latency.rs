//! How long single requests take: the middle one, and those that people notice.

use super::chart::{Line, Lines, Point};
use super::ciphers::Owned;
use super::disk::{Figured, capital, load, pattern_name};
use super::figure::Table;
use super::palette::SERIES;
use super::words;
use maud::{Markup, html};

/// A chart for each way of asking.
pub(super) fn curves(all: &[Figured<'_>]) -> Markup {
    let mut ways: Vec<(String, Vec<&Figured<'_>>)> = Vec::new();
    for it in all.iter().filter(|it| it.measured.latency.as_ref().is_some_and(|points| !points.is_empty())) {
        let way = capital(pattern_name(it.case.pattern)) + ", " + &load(it.case);
        match ways.iter_mut().find(|(known, _)| *known == way) {
            Some((_, rows)) => rows.push(it),
            None => ways.push((way, vec![it])),
        }
    }
    html! {
        @if !ways.is_empty() {
            h3 { "How long requests take" }
            p { "Of a thousand requests 990 take no longer than the time over “99 %”. The last one decides whether a system feels slow." }
            div.two { @for (way, rows) in ways { (curve(&way, &rows).markup()) } }
        }
    }
}

fn curve(way: &str, rows: &[&Figured<'_>]) -> Owned<Lines> {
    let mut percents: Vec<f64> = Vec::new();
    let mut table = Table::new(&["Through", "Amount", "Part of all requests", "Take no longer than"], 0);
    let mut lines: Vec<Line> = Vec::new();
    for it in rows {
        let mut points = Vec::new();
        for point in it.measured.latency.iter().flatten() {
            let amount = it.case.total.map_or_else(String::new, words::bytes);
            table.rows.push(vec![
                it.path.clone(),
                amount,
                percent(point.percent),
                words::microseconds(point.microseconds),
            ]);
            let at = nines(point.percent);
            points.push(Point { at, value: point.microseconds, interval: None });
            if !percents.contains(&point.percent) {
                percents.push(point.percent);
            }
        }
        points.sort_by(|a, b| a.at.total_cmp(&b.at));
        // Of several amounts of data the last is the largest.
        lines.retain(|line| line.name != it.path);
        if lines.len() < SERIES {
            lines.push(Line { name: it.path.clone(), points });
        }
    }
    percents.sort_by(f64::total_cmp);
    let marks = percents.iter().map(|part| (nines(*part), percent(*part))).collect();
    let chart = Lines {
        across: "part of all requests".into(),
        marks,
        per: 1.0,
        unit: "µs, each line ten times the one below".into(),
        by_tens: true,
        lines,
    };
    Owned::new(way, "", chart, table)
}

/// As far to the right as it has nines: 90 % is one, 99 % two, 99.9 % three.
fn nines(percent: f64) -> f64 {
    -(1.0 - (percent / 100.0).clamp(0.0, 0.999_999)).log10()
}

fn percent(percent: f64) -> String {
    format!("{percent} %")
}
