//! Processor time, which encryption uses even if the disk is the limit.

use super::super::chart::{Bar, Bars};
use super::super::figure::{Table, figure};
use super::super::words;
use super::{Figured, amount, largest, way};
use maud::{Markup, html};

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
