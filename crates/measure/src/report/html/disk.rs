//! Storage: encrypted beside plain, over the amount of data, for requests here and there, and how long single requests wait.

use super::chart::{Bar, BarRow, Bars, Line, Lines, Point};
use super::ciphers::Owned;
use super::figure::Table;
use super::palette::SERIES;
use super::run::Run;
use super::{kdf, words};
use crate::results::{By, Case, DiskCase, Measured, Pattern, Unit};
use crate::stats::Summary;
use maud::{Markup, html};

/// A figure of storage.
pub(super) struct Figured<'a> {
    pub(super) case: &'a DiskCase,
    pub(super) measured: &'a Measured,
    pub(super) summary: Summary,
    /// Through what, in words.
    pub(super) path: String,
}

/// All figures of storage, under names that tell the ways apart and say no more than that takes.
pub(super) fn figured<'a>(run: &Run<'a>) -> Vec<Figured<'a>> {
    let of_row = |row: &'a crate::Row| match (&row.case, row.measured()) {
        (Case::Disk(case), Some(measured)) => Some((case, measured, Summary::of(measured)?)),
        _ => None,
    };
    let all: Vec<_> = run.results.rows.iter().filter_map(of_row).collect();
    let differ = |of: fn(&DiskCase) -> String| {
        let mut seen = all.iter().filter(|(case, ..)| case.by != By::Plain).map(|(case, ..)| of(case));
        let first = seen.next();
        seen.any(|other| Some(other) != first)
    };
    let several = Several {
        ciphers: differ(|case| format!("{:?} {:?}", case.spec, case.key_bits)),
        sectors: differ(|case| format!("{:?}", case.sector_size)),
        media: all.iter().any(|(case, ..)| case.medium != all[0].0.medium),
    };
    let figured = |(case, measured, summary)| Figured { path: several.path(case), case, measured, summary };
    all.into_iter().map(figured).collect()
}

/// What must be said because it is not the same everywhere.
struct Several {
    ciphers: bool,
    sectors: bool,
    media: bool,
}

impl Several {
    fn path(&self, case: &DiskCase) -> String {
        let mut path = match &case.by {
            By::Plain => "plain".to_owned(),
            by => by.to_string(),
        };
        if let (true, Some(spec)) = (self.ciphers, &case.spec) {
            path += &format!(" {spec}");
            path += &case.key_bits.map_or_else(String::new, |bits| format!(" {bits}"));
        }
        if let (true, Some(size)) = (self.sectors, case.sector_size) {
            path += &format!(", {size}-byte sectors");
        }
        for flag in &case.flags {
            path += &format!(", {flag}");
        }
        if self.media {
            path += &format!(" on {}", case.medium);
        }
        path
    }
}

/// Everything about storage.
pub(super) fn storage(run: &Run<'_>) -> Markup {
    let all = figured(run);
    if all.is_empty() {
        return html! {};
    }
    let (sized, other): (Vec<_>, Vec<_>) = all.iter().partition(|it| it.case.total.is_some());
    html! {
        h2 { "Storage, plain and encrypted" }
        p {
            "Plain and encrypted storage in the same run, in turn. Where both are alike, the disk is the limit and encryption costs "
            "processor time only; where plain is faster, encryption is the limit. " (what(&all))
        }
        @for pattern in PATTERNS {
            @let of_pattern = |it: &&&Figured<'_>| it.case.pattern == pattern;
            @let over_size: Vec<_> = sized.iter().filter(of_pattern).copied().collect();
            @if !over_size.is_empty() { (over_sizes(&over_size, pattern)) }
        }
        @for unit in [Unit::BytesPerSecond, Unit::RequestsPerSecond] {
            @let of_unit: Vec<_> = other.iter().filter(|it| it.measured.unit == unit).copied().collect();
            @if !of_unit.is_empty() { (requests(&of_unit, unit).markup()) }
        }
        (super::latency::curves(&all))
        (processor(&all))
    }
}

const PATTERNS: [Pattern; 5] = [
    Pattern::SequentialRead,
    Pattern::SequentialWrite,
    Pattern::RandomRead,
    Pattern::RandomWrite,
    Pattern::RandomMixed,
];

/// The medium and the cipher where there is one of each.
fn what(all: &[Figured<'_>]) -> String {
    let mut specs: Vec<String> = Vec::new();
    let mut media: Vec<String> = Vec::new();
    for it in all {
        if let (Some(spec), Some(bits)) = (&it.case.spec, it.case.key_bits) {
            let text = format!("{spec} with a {bits}-bit key");
            if !specs.contains(&text) {
                specs.push(text);
            }
        }
        if !media.contains(&it.case.medium) {
            media.push(it.case.medium.clone());
        }
    }
    let specs = if specs.is_empty() { "nothing".to_owned() } else { words::list(&specs) };
    format!("Storage: {}. Encrypted with: {specs}.", words::list(&media))
}

pub(super) fn pattern_name(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::SequentialRead => "sequential read",
        Pattern::SequentialWrite => "sequential write",
        Pattern::RandomRead => "random read",
        Pattern::RandomWrite => "random write",
        Pattern::RandomMixed => "random, 70 % reads",
    }
}

/// "4 KiB requests, depth 32".
pub(super) fn load(case: &DiskCase) -> String {
    let block = words::bytes(u64::from(case.block));
    format!("{block} requests, depth {}", case.depth)
}

/// Throughput over the amount of data, or bars where there is one amount only.
fn over_sizes(all: &[&Figured<'_>], pattern: Pattern) -> Markup {
    let mut totals: Vec<u64> = all.iter().filter_map(|it| it.case.total).collect();
    totals.sort_unstable();
    totals.dedup();
    let unit = all[0].measured.unit;
    if totals.len() < 2 || all.iter().any(|it| it.measured.unit != unit) {
        return requests(all, unit).markup();
    }
    let title = capital(&format!("{}, over the amount of data", pattern_name(pattern)));
    let mut table =
        Table::new(&["Through", "Requests", "Amount", figure_head(unit), "", "Samples", "Remarks"], 0);
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
fn requests(all: &[&Figured<'_>], unit: Unit) -> Owned<Bars> {
    let mut series: Vec<String> = Vec::new();
    let mut rows: Vec<BarRow> = Vec::new();
    let mut table = Table::new(&["Through", "Requests", figure_head(unit), "", "Samples", "Remarks"], 0);
    for it in all {
        table.rows.push(cells(it, unit));
        let number = series.iter().position(|known| *known == it.path);
        let number = match number {
            Some(number) => number,
            None if series.len() < SERIES => {
                series.push(it.path.clone());
                series.len() - 1
            }
            None => continue,
        };
        let label = capital(pattern_name(it.case.pattern)) + ", " + &load(it.case);
        let bar = match unit {
            Unit::BytesPerSecond => super::ciphers::bar(number, &it.summary),
            _ => kdf::bar(number, &it.summary, unit),
        };
        push(&mut rows, label, bar);
    }
    let highest = all.iter().map(|it| it.summary.median).fold(0.0, f64::max);
    let (per, axis) = unit_axis(highest, unit);
    let title =
        if unit == Unit::RequestsPerSecond { "Requests a second" } else { "Throughput by kind of request" };
    Owned::new(title, "", Bars { series, rows, per, unit: axis }, table)
}

fn push(rows: &mut Vec<BarRow>, label: String, bar: Bar) {
    match rows.iter_mut().find(|row| row.label == label) {
        Some(row) => row.bars.push(bar),
        None => rows.push(BarRow { place: None, label, default: false, bars: vec![bar] }),
    }
}

fn cells(it: &Figured<'_>, unit: Unit) -> Vec<String> {
    let figure = match unit {
        Unit::BytesPerSecond => words::mib(it.summary.median),
        _ => words::count(it.summary.median),
    };
    vec![
        it.path.clone(),
        format!("{}, {}", pattern_name(it.case.pattern), load(it.case)),
        figure,
        words::precision(&it.summary),
        it.summary.count.to_string(),
        it.measured.notes.join("; "),
    ]
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

/// Processor time, which encryption costs also where the disk is the limit.
fn processor(all: &[Figured<'_>]) -> Markup {
    let timed: Vec<(&Figured<'_>, f64)> = all
        .iter()
        .filter_map(|it| Some((it, it.measured.cpu_seconds_per_gb?)))
        .filter(|(_, time)| *time > 0.0)
        .collect();
    if timed.is_empty() {
        return html! {};
    }
    let mut rows: Vec<BarRow> = Vec::new();
    let mut series: Vec<String> = Vec::new();
    let mut table = Table::new(&["Through", "Requests", "Seconds for 10⁹ bytes"], 0);
    for (it, time) in &timed {
        let label = capital(pattern_name(it.case.pattern)) + ", " + &load(it.case);
        table.rows.push(vec![it.path.clone(), label.clone(), words::digits(*time)]);
        let biggest = timed
            .iter()
            .all(|(other, _)| !same_but_size(other.case, it.case) || other.case.total <= it.case.total);
        let known = series.iter().position(|known| *known == it.path);
        if !biggest || known.is_none() && series.len() == SERIES {
            continue;
        }
        let number = known.unwrap_or_else(|| {
            series.push(it.path.clone());
            series.len() - 1
        });
        push(
            &mut rows,
            label,
            Bar { series: number, value: *time, interval: None, text: words::digits(*time) },
        );
    }
    let text = "Of the whole machine, or of all that took part, for 10⁹ bytes. Less is better.";
    let chart = Bars { series, rows, per: 1.0, unit: "seconds".into() };
    Owned::new("Processor time", text, chart, table).markup()
}

fn same_but_size(a: &DiskCase, b: &DiskCase) -> bool {
    DiskCase { total: None, ..a.clone() } == DiskCase { total: None, ..b.clone() }
}

/// With a capital letter.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
