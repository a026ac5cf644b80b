//! What encrypted storage is held up by: how long the disk alone and the cipher alone would take for the
//! same bytes, both in sequence (the model c·d/(c+d)), and how long it actually took. And what it
//! costs: processor time, which encryption uses even if the disk takes most of the time.

use super::super::chart::{Bar, Bars};
use super::super::figure::{Table, figure};
use super::super::words;
use super::{Figured, amount, capital, largest, pattern_name, way};
use crate::disk::model::Model;
use crate::results::Pattern;
use maud::{Markup, html};

/// Bars for sequential reads and writes; the table has everything.
pub(super) fn limits(items: &[Figured<'_>], of: &str) -> Markup {
    let head = "Through|Requests|Disk alone, MiB/s|Cipher alone, MiB/s|Whose cipher|c·d/(c+d), MiB/s|Measured, MiB/s|\
                Of the model|Encryption costs";
    let mut table = Table::new(head);
    let mut bars = Bars { per: 1.0, unit: "seconds for 10⁹ bytes".into(), ..Bars::default() };
    let modelled: Vec<(&Figured<'_>, Model)> =
        largest(items).filter_map(|it| Some((it, it.model?))).collect();
    for (it, model) in &modelled {
        table.rows.push(vec![
            it.path.clone(),
            way(it.case),
            words::mib(model.disk),
            words::mib(model.cipher),
            model.whose.to_string(),
            words::mib(model.expected()),
            words::mib(model.measured),
            words::percent(model.measured / model.expected()),
            it.cost.map_or_else(String::new, |cost| cost.cell()),
        ]);
        // Small random requests take so long that nothing else would be visible.
        let any_in_order = modelled.iter().any(|(it, _)| it.case.total.is_some());
        if any_in_order && it.case.total.is_none() {
            continue;
        }
        let way = match it.case.pattern {
            Pattern::SequentialRead => "Read".to_owned(),
            Pattern::SequentialWrite => "Write".to_owned(),
            other => capital(&pattern_name(other)),
        };
        let label = format!("{way}: {}", it.path);
        for (name, speed) in [
            ("disk alone", model.disk),
            ("cipher alone", model.cipher),
            ("one after the other", model.expected()),
            ("measured", model.measured),
        ] {
            let seconds = GIGABYTE / speed;
            let text = format!("{} s", words::digits(seconds));
            bars.push(name, &label, |series| Bar { series, value: seconds, interval: None, text });
        }
    }
    if table.rows.is_empty() {
        return html! {};
    }
    let text = "Seconds for 10⁹ bytes, less is better. Measured may be shorter than one after the other if both work \
                at the same time. The cipher was measured in memory, in the same run: Keyway's; for dm-crypt the \
                kernel's, where it could be.";
    figure(&format!("Disk or cipher{of}"), text, &bars, &table)
}

const GIGABYTE: f64 = 1e9;

/// Bars for each kind of request; nothing if the machine did not report processor time. Sequential
/// and random requests have separate charts: small requests take so much more that the others would
/// be invisible.
pub(super) fn processor(items: &[Figured<'_>], of: &str) -> Markup {
    let (ordered, random): (Vec<_>, Vec<_>) =
        items.iter().cloned().partition(|it| it.case.pattern.is_sequential());
    html! {
        (chart(&ordered, &format!("Processor time, in order{of}")))
        (chart(&random, &format!("Processor time, at random{of}")))
    }
}

fn chart(items: &[Figured<'_>], title: &str) -> Markup {
    let mut table = Table::new("Through|Requests|Amount|Seconds for 10⁹ bytes");
    let timed = |it: &Figured<'_>| it.measured.cpu_seconds_per_gb.filter(|time| *time > 0.0);
    for it in items {
        let Some(time) = timed(it) else { continue };
        table.rows.push(vec![it.path.clone(), way(it.case), amount(it.case), words::digits(time)]);
    }
    let mut bars = Bars { per: 1.0, unit: "seconds".into(), ..Bars::default() };
    for it in largest(items) {
        let Some(time) = timed(it) else { continue };
        let bar = |series| Bar { series, value: time, interval: None, text: words::digits(time) };
        bars.push(&it.path, &way(it.case), bar);
    }
    let text = "Of the whole machine, or of all processes involved, for 10⁹ bytes. Less is better.";
    html! { @if !bars.rows.is_empty() { (figure(title, text, &bars, &table)) } }
}
