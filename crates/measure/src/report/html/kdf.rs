//! Key derivation: the cost of each guess for an attacker, and of one passphrase for this machine.

use super::super::{distinct, label};
use super::chart::{Bar, Bars};
use super::figure::{Figure, Table};
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
                "Slow on purpose: what this machine can do in a second, someone who guesses passphrases can do too. More "
                "work per second on your machine means that an attacker has to do more work for the same waiting time."
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

/// The unit, whether it is for PBKDF2, and its name.
const KINDS: [(Unit, bool, &str); 4] = [
    (Unit::IterationsPerSecond, true, "PBKDF2: iterations per second"),
    (Unit::PassesPerSecond, false, "Argon2: passes over its memory per second"),
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

fn chart(all: &[&Figured<'_>], title: &str, unit: Unit) -> Figure<Bars> {
    let counted = match (unit, all.iter().all(|it| it.case.kdf == "pbkdf2")) {
        (Unit::Cost, true) => "iterations",
        (Unit::Cost, false) => "passes",
        _ => words::unit_name(unit),
    };
    let mut by = distinct(all.iter().map(|it| &it.case.by));
    by.truncate(SERIES);
    let mut bars = Bars { series: by.iter().map(ToString::to_string).collect(), ..Bars::default() };
    let mut table = Table::new(&format!("|By|{counted}||Samples|Remarks"));
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
        let row = bars.labelled(name);
        row.default |= row.bars.is_empty() && it.case.default;
        row.bars.push(Bar::of(series, &it.summary, unit));
    }
    bars.rows.sort_by(|a, b| b.highest().total_cmp(&a.highest()));
    (bars.per, bars.unit) = words::axis_of(bars.highest(), counted);
    Figure::new(title, "", bars, table)
}
