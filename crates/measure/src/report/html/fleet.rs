//! Several machines beside each other.

use super::super::label;
use super::super::ranking::Entry;
use super::answer::{fastest, pairs};
use super::chart::{Bar, BarRow, Bars};
use super::ciphers::interval;
use super::figure::{Figure, Table};
use super::palette::SERIES;
use super::run::{Run, default_of, full_name, requests, short_name, threads};
use super::words;
use crate::results::{By, Case, CipherCase, Unit};
use crate::stats::Summary;
use maud::{Markup, html};

/// Each machine's answer in a sentence, the default on each, then
/// everything that several of them measured.
pub(super) fn overview(runs: &[Run<'_>]) -> Markup {
    html! {
        ul.answer { @for run in runs { li { b { (run.name) } ": " (sentence(run)) } } }
        h2 { "Machine beside machine" }
        (default_everywhere(runs))
        @if runs.len() > SERIES {
            p { "The charts below have room for " (SERIES) " machines; their tables have all." }
        }
        (ciphers(runs))
        (kdfs(runs))
    }
}

fn sentence(run: &Run<'_>) -> Markup {
    let group = run.main_group();
    let best = group.and_then(fastest);
    let default = group.and_then(default_of);
    let part = pairs(run).into_iter().next();
    html! {
        @if let Some((best, figure)) = best.and_then(|it| Some((it, it.figure()?))) {
            "the fastest that protects a disk is " (full_name(best.case)) " (" (words::throughput(figure.median)) ", "
            (threads(best.case.threads)) ")"
        }
        @if let Some(figure) = default.and_then(Entry::figure) { "; the default makes " (words::throughput(figure.median)) }
        @if let Some((plain, encrypted)) = part {
            "; encrypted storage reaches " (words::percent(encrypted.summary.median / plain.summary.median)) " of plain"
        }
        @if group.is_none() && pairs(run).is_empty() { (words::plural(run.results.rows.len(), "row", "rows")) }
        "."
    }
}

/// The circumstances for which most machines have cipher figures.
fn common<'r>(runs: &'r [Run<'_>]) -> Option<&'r CipherCase> {
    let mains: Vec<&CipherCase> = runs.iter().filter_map(|run| Some(run.main_group()?.like)).collect();
    let shared =
        |like: &&&CipherCase| runs.iter().filter(|run| run.group_like(like, like.threads).is_some()).count();
    mains.iter().max_by_key(shared).copied()
}

fn default_everywhere(runs: &[Run<'_>]) -> Markup {
    let Some(like) = common(runs) else { return html! {} };
    let mut table = Table::new("Machine|Threads|Encrypt, MiB/s|95 % interval");
    let mut rows = Vec::new();
    for run in runs {
        let mut bars = Vec::new();
        for (series, count) in [(0, like.threads), (1, run.all_cores())] {
            if series == 1 && count == like.threads {
                continue;
            }
            let entry = run.group_like(like, count).and_then(default_of);
            let Some(summary) = entry.and_then(|entry| entry.encrypt.as_ref()) else { continue };
            bars.push(Bar::of(series, summary, Unit::BytesPerSecond));
            table.rows.push(vec![
                run.name.clone(),
                count.to_string(),
                words::mib(summary.median),
                interval(summary),
            ]);
        }
        if !bars.is_empty() {
            rows.push(BarRow { label: run.name.clone(), bars, ..BarRow::default() });
        }
    }
    if rows.is_empty() {
        return html! {};
    }
    let series = if rows.iter().any(|row| row.bars.len() > 1) {
        vec![threads(like.threads), "all cores".to_owned()]
    } else {
        Vec::new()
    };
    let text = format!("Encryption with the default, {}.", requests(like));
    html! {
        (Figure::new("The default on each machine", text, bars(series, rows), table).markup())
    }
}

fn bars(series: Vec<String>, rows: Vec<BarRow>) -> Bars {
    let mut bars = Bars { series, rows, ..Bars::default() };
    (bars.per, bars.unit) = words::axis(bars.highest(), Unit::BytesPerSecond);
    bars
}

/// What the machines have in common: a label, and a figure by machine.
struct Shared {
    label: String,
    default: bool,
    figures: Vec<(usize, Summary)>,
}

impl Shared {
    fn add(all: &mut Vec<Self>, label: String, default: bool, machine: usize, summary: &Summary) {
        let figure = (machine, summary.clone());
        match all.iter_mut().find(|known| known.label == label) {
            Some(known) => known.figures.push(figure),
            None => all.push(Self { label, default, figures: vec![figure] }),
        }
    }

    fn highest(&self) -> f64 {
        self.figures.iter().map(|(_, summary)| summary.median).fold(0.0, f64::max)
    }

    /// A row with a bar for each machine that fits.
    fn row(&self, unit: Unit) -> BarRow {
        let shown = self.figures.iter().filter(|(machine, _)| *machine < SERIES);
        let bars = shown.map(|(machine, summary)| Bar::of(*machine, summary, unit)).collect();
        BarRow { place: None, label: self.label.clone(), default: self.default, bars }
    }
}

/// Names of the machines that a chart shows.
fn names(runs: &[Run<'_>]) -> Vec<String> {
    runs.iter().take(SERIES).map(|run| run.name.clone()).collect()
}

fn ciphers(runs: &[Run<'_>]) -> Markup {
    let Some(like) = common(runs) else { return html! {} };
    let mut all: Vec<Shared> = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        let Some(group) = run.group_like(like, like.threads) else { continue };
        for entry in group.entries.iter().filter(|entry| entry.case.by == By::Keyway) {
            let Some(summary) = &entry.encrypt else { continue };
            Shared::add(&mut all, short_name(entry.case), entry.case.default, number, summary);
        }
    }
    all.sort_by(|a, b| b.highest().total_cmp(&a.highest()));
    let table = table(runs, &all, words::mib);
    let mut shown: Vec<&Shared> = all.iter().filter(|it| it.figures.len() > 1 || runs.len() == 1).collect();
    let mut number = 0;
    shown.retain(|it| {
        number += 1;
        number <= MOST || it.default
    });
    if shown.is_empty() {
        return html! {};
    }
    let rows = shown.into_iter().map(|it| it.row(Unit::BytesPerSecond)).collect();
    let text = format!(
        "MiB/s of encryption, {}, {}. What two machines measured at least; everything is in the table.",
        threads(like.threads),
        requests(like)
    );
    Figure::new("Ciphers, machine beside machine", text, bars(names(runs), rows), table).markup()
}

const MOST: usize = 12;

fn table(runs: &[Run<'_>], all: &[Shared], show: fn(f64) -> String) -> Table {
    let mut table = Table::new("");
    table.head.extend(runs.iter().map(|run| run.name.clone()));
    for it in all {
        let figure = |machine: usize| {
            let found = it.figures.iter().find(|(known, _)| *known == machine);
            found.map_or_else(String::new, |(_, summary)| show(summary.median))
        };
        table.rows.push(std::iter::once(it.label.clone()).chain((0..runs.len()).map(figure)).collect());
    }
    table
}

fn kdfs(runs: &[Run<'_>]) -> Markup {
    let kinds = [
        (Unit::IterationsPerSecond, "PBKDF2, machine beside machine"),
        (Unit::PassesPerSecond, "Argon2, machine beside machine"),
    ];
    let chart = |(unit, title): (Unit, &str)| {
        let mut all: Vec<Shared> = Vec::new();
        for (number, run) in runs.iter().enumerate() {
            for row in &run.results.rows {
                let (Case::Kdf(case), Some(measured)) = (&row.case, row.measured()) else { continue };
                if measured.unit != unit || case.by != By::Keyway {
                    continue;
                }
                let Some(summary) = Summary::of(measured) else { continue };
                Shared::add(&mut all, label(&row.case), case.default, number, &summary);
            }
        }
        all.retain(|it| it.figures.len() > 1);
        if all.is_empty() {
            return html! {};
        }
        all.sort_by(|a, b| b.highest().total_cmp(&a.highest()));
        let table = table(runs, &all, words::count);
        let (per, axis) = words::axis(all[0].highest(), unit);
        let rows = all.iter().map(|it| it.row(unit)).collect();
        Figure::new(title, "", Bars { series: names(runs), rows, per, unit: axis }, table).markup()
    };
    html! { @for kind in kinds { (chart(kind)) } }
}
