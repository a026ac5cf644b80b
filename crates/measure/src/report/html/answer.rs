//! The answer before the charts: what is fastest, how the default compares, and what cannot be
//! distinguished.

use super::super::ranking::{Entry, Group};
use super::super::{figures, label};
use super::run::{Run, default_of, full_name, requests, short_name, threads};
use super::{advice, disk, words};
use crate::results::{By, Case, Measured, Pattern, Unit};
use crate::stats::{Change, Summary, compare};
use maud::{Markup, html};
use std::collections::HashSet;

/// A large figure with its caption.
struct Tile {
    what: &'static str,
    figure: String,
    about: String,
}

/// The answer in large figures and in sentences.
pub(super) fn answer(run: &Run<'_>) -> Markup {
    let (tiles, sentences) = (tiles(run), sentences(run));
    html! {
        @if !tiles.is_empty() {
            ul.tiles { @for tile in tiles {
                li { span.what { (tile.what) } " " span.figure { (tile.figure) } " " span.about { (tile.about) } }
            } }
        }
        @if !sentences.is_empty() { ul.answer { @for sentence in sentences { li { (sentence) } } } }
    }
}

fn tiles(run: &Run<'_>) -> Vec<Tile> {
    let mut tiles = Vec::new();
    if let Some(group) = run.main_group().filter(|group| !is_alone(group)) {
        let tile = |what, entry: Option<&Entry<'_>>| {
            let figure = words::throughput(entry?.figure()?.median);
            let case = entry?.case;
            Some(Tile { what, figure, about: format!("{}, {}", short_name(case), threads(case.threads)) })
        };
        let all = run.all_cores();
        let everywhere = run.group_like(group.like, all).filter(|_| all > group.like.threads);
        tiles.extend(tile("fastest fit for a disk", fastest(group)));
        tiles.extend(tile("the default", default_of(group)));
        tiles.extend(tile("the default, all cores", everywhere.and_then(default_of)));
    }
    // The figures that disks are sold by: each once, for the first way to encrypt.
    let mut shown = HashSet::from([Pattern::RandomMixed]);
    for (plain, encrypted) in pairs(run).iter().filter(|(_, it)| shown.insert(it.case.pattern)) {
        let part = encrypted.summary.median / plain.summary.median;
        tiles.push(Tile {
            what: "of plain storage",
            figure: words::percent(part.min(9.99)),
            about: format!("{} through {}", disk::pattern_name(encrypted.case.pattern), encrypted.path),
        });
    }
    tiles
}

/// A single cipher cannot be the fastest; it was measured only for the storage model.
pub(super) fn is_alone(group: &Group<'_>) -> bool {
    group.entries.len() < 2
}

/// The fastest cipher that protects a disk.
pub(in crate::report) fn fastest<'g, 'a>(group: &'g Group<'a>) -> Option<&'g Entry<'a>> {
    group.entries.iter().find(|entry| advice::against(&entry.case.spec).is_none())
}

pub(super) fn sentences(run: &Run<'_>) -> Vec<Markup> {
    let mut sentences: Vec<Markup> = Vec::new();
    sentences.extend(super::super::disk::answer(run.results).map(|answer| html! { b { (answer) } }));
    if let Some(group) = run.main_group().filter(|group| !is_alone(group)) {
        sentences.extend(of_the_fastest(group));
        sentences.extend(of_the_default(group));
        sentences.extend(of_the_peers(group));
        sentences.extend(of_all_cores(run, group));
    }
    sentences.extend(pairs(run).iter().take(MOST_PAIRS).map(of_a_pair));
    sentences.extend(of_kdfs(run));
    sentences.extend(of_noise(run));
    sentences
}

const MOST_PAIRS: usize = 4;

fn of_the_fastest(group: &Group<'_>) -> Option<Markup> {
    let best = fastest(group)?;
    let summary = best.figure()?;
    let against = |entry: &Entry<'_>| advice::against(&entry.case.spec);
    let others = group.entries.iter().filter(|other| !std::ptr::eq(*other, best) && against(other).is_none());
    let tied = others.filter(|other| other.place == best.place).map(|other| full_name(other.case));
    let tied: Vec<String> = tied.collect();
    let unfit = group.entries.first().and_then(|first| Some((first, against(first)?)));
    Some(html! {
        b { (full_name(best.case)) } " is the fastest cipher here that protects a disk: "
        (words::throughput(summary.median)) " " (words::precision(summary)) " with " (threads(group.like.threads)) " and "
        (requests(group.like)) "."
        @if !tied.is_empty() { " Not distinguishable from it beyond noise: " (words::list(&tied)) "." }
        @if let Some((first, reason)) = unfit {
            " " (full_name(first.case)) " is faster, but is not fit for a disk: " (reason) "."
        }
    })
}

fn of_the_default(group: &Group<'_>) -> Option<Markup> {
    let (default, best) = (default_of(group)?, fastest(group)?);
    let (own, highest) = (default.figure()?, best.figure()?);
    Some(html! {
        "The default, " b { (full_name(default.case)) } ", "
        @if std::ptr::eq(default, best) {
            "is that fastest one."
        } @else if default.place == best.place {
            "makes " (words::throughput(own.median)) ": no difference from the fastest beyond noise."
        } @else {
            "makes " (words::throughput(own.median)) " " (words::precision(own)) "; the fastest is "
            (words::times(highest.median / own.median)) " as fast."
        }
    })
}

/// Keyway's default beside the same cipher in other implementations.
fn of_the_peers(group: &Group<'_>) -> Vec<Markup> {
    let Some(own) = default_of(group) else { return Vec::new() };
    let same = |entry: &&Entry<'_>| {
        entry.case.by != By::Keyway
            && (&entry.case.spec, entry.case.key_bits) == (&own.case.spec, own.case.key_bits)
    };
    let sentence = |peer: &Entry<'_>| {
        let (a, b) = (own.figure()?, peer.figure()?);
        let verdict = match compare(b, a, 0.0) {
            Change::By(_) => format!("Keyway's code is {} as fast as", words::times(a.median / b.median)),
            _ => "there is no difference beyond noise between Keyway's code and".to_owned(),
        };
        Some(html! {
            "At " (own.case.spec) " " (verdict) " that of " (peer.case.by) " (" (words::throughput(a.median)) " and "
            (words::throughput(b.median)) ")."
        })
    };
    group.entries.iter().filter(same).filter_map(sentence).collect()
}

fn of_all_cores(run: &Run<'_>, group: &Group<'_>) -> Option<Markup> {
    let all = run.all_cores();
    let alone = default_of(group).filter(|entry| entry.case.threads == 1)?.figure()?;
    let together = default_of(run.group_like(group.like, all).filter(|_| all > 1)?)?.figure()?;
    Some(html! {
        "On all " (all) " cores the default makes " (words::throughput(together.median)) ", "
        @match compare(alone, together, 0.0) {
            Change::By(_) => { (words::times(together.median / alone.median)) " what one does." }
            _ => { "no difference from one beyond noise." }
        }
    })
}

/// Plain and encrypted storage under the same load: the largest sequential size first, reading
/// before writing.
pub(super) fn pairs<'a>(run: &Run<'a>) -> Vec<(disk::Figured<'a>, disk::Figured<'a>)> {
    let mut pairs: Vec<(disk::Figured<'a>, disk::Figured<'a>)> = Vec::new();
    for comparison in disk::comparisons(run) {
        let (plain, encrypted): (Vec<_>, Vec<_>) =
            comparison.items.into_iter().partition(|it| it.case.by == By::Plain);
        for it in encrypted {
            let load = |it: &disk::Figured<'_>| {
                let case = it.case;
                (case.pattern, case.block, case.depth, case.total, it.measured.unit)
            };
            let beside = plain.iter().find(|other| load(other) == load(&it));
            pairs.extend(beside.cloned().map(|beside| (beside, it)));
        }
    }
    // One or two measurements prove nothing.
    let vague = |it: &disk::Figured<'_>| it.summary.interval.is_none();
    pairs.sort_by_key(|(plain, it)| {
        let pattern = disk::PATTERNS.iter().position(|known| *known == it.case.pattern);
        let deep = std::cmp::Reverse((it.case.total, it.case.depth));
        (pattern, vague(plain) || vague(it), it.case.by != By::Keyway, deep)
    });
    // One data size is enough.
    let mut seen = HashSet::new();
    pairs.retain(|(_, it)| seen.insert((it.case.pattern, it.case.block, it.case.depth, it.path.clone())));
    pairs
}

fn of_a_pair((plain, encrypted): &(disk::Figured<'_>, disk::Figured<'_>)) -> Markup {
    let show = |it: &disk::Figured<'_>| words::value(it.summary.median, plain.measured.unit);
    let what = disk::capital(&disk::pattern_name(encrypted.case.pattern));
    html! {
        (what) " (" (disk::load(encrypted.case))
        @if let Some(total) = encrypted.case.total { ", " (words::bytes(total)) }
        ") through " b { (encrypted.path) } ": "
        (encrypted.cost.map_or_else(|| "not compared".to_owned(), |cost| cost.sentence("plain's speed")))
        ", " (show(encrypted)) " beside " (show(plain))
        @if let Some(words) = encrypted.cost.zip(encrypted.model).and_then(|(cost, model)| cost.beside_model(&model)) {
            " (" (words) ")"
        }
        "."
    }
}

fn of_kdfs(run: &Run<'_>) -> Option<Markup> {
    let usual = figures(run.results).filter(|(case, measured, _)| match case {
        Case::Kdf(it) if measured.unit != Unit::Cost && it.by == By::Keyway => {
            it.default || it.hash.as_deref() == Some("sha256") && it.lanes == 1
        }
        _ => false,
    });
    let figure = |(case, measured, summary): (&Case, &Measured, Summary)| {
        format!("{}: {}", label(case), words::value(summary.median, measured.unit))
    };
    let figures: Vec<String> = usual.map(figure).collect();
    (!figures.is_empty()).then(|| html! { "Key derivation: " (figures.join("; ")) "." })
}

/// Rows whose interval is wider than requested.
fn of_noise(run: &Run<'_>) -> Option<Markup> {
    let wanted = run.results.settings.precision;
    let precisions = || figures(run.results).map(|(.., summary)| summary.precision());
    let (all, vague) =
        (precisions().count(), precisions().filter(|found| found.is_none_or(|found| found > wanted)).count());
    (all > 0).then(|| {
        html! {
            @if vague == 0 {
                "All " (all) " medians are known to ±" (words::percent(wanted)) " or better."
            } @else {
                (vague) " of " (all) " medians are not known to ±" (words::percent(wanted))
                ": what differs by less than its intervals is not ranked."
            }
        }
    })
}
