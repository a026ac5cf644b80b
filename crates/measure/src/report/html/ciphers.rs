//! Ciphers in memory: the ranking, and the gain from more cores.

use super::super::ranking::{Entry, Group};
use super::super::{by_key, distinct};
use super::advice;
use super::chart::{Bar, BarRow, Bars, Lines, Point, add_point, highest};
use super::figure::{Table, figure};
use super::palette::SERIES;
use super::run::{Run, full_name, requests, short_name, threads};
use super::words;
use crate::results::{By, Unit};
use crate::stats::Summary;
use maud::{Markup, html};

/// The ranking under the main circumstances, and under all others in a collapsed section.
pub(super) fn ranking(run: &Run<'_>) -> Markup {
    let Some(main) = run.main_group() else { return html! {} };
    let others: Vec<&Group<'_>> = run.groups.iter().filter(|group| !std::ptr::eq(*group, main)).collect();
    html! {
        h2 { "Ciphers in memory" }
        p {
            "The speed of ciphers when the disk is not the limit. Thin lines across the ends of bars are the \
             95 % intervals of "
            "the medians. Places are by encryption speed; ciphers that noise alone could have put in another \
            order share one. "
            b { "Bold" } " is the tool's default."
        }
        (group(main))
        @for other in others {
            details.more {
                summary { "Ranking: " (title(other)) }
                (group(other))
            }
        }
    }
}

fn title(group: &Group<'_>) -> String {
    format!("{}, {}", threads(group.like.threads), requests(group.like))
}

fn group(group: &Group<'_>) -> Markup {
    let shown = shown(group);
    let left = group.entries.len() - shown.len();
    let mut text = String::new();
    if left > 0 {
        text = format!("The fastest {} and the default; {left} more are in the table.", shown.len());
    }
    let mut chart = Bars { rows: shown.into_iter().map(row).collect(), ..Bars::default() };
    chart.name_series(["encrypt", "decrypt"]);
    (chart.per, chart.unit) = words::axis(group.highest(), Unit::BytesPerSecond);
    figure(&title(group), &text, &chart, &table(group))
}

/// The entries that fit in a chart, always including the default.
fn shown<'g, 'a>(group: &'g Group<'a>) -> Vec<&'g Entry<'a>> {
    let wanted = |(number, entry): &(usize, &Entry<'_>)| *number < MOST || entry.case.is_default();
    group.entries.iter().enumerate().filter(wanted).map(|(_, entry)| entry).collect()
}

const MOST: usize = 24;

fn row(entry: &Entry<'_>) -> BarRow {
    let directions = [&entry.encrypt, &entry.decrypt].into_iter().enumerate();
    let bars = directions
        .filter_map(|(series, summary)| Some(Bar::of(series, summary.as_ref()?, Unit::BytesPerSecond)));
    let mark = if advice::against(&entry.case.spec).is_some() { " †" } else { "" };
    BarRow {
        place: Some(entry.place),
        label: format!("{}{mark}", short_name(entry.case)),
        default: entry.case.is_default(),
        bars: bars.collect(),
    }
}

fn table(group: &Group<'_>) -> Table {
    let head =
        "Place|Cipher|Key|Encrypt, MiB/s|95 % interval|Decrypt, MiB/s|95 % interval|Samples|Outliers|Remark";
    let mut table = Table { label: 1, ..Table::new(head) };
    for entry in &group.entries {
        let summaries = [&entry.encrypt, &entry.decrypt];
        let count =
            |of: fn(&Summary) -> usize| summaries.iter().filter_map(|it| it.as_ref()).map(of).sum::<usize>();
        let mut cells = vec![entry.place.to_string(), entry.name(), entry.case.key_bits.to_string()];
        for summary in summaries {
            cells.push(summary.as_ref().map_or_else(String::new, |it| words::mib(it.median)));
            cells.push(summary.as_ref().map_or_else(String::new, interval));
        }
        cells.push(count(|it| it.count).to_string());
        cells.push(count(|it| it.outliers.len()).to_string());
        cells.push(remark(entry));
        table.rows.push(cells);
    }
    table
}

/// "5.19–5.24"; empty if there are too few samples.
pub(super) fn interval(summary: &Summary) -> String {
    let show = |(low, high)| format!("{}–{}", words::mib(low), words::mib(high));
    summary.interval.map_or_else(String::new, show)
}

fn remark(entry: &Entry<'_>) -> String {
    let default = entry.case.is_default().then_some("default");
    let parts: Vec<&str> = default.into_iter().chain(advice::against(&entry.case.spec)).collect();
    parts.join("; ")
}

/// The meaning of the marks in the ranking, if there are any.
pub(super) fn not_for_disks(run: &Run<'_>) -> Markup {
    let entries = run.groups.iter().flat_map(|group| &group.entries);
    let unfit = entries.filter_map(|it| Some((advice::against(&it.case.spec)?, it.case.spec.as_str())));
    let reasons = by_key(unfit);
    html! {
        @if !reasons.is_empty() {
            details.more {
                summary { "† Fast, but not fit for a disk" }
                dl { @for (reason, specs) in reasons { dt { (reason) } dd { (distinct(specs).join(", ")) } } }
            }
        }
    }
}

/// The gain from more cores, for the default and the fastest.
pub(super) fn scaling(run: &Run<'_>) -> Markup {
    let Some(main) = run.main_group() else { return html! {} };
    let like = main.like;
    let mut counts: Vec<u32> = run.groups.iter().map(|group| group.like.threads).collect();
    counts.retain(|count| run.group_like(like, *count).is_some());
    counts.sort_unstable();
    counts.dedup();
    if counts.len() < 2 {
        return html! {};
    }
    let own = |entry: &&Entry<'_>| {
        let fit = entry.case.is_default() || advice::against(&entry.case.spec).is_none();
        entry.case.by == By::Keyway && entry.encrypt.is_some() && fit
    };
    let mut chosen: Vec<&Entry<'_>> = main.entries.iter().filter(own).collect();
    chosen.sort_by_key(|entry| !entry.case.default);
    chosen.truncate(SERIES);
    let mut table = Table::new("Cipher|Threads|Encrypt, MiB/s|95 % interval|Times one thread");
    let mut lines = Vec::new();
    for entry in chosen {
        let mut alone = None;
        for &count in &counts {
            let Some(summary) = over_threads(run, entry, count) else { continue };
            if count == 1 {
                alone = Some(summary.median);
            }
            let times = alone.map_or_else(String::new, |alone| format!("×{:.2}", summary.median / alone));
            let (median, interval) = (words::mib(summary.median), interval(summary));
            table.rows.push(vec![full_name(entry.case), count.to_string(), median, interval, times]);
            let point = Point { at: f64::from(count), value: summary.median, interval: summary.interval };
            add_point(&mut lines, &short_name(entry.case), point);
        }
    }
    let (per, unit) = words::axis(highest(&lines), Unit::BytesPerSecond);
    let marks = counts.iter().map(|count| (f64::from(*count), count.to_string())).collect();
    let chart = Lines { across: "threads".into(), marks, per, unit, by_tens: false, lines };
    let text = format!(
        "Encryption by all threads together, {}. The default and the fastest that are fit for a disk.",
        requests(like)
    );
    html! { h2 { "More cores" } (figure("Throughput over threads", &text, &chart, &table)) }
}

/// The encryption of the same cipher with that many threads.
fn over_threads<'r>(run: &'r Run<'_>, entry: &Entry<'_>, count: u32) -> Option<&'r Summary> {
    let key = |entry: &Entry<'_>| (entry.case.by.clone(), entry.case.spec.clone(), entry.case.key_bits);
    let group = run.group_like(entry.case, count)?;
    group.entries.iter().find(|other| key(other) == key(entry))?.encrypt.as_ref()
}
