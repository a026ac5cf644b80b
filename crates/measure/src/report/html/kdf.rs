//! Key derivation: the cost of each guess for an attacker, and of one passphrase for this machine.

use super::super::{distinct, figures, label};
use super::chart::{Bar, Bars};
use super::figure::{Table, figure};
use super::palette::SERIES;
use super::run::Run;
use super::words;
use crate::results::{By, Case, KdfCase, Measured, Unit};
use crate::stats::Summary;
use maud::{Markup, html};

/// A figure of a key derivation.
type Figured<'a> = (&'a KdfCase, &'a Measured, Summary);

/// A chart for each kind of figure.
pub(super) fn kdfs(run: &Run<'_>) -> Markup {
    let all = figures(run.results).filter_map(|(case, measured, summary)| match case {
        Case::Kdf(case) => Some((case, measured, summary)),
        _ => None,
    });
    let all: Vec<Figured<'_>> = all.collect();
    html! {
        @if !all.is_empty() {
            h2 { "Key derivation" }
            p {
                "Slow on purpose: what this machine can do in a second, someone who guesses passphrases can do too. More "
                "work per second on your machine means that an attacker has to do more work for the same waiting time."
            }
            @for (unit, pbkdf2, title) in KINDS {
                @let of_kind: Vec<_> = all.iter()
                    .filter(|(case, it, _)| (it.unit, case.counts_iterations()) == (unit, pbkdf2)).collect();
                @if !of_kind.is_empty() { (chart(&of_kind, title, unit)) }
            }
        }
    }
}

/// The unit, whether it is for PBKDF2 (and BitLocker's), and its name.
const KINDS: [(Unit, bool, &str); 4] = [
    (Unit::IterationsPerSecond, true, "PBKDF2: iterations per second"),
    (Unit::PassesPerSecond, false, "Argon2: passes over its memory per second"),
    (Unit::Cost, true, "PBKDF2: iterations in a given time"),
    (Unit::Cost, false, "Argon2: passes in a given time"),
];

fn chart(all: &[&Figured<'_>], title: &str, unit: Unit) -> Markup {
    let counted = match (unit, all.iter().all(|(case, ..)| case.counts_iterations())) {
        (Unit::Cost, true) => "iterations",
        (Unit::Cost, false) => "passes",
        _ => words::unit_name(unit),
    };
    let mut by = distinct(all.iter().map(|(case, ..)| &case.by));
    by.truncate(SERIES);
    let mut bars = Bars { series: by.iter().map(ToString::to_string).collect(), ..Bars::default() };
    let mut table = Table::new(&format!("|By|{counted}||Samples|Remarks"));
    for (case, measured, summary) in all {
        let name = label(&Case::Kdf(KdfCase { by: By::Keyway, ..(*case).clone() }));
        table.rows.push(vec![
            name.clone(),
            case.by.to_string(),
            words::count(summary.median),
            words::precision(summary),
            summary.count.to_string(),
            measured.notes.join("; "),
        ]);
        let Some(series) = by.iter().position(|known| **known == case.by) else { continue };
        let row = bars.labelled(&name);
        row.default |= row.bars.is_empty() && case.default;
        row.bars.push(Bar::of(series, summary, unit));
    }
    bars.rows.sort_by(|a, b| b.highest().total_cmp(&a.highest()));
    (bars.per, bars.unit) = words::axis_of(bars.highest(), counted);
    figure(title, "", &bars, &table)
}
