//! Remarks for the reader: warnings above the figures, what could not be measured below them, and
//! how everything was measured.

use super::super::{reasons, totals, wrong};
use super::run::Run;
use super::words;
use crate::results::Case;
use maud::{Markup, html};

/// Above the figures.
pub(super) fn warnings(run: &Run<'_>) -> Markup {
    let wrong = wrong(run.results);
    html! {
        @if !wrong.is_empty() {
            div.bad role="note" {
                h3 { "Wrong output" }
                p { "This code computed a wrong result. It has no figures: do not use it." }
                ul { @for line in wrong { li { (line) } } }
            }
        }
        @if !run.results.complete {
            p.warn role="note" { "The run was stopped: " (run.results.rows.len()) " rows are complete, others are missing." }
        }
        @if !run.results.warnings.is_empty() {
            div.warn role="note" {
                h3 { "Before believing a figure" }
                ul { @for warning in &run.results.warnings { li { (warning) } } }
            }
        }
    }
}

/// Cases without figures, by reason.
pub(super) fn without_figures(run: &Run<'_>) -> Markup {
    let impossible = reasons(run.results, true);
    let not_measured = reasons(run.results, false);
    html! {
        @for (title, about, reasons) in [
            ("What cannot exist", "Combinations that the kernel refuses, with the rule that forbids each. \
                Published figures for them measure something other than their name says.", impossible),
            ("What could not be measured here", "", not_measured),
        ] {
            @if !reasons.is_empty() {
                h2 { (title) }
                @if !about.is_empty() { p { (about) } }
                dl { @for (reason, names) in reasons {
                    dt { (reason) }
                    dd { (names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", "))
                        @if names.len() > NAMED {
                            details.more {
                                summary { (names.len() - NAMED) " more" }
                                p { (names[NAMED..].join(", ")) }
                            }
                        }
                    }
                } }
            }
        }
    }
}

const NAMED: usize = 12;

/// How it was measured, in plain words, with this run's numbers.
pub(super) fn method(runs: &[Run<'_>]) -> Markup {
    let kinds = |kind: fn(&Case) -> bool| runs.iter().any(|run| run.has(kind));
    html! {
        h2 #method { "How it was measured" }
        ul.method {
            li { "Everything takes turns: each case is sampled once, then each again, so that what disturbs the machine for a while "
                "disturbs all of them alike." }
            li { "A case is sampled until its median is known well enough, or its time is up. “Known” means the 95 % interval from "
                "order statistics, which assumes nothing about how times are distributed; it needs six samples at least." }
            li { "A difference counts when intervals do not overlap. What noise could have put in another order shares a place." }
            li { "Outliers are counted and kept: the median does not follow them." }
            @if kinds(|case| matches!(case, Case::Cipher(_))) {
                li { "Output is checked before and after each sample, against code other than the measured one. A wrong byte is "
                    "reported, never timed." }
                li { "“In memory” means that the data is in the processor's caches or in memory already: it is what the cipher can do, "
                    "not what a disk will do." }
            }
            @if kinds(|case| matches!(case, Case::Disk(_))) {
                li { "Storage: all of it is written with random data before it is measured. Plain and encrypted are measured in turn, in the "
                    "same run, on the same bytes, bypassing the page cache if the file system allows that." }
                li { "Requests are made by fio if it is installed, else by Keyway's own engine; a chart compares only requests made "
                    "by the same one. Keyway's engine includes the flush in its time, fio does not." }
                li { "After each sample eight places are read through the encryption and below it, and compared with what other code makes "
                    "of them. A device that keeps no data says so instead." }
                li { "Model: a byte comes from the disk, at d bytes a second, and goes through the cipher, at c: together c·d/(c+d). d is "
                    "the plain storage under the same requests, c the cipher in memory in the same run, on as many cores as there are "
                    "requests at once." }
                li { "Processor time is that of the process that makes the requests; where the kernel encrypts, the whole machine's, with "
                    "everything else that ran." }
            }
            @for run in runs { (numbers(run, runs.len() > 1)) }
        }
    }
}

fn numbers(run: &Run<'_>, named: bool) -> Markup {
    let settings = &run.results.settings;
    let (samples, outliers, shortest) = totals(run.results);
    html! {
        li {
            @if named { b { (run.name) } ": " }
            "suite “" (settings.suite) "”"
            @for filter in &settings.filters { " " code { (filter) } }
            "; " (words::plural(run.results.rows.len(), "row", "rows")) ", " (words::plural(samples, "sample", "samples"))
            ", " (words::plural(outliers, "outlier", "outliers")) "; wanted: ±" (words::percent(settings.precision))
            " from " (settings.least_samples) " to " (settings.most_samples) " samples"
            @if let Some(seconds) = settings.time_seconds { " within " (words::count(seconds)) " seconds" }
            @if shortest.is_finite() && shortest > 0.0 {
                "; looking at the clock took " (format!("{:.4}", 200.0 * settings.clock_seconds / shortest))
                " % of the shortest sample (" (words::microseconds(shortest * 1e6)) ")"
            }
            "."
        }
    }
}
