//! The page: one self-contained file for desktop, phone and print, in light and dark mode,
//! accessible by screen reader and keyboard.
//!
//! It has no script and may load nothing: its own policy (Content-Security-Policy) forbids both,
//! including for anything that a foreign results file tries to inject. Text from such a file is
//! escaped where it is written ([`maud`] and [`plotters`] do this), and control characters and
//! characters that change the text direction are replaced at the end.

mod advice;
mod answer;
mod chart;
mod ciphers;
mod disk;
mod drivers;
mod figure;
mod fleet;
mod kdf;
mod machines;
mod matrix;
mod palette;
pub(super) mod passport;
mod remarks;
mod run;
mod words;

pub(super) use advice::against;
pub(super) use answer::fastest;
pub(super) use run::full_name;
pub(super) use words::throughput;

use super::ranking::Group;
use crate::results::Results;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use run::Run;

/// The page of one run, or of many machines'.
pub fn page(results: &[Results]) -> String {
    let runs = run::runs(results);
    let title = title(&runs);
    let main = match runs.as_slice() {
        [] => html! { p { "There are no results." } },
        [run] => html! { h2 { "The answer" } (report(run)) (remarks::method(&runs)) },
        many => html! {
            h2 { "The answer" }
            (fleet::overview(many))
            (machines::fleet(many))
            @for run in many {
                details.machine {
                    summary { "Everything about " (run.name) }
                    (report(run))
                }
            }
            (remarks::method(many))
        },
    };
    let made_by = html! { "Made by " code { "keyway bench" } ". The results file has every sample." };
    document(&title, &dates(&runs), &main, &made_by)
}

/// What `about` says of the ciphers shown first, and the sentences of the answer without markup;
/// `None` where there is nothing to choose between.
pub(super) fn in_words<T>(
    results: &Results,
    about: impl Fn(&Group<'_>) -> Option<T>,
) -> Option<(T, Vec<String>)> {
    let runs = run::runs(std::slice::from_ref(results));
    let run = runs.first()?;
    let about = about(run.main_group().filter(|group| !answer::is_alone(group))?)?;
    Some((about, answer::sentences(run).into_iter().map(|markup| plain(&markup.0)).collect()))
}

/// Text without tags.
fn plain(markup: &str) -> String {
    let text: String = markup
        .split('<')
        .enumerate()
        .map(
            |(number, part)| {
                if number == 0 { part } else { part.split_once('>').map_or("", |(_, text)| text) }
            },
        )
        .collect();
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&amp;", "&")
}

fn document(title: &str, dates: &Markup, main: &Markup, made_by: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(palette::style_sheet())) (PreEscaped(STYLE)) }
            }
            body {
                header { h1 { (title) } (dates) (switch()) }
                main { (main) }
                footer { p { (made_by) } }
            }
        }
    };
    page.into_string().chars().map(shown).collect()
}

const STYLE: &str = include_str!("style.css");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Everything about one run.
fn report(run: &Run<'_>) -> Markup {
    html! {
        (remarks::warnings(run))
        (answer::answer(run))
        @if is_of_storage(run) { (disk::storage(run)) }
        (ciphers::ranking(run))
        (ciphers::not_for_disks(run))
        @if !is_of_storage(run) { (disk::storage(run)) }
        (ciphers::scaling(run))
        (matrix::matrix(run))
        (kdf::kdfs(run))
        (drivers::drivers(run))
        (machines::facts(run))
        (remarks::without_figures(run))
    }
}

/// Whether ciphers were measured only for the storage model: then storage comes first.
fn is_of_storage(run: &Run<'_>) -> bool {
    run.results.settings.suite == "disk"
}

fn title(runs: &[Run<'_>]) -> String {
    match runs {
        [run] => format!("Disk encryption on {}", run.name),
        many => format!("Disk encryption on {}", words::plural(many.len(), "machine", "machines")),
    }
}

fn dates(runs: &[Run<'_>]) -> Markup {
    let mut days: Vec<&str> = runs.iter().filter_map(|run| run.results.started.split('T').next()).collect();
    days.sort_unstable();
    days.dedup();
    html! {
        p.dates {
            @match days.as_slice() {
                [] => {},
                [day] => { "Measured on " (day) },
                [first, .., last] => { "Measured from " (first) " to " (last) },
            }
        }
    }
}

/// Light or dark, without a script: the style sheet checks which one is selected.
fn switch() -> Markup {
    html! {
        fieldset.theme {
            legend { "Colours" }
            @for (id, name) in [("auto", "as the system"), ("light", "light"), ("dark", "dark")] {
                span { input id=(id) type="radio" name="theme" checked[id == "auto"]; label for=(id) { (name) } }
            }
        }
    }
}

/// Replaces control characters and those that change the direction of text with a visible
/// placeholder.
fn shown(letter: char) -> char {
    match letter {
        '\n' => letter,
        letter if letter.is_control() => REPLACED,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}' => REPLACED,
        letter => letter,
    }
}

const REPLACED: char = char::REPLACEMENT_CHARACTER;
