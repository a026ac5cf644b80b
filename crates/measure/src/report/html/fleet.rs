//! Several machines beside each other.

use super::super::ranking::Entry;
use super::super::{figures, label};
use super::answer::{fastest, pairs};
use super::chart::{Bar, BarRow, Bars};
use super::ciphers::interval;
use super::figure::{Table, figure};
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
        let mut row = BarRow { label: run.name.clone(), ..BarRow::default() };
        let all = Some((1, run.all_cores())).filter(|(_, cores)| *cores != like.threads);
        for (series, count) in [(0, like.threads)].into_iter().chain(all) {
            let entry = run.group_like(like, count).and_then(default_of);
            let Some(summary) = entry.and_then(|entry| entry.encrypt.as_ref()) else { continue };
            row.bars.push(Bar::of(series, summary, Unit::BytesPerSecond));
            let (median, interval) = (words::mib(summary.median), interval(summary));
            table.rows.push(vec![run.name.clone(), count.to_string(), median, interval]);
        }
        rows.extend(Some(row).filter(|row| !row.bars.is_empty()));
    }
    if rows.is_empty() {
        return html! {};
    }
    let mut chart = Bars::of(rows, Unit::BytesPerSecond);
    chart.name_series([&threads(like.threads), "all cores"]);
    let text = format!("Encryption with the default, {}.", requests(like));
    figure("The default on each machine", &text, &chart, &table)
}

/// Adds one machine's figure to the row of what it has in common with others.
fn add(all: &mut Bars, label: &str, default: bool, machine: usize, summary: &Summary, unit: Unit) {
    let row = all.labelled(label);
    row.default |= row.bars.is_empty() && default;
    row.bars.push(Bar::of(machine, summary, unit));
}

/// The chart of what the machines have in common, with bars of the machines that fit.
fn chart(runs: &[Run<'_>], rows: impl Iterator<Item = BarRow>, unit: Unit) -> Bars {
    let fitting = |mut row: BarRow| {
        row.bars.retain(|bar| bar.series < SERIES);
        row
    };
    let mut chart = Bars::of(rows.map(fitting).collect(), unit);
    chart.series = runs.iter().take(SERIES).map(|run| run.name.clone()).collect();
    chart
}

fn ciphers(runs: &[Run<'_>]) -> Markup {
    let Some(like) = common(runs) else { return html! {} };
    let mut all = Bars::default();
    for (number, run) in runs.iter().enumerate() {
        let entries = run.group_like(like, like.threads).into_iter().flat_map(|group| &group.entries);
        for entry in entries.filter(|entry| entry.case.by == By::Keyway) {
            let Some(summary) = &entry.encrypt else { continue };
            let (label, default) = (short_name(entry.case), entry.case.default);
            add(&mut all, &label, default, number, summary, Unit::BytesPerSecond);
        }
    }
    let table = table(runs, &mut all, words::mib);
    let shared = all.rows.into_iter().filter(|it| it.bars.len() > 1 || runs.len() == 1).enumerate();
    let shown = shared.filter(|(number, it)| *number < MOST || it.default).map(|(_, it)| it);
    let chart = chart(runs, shown, Unit::BytesPerSecond);
    if chart.rows.is_empty() {
        return html! {};
    }
    let text = format!(
        "MiB/s of encryption, {}, {}. What two machines measured at least; everything is in the table.",
        threads(like.threads),
        requests(like)
    );
    figure("Ciphers, machine beside machine", &text, &chart, &table)
}

const MOST: usize = 12;

/// All figures, the row with the highest first; sorts `all` likewise.
fn table(runs: &[Run<'_>], all: &mut Bars, show: fn(f64) -> String) -> Table {
    all.rows.sort_by(|a, b| b.highest().total_cmp(&a.highest()));
    let mut table = Table::new("");
    table.head.extend(runs.iter().map(|run| run.name.clone()));
    for row in &all.rows {
        let figure = |machine: usize| {
            let found = row.bars.iter().find(|bar| bar.series == machine);
            found.map_or_else(String::new, |bar| show(bar.value))
        };
        table.rows.push(std::iter::once(row.label.clone()).chain((0..runs.len()).map(figure)).collect());
    }
    table
}

fn kdfs(runs: &[Run<'_>]) -> Markup {
    let kinds = [
        (Unit::IterationsPerSecond, "PBKDF2, machine beside machine"),
        (Unit::PassesPerSecond, "Argon2, machine beside machine"),
    ];
    let of_kind = |(unit, title): (Unit, &str)| {
        let mut all = Bars::default();
        for (number, run) in runs.iter().enumerate() {
            for (case, measured, summary) in figures(run.results) {
                let Case::Kdf(it) = case else { continue };
                if measured.unit == unit && it.by == By::Keyway {
                    add(&mut all, &label(case), it.default, number, &summary, unit);
                }
            }
        }
        all.rows.retain(|it| it.bars.len() > 1);
        let table = table(runs, &mut all, words::count);
        let (per, axis) = words::axis(all.highest(), unit);
        let chart = Bars { per, unit: axis, ..chart(runs, all.rows.into_iter(), unit) };
        html! { @if !chart.rows.is_empty() { (figure(title, "", &chart, &table)) } }
    };
    html! { @for kind in kinds { (of_kind(kind)) } }
}
