//! The answer on a terminal: what to choose on this machine and why, and the few lines behind it.
//! The sentences are those of the page ([`super::html()`]).

use super::html::{self, fastest};
use super::ranking::{Entry, Group};
use super::{circumstances, machine_lines, terminal, wrong};
use crate::results::Results;
use std::fmt::Write;

/// The answer; `None` where there is nothing to choose between.
pub fn brief(results: &Results) -> Option<String> {
    let (choice, sentences) = html::in_words(results, choice)?;
    let mut text = format!("{choice}\n\n");
    for sentence in sentences {
        let _ = writeln!(text, "- {sentence}");
    }
    html::in_words(results, |group| Some(lines(group))).into_iter().for_each(|(lines, _)| text += &lines);
    let _ = writeln!(text, "\nOn {}.", machine_lines(results)[0]);
    for warning in &results.warnings {
        let _ = writeln!(text, "WARNING: {warning}");
    }
    for line in wrong(results) {
        let _ = writeln!(text, "WRONG OUTPUT: {line}");
    }
    let rows = results.rows.len();
    if !results.complete {
        let _ = writeln!(text, "The run was stopped: {rows} rows are complete.");
    }
    let _ = writeln!(text, "--all shows all {rows} rows, --html FILE makes a page of them.");
    Some(text)
}

/// A storage run on a terminal: what encryption costs, then everything.
pub fn brief_of_storage(results: &Results) -> String {
    let answer = super::disk::answer(results).map_or_else(String::new, |answer| format!("{answer}\n\n"));
    answer + &terminal(results)
}

/// What to choose, and why. The default is left only for something much faster.
fn choice(group: &Group<'_>) -> Option<String> {
    let default = group.entries.iter().find(|entry| entry.case.is_default())?;
    let best = fastest(group)?;
    let (own, highest) = (default.figure()?.median, best.figure()?.median);
    let (times, speed) = (highest / own, html::throughput(own));
    let (default_name, best_name) = (html::full_name(default.case), html::full_name(best.case));
    Some(if std::ptr::eq(default, best) {
        format!(
            "Choose the default, {default_name}: {speed}, and nothing that protects a disk is faster here."
        )
    } else if default.place == best.place {
        format!("Choose the default, {default_name}: {speed}, no difference from the fastest beyond noise.")
    } else if times < MUCH {
        format!(
            "Choose the default, {default_name}: {speed}. The fastest that protects a disk, {best_name}, is {times:.2} \
             times as fast: too little to leave the default for."
        )
    } else {
        format!("Choose {best_name}: {times:.1} times as fast here as the default, {default_name} ({speed}).")
    })
}

/// How much faster another cipher has to be.
const MUCH: f64 = 2.0;

/// The fastest that protect a disk, and the default.
fn lines(group: &Group<'_>) -> String {
    let fit = |entry: &&Entry<'_>| html::against(&entry.case.spec).is_none();
    let mut few: Vec<&Entry<'_>> = group.entries.iter().filter(fit).take(FEW).collect();
    let default = group.entries.iter().find(|entry| entry.case.is_default());
    few.extend(default.filter(|it| !few.iter().any(|entry| std::ptr::eq(*entry, *it))));
    format!("\n{}, MiB/s\n{}", circumstances(group.like), terminal::table(&few, group.highest()))
}

/// How many of them are shown.
const FEW: usize = 5;
