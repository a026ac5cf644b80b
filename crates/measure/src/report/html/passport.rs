//! A volume's keyslots on one page, for their owner: how long each takes to open, and the cost of a
//! search for its passphrase. The caller supplies the figures and the text; this module does the
//! layout.

use super::chart::{Bar, BarRow, Bars};
use super::document;
use super::figure::{Table, figure};
use maud::{Markup, html};

/// Everything on the page.
#[derive(Debug, Default)]
pub struct PassportPage {
    /// "Keyslots of disk.luks".
    pub title: String,
    /// What a row is: "Keyslot".
    pub each: String,
    /// The circumstances under which the figures hold: names and values.
    pub facts: Vec<(String, String)>,
    /// Names of the two series of seconds: this machine, and the target.
    pub places: [String; 2],
    /// The keyslots, or other ways into the volume, in the order in which the target tries them.
    pub slots: Vec<PassportSlot>,
    /// Points that deserve attention.
    pub warnings: Vec<String>,
    /// Recommended changes: sentences, then commands.
    pub advice: Option<(Vec<String>, Vec<String>)>,
}

/// A keyslot.
#[derive(Debug, Default)]
pub struct PassportSlot {
    /// "Keyslot 0".
    pub name: String,
    /// Key derivation and its cost.
    pub derivation: String,
    /// Seconds here and on the target, including all keyslots tried before it, each with its text.
    pub seconds: [(Option<f64>, String); 2],
    /// Why the target cannot open it.
    pub problem: Option<String>,
    /// Guesses per second, years and dollars.
    pub search: [String; 3],
    /// "$12 to find its passphrase".
    pub about: String,
    /// Whether this keyslot is the cheapest to search.
    pub weakest: bool,
}

/// The page.
pub fn passport(page: &PassportPage) -> String {
    let main = html! { (answer(page)) (seconds(page)) (search(page)) (advice(page)) (facts(page)) };
    let made_by =
        html! { "Made by " code { "keyway passport" } ". docs/COST.md in its source derives every figure." };
    document(&page.title, &html! {}, &main, &made_by)
}

fn answer(page: &PassportPage) -> Markup {
    html! {
        h2 { "The answer" }
        @for slot in &page.slots {
            @if let Some(problem) = &slot.problem { div.bad { h3 { (slot.name) } p { (problem) } } }
        }
        @for warning in &page.warnings { div.warn { p { (warning) } } }
        ul.tiles {
            @for slot in &page.slots {
                li {
                    span.what { (slot.name) @if slot.weakest && page.slots.len() > 1 { " · the weakest" } }
                    span.figure { @if slot.problem.is_some() { "does not open" } @else { (slot.seconds[1].1) } }
                    span.about { (slot.about) }
                }
            }
        }
    }
}

fn seconds(page: &PassportPage) -> Markup {
    let row = |slot: &PassportSlot| {
        let bar = |(series, (value, text)): (usize, &(Option<f64>, String))| {
            value.map(|value| Bar { series, value, interval: None, text: text.clone() })
        };
        let bars: Vec<Bar> = slot.seconds.iter().enumerate().filter_map(bar).collect();
        (!bars.is_empty()).then(|| BarRow { label: slot.name.clone(), bars, ..BarRow::default() })
    };
    let rows: Vec<BarRow> = page.slots.iter().filter_map(row).collect();
    if rows.is_empty() {
        return html! {};
    }
    let mut table = Table::new(&format!("{}|Key derivation", page.each));
    table.head.extend(page.places.iter().cloned());
    for slot in &page.slots {
        let [here, there] = &slot.seconds;
        table.rows.push(vec![slot.name.clone(), slot.derivation.clone(), here.1.clone(), there.1.clone()]);
    }
    let chart = Bars { series: page.places.to_vec(), rows, per: 1.0, unit: "seconds".into() };
    let text = "On the target, with everything that is tried before it.";
    html! { h2 { "When it opens" } (figure("Seconds until it opens", text, &chart, &table)) }
}

fn search(page: &PassportPage) -> Markup {
    let mut table = Table::new(&format!("{}|Key derivation|Guesses per second|Time|Cost", page.each));
    for slot in &page.slots {
        let mut row = vec![slot.name.clone(), slot.derivation.clone()];
        row.extend(slot.search.iter().cloned());
        table.rows.push(row);
    }
    html! {
        h2 { "What a search costs" }
        p { "The time and cost to try half of all passphrases of that entropy, on the hardware named below." }
        (table.markup("What a search costs"))
    }
}

fn advice(page: &PassportPage) -> Markup {
    let Some((sentences, commands)) = &page.advice else { return html! {} };
    html! {
        h2 { "What to change" }
        @for sentence in sentences { p { (sentence) } }
        @if !commands.is_empty() { ol { @for command in commands { li { code { (command) } } } } }
    }
}

fn facts(page: &PassportPage) -> Markup {
    html! {
        h2 { "Conditions" }
        dl.facts { @for (name, value) in &page.facts { div { dt { (name) } dd { (value) } } } }
    }
}
