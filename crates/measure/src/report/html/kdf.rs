//! Key derivation: how much work an attacker has with each guess, and
//! the machine with one passphrase.

use super::super::label;
use super::chart::{Bar, BarRow, Bars};
use super::ciphers::Owned;
use super::figure::Table;
use super::palette::SERIES;
use super::run::Run;
use super::words;
use crate::results::{By, Case, KdfCase, Measured, Unit};
use crate::stats::Summary;
use maud::{Markup, html};

/// A figure of a key derivation.
struct Figured<'a> {
    case: &'a KdfCase,
    measured: &'a Measured,
    summary: Summary,
}

/// A chart for each kind of figure.
pub(super) fn kdfs(run: &Run<'_>) -> Markup {
    let all = figured(run);
    html! {
        @if !all.is_empty() {
            h2 { "Key derivation" }
            p {
                "Made slow on purpose: what this machine can do in a second, somebody who guesses passphrases can do too. More "
                "work a second on your machine means that more work can be asked of an attacker in the same waiting time."
            }
            @for (unit, pbkdf2, title) in KINDS {
                @let of_kind = || all.iter().filter(|it| (it.measured.unit, it.case.kdf == "pbkdf2") == (unit, pbkdf2));
                @if of_kind().next().is_some() {
                    (chart(&of_kind().collect::<Vec<_>>(), title, unit).markup())
                }
            }
        }
    }
}

/// What is counted, whether of PBKDF2, and what that is called.
const KINDS: [(Unit, bool, &str); 4] = [
    (Unit::IterationsPerSecond, true, "PBKDF2: iterations a second"),
    (Unit::PassesPerSecond, false, "Argon2: passes over its memory a second"),
    (Unit::Cost, true, "PBKDF2: iterations in a given time"),
    (Unit::Cost, false, "Argon2: passes in a given time"),
];

fn figured<'a>(run: &Run<'a>) -> Vec<Figured<'a>> {
    let of_row = |row: &'a crate::Row| match (&row.case, row.measured()) {
        (Case::Kdf(case), Some(measured)) => {
            Summary::of(measured).map(|summary| Figured { case, measured, summary })
        }
        _ => None,
    };
    run.results.rows.iter().filter_map(of_row).collect()
}

fn chart(all: &[&Figured<'_>], title: &str, unit: Unit) -> Owned<Bars> {
    let counted = match (unit, all.iter().all(|it| it.case.kdf == "pbkdf2")) {
        (Unit::Cost, true) => "iterations",
        (Unit::Cost, false) => "passes",
        _ => unit_name(unit),
    };
    let mut by: Vec<&By> = Vec::new();
    for it in all {
        if !by.contains(&&it.case.by) && by.len() < SERIES {
            by.push(&it.case.by);
        }
    }
    let mut rows: Vec<(f64, BarRow)> = Vec::new();
    let mut table = Table::new(&["", "By", counted, "", "Samples", "Remarks"], 0);
    for it in all {
        let name = label(&Case::Kdf(KdfCase { by: By::Keyway, ..it.case.clone() }));
        table.rows.push(vec![
            name.clone(),
            it.case.by.to_string(),
            words::count(it.summary.median),
            words::precision(&it.summary),
            it.summary.count.to_string(),
            it.measured.notes.join("; "),
        ]);
        let Some(series) = by.iter().position(|known| **known == it.case.by) else { continue };
        let bar = bar(series, &it.summary, unit);
        match rows.iter_mut().find(|(_, row)| row.label == name) {
            Some((highest, row)) => {
                *highest = highest.max(bar.value);
                row.bars.push(bar);
            }
            None => {
                let row = BarRow { place: None, label: name, default: it.case.default, bars: vec![bar] };
                rows.push((it.summary.median, row));
            }
        }
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let highest = rows.first().map_or(1.0, |(highest, _)| *highest);
    let (per, unit) = axis(highest, counted);
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    let bars = Bars { series: by.iter().map(ToString::to_string).collect(), rows, per, unit };
    Owned::new(title, "", bars, table)
}

/// A bar with its figure.
pub(super) fn bar(series: usize, summary: &Summary, unit: Unit) -> Bar {
    let text = format!("{} {}", words::short(summary.median, unit), words::precision(summary));
    Bar { series, value: summary.median, interval: summary.interval, text: text.trim_end().to_owned() }
}

/// Thousands and millions of a unit, as the axis needs them.
pub(super) fn axis(highest: f64, unit: &str) -> (f64, String) {
    match highest {
        highest if highest >= 2e6 => (1e6, format!("million {unit}")),
        highest if highest >= 2e4 => (1e3, format!("thousand {unit}")),
        _ => (1.0, unit.to_owned()),
    }
}

/// What is counted, as an axis says it.
pub(super) fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::BytesPerSecond => "bytes/s",
        Unit::IterationsPerSecond => "iterations/s",
        Unit::PassesPerSecond => "passes/s",
        Unit::Cost => "iterations or passes",
        Unit::RequestsPerSecond => "requests/s",
        Unit::Seconds => "s",
    }
}
