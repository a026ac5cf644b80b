//! The verdict as text and as JSON.

use super::grub::Outcome;
use crate::output::document::document;
use crate::output::figures::{busy, span};
use crate::output::paint::{Paint, printable};
use keyway_boot::loader::grub::{Finding, Slot, Verdict};
use keyway_format::interval::Interval;
use keyway_format::json::{Object, Value};
use std::fmt::Write;

pub(super) fn show(outcome: &Outcome, as_json: bool) -> String {
    if as_json { format!("{}\n", json(outcome)) } else { text(outcome, Paint::for_stdout()) }
}

fn text(outcome: &Outcome, paint: Paint) -> String {
    let mut page = String::new();
    let (judgement, loader) = (&outcome.judgement, &outcome.loader);
    let kind = if judgement.format == 0 { String::new() } else { format!("LUKS{}", judgement.format) };
    let head = format!("GRUB {}", loader.title());
    let _ = writeln!(
        page,
        "{}  {}  {} {}",
        paint.strong(&printable(&outcome.device)),
        paint.strong(&kind),
        paint.strong(&head),
        paint.faint(&format!("({})", printable(&loader.from)))
    );
    if let Some(finding) = &judgement.refused {
        let _ = writeln!(
            page,
            "  {}",
            paint.bad(&format!(
                "It {}, because {}.",
                if judgement.asks { "asks, and tries no keyslot" } else { "does not ask for a passphrase" },
                printable(&finding.because)
            ))
        );
    }
    for (slot, seconds) in judgement.slots.iter().zip(&outcome.seconds) {
        let mine = if outcome.keyslot == Some(Some(slot.number as u32)) { ">" } else { " " };
        let _ = writeln!(page, " {mine}Keyslot {:<3} {}", slot.number, verdict(slot, *seconds, paint));
    }
    if outcome.keyslot == Some(None) {
        let _ = writeln!(page, "  {}", paint.bad(OPENS_NONE));
    }
    for finding in &outcome.typed {
        let _ = writeln!(page, "  {} The passphrase: {}.", paint.bad("X"), printable(&finding.because));
    }
    for note in judgement.notes.iter().map(|finding| &finding.because).chain(&outcome.warnings) {
        let _ = writeln!(page, "  {} {}.", paint.warning("!"), printable(note));
    }
    if let Some(rates) = rates(outcome) {
        let _ = writeln!(page, "  {}", paint.faint(&rates));
    }
    if let Some(note) = busy(outcome.interference) {
        let _ = writeln!(page, "  {} {note}", paint.warning("!"));
    }
    if !judgement.modules.is_empty() && judgement.refused.is_none() {
        let _ =
            writeln!(page, "  Modules to embed: grub-install --modules=\"{}\"", judgement.modules.join(" "));
    }
    let closing = match (outcome.opens(), outcome.keyslot) {
        (true, Some(_)) => paint.good("It opens with this passphrase."),
        (true, None) => paint.good("It opens, with the right passphrase."),
        (false, Some(_)) => paint.bad("It does not open with this passphrase."),
        (false, None) => paint.bad("It does not open."),
    };
    let _ = writeln!(page, "  {closing}");
    page
}

/// Where the times come from, or why there are none.
fn rates(outcome: &Outcome) -> Option<String> {
    let rates = printable(&outcome.rates);
    if outcome.seconds.iter().any(Option::is_some) {
        return Some(format!("Rates: {rates}."));
    }
    let opens = outcome.judgement.slots.iter().any(|slot| slot.verdict == Verdict::Opens);
    opens.then(|| {
        format!(
            "Rates: {rates}; they lack those that GRUB's are derived from: PBKDF2 with SHA-512, and \
                 Argon2id."
        )
    })
}

fn verdict(slot: &Slot, seconds: Option<Interval>, paint: Paint) -> String {
    match &slot.verdict {
        Verdict::Opens => {
            let when =
                seconds.map_or("after an unknown time".to_owned(), |s| format!("in about {}", span(s)));
            paint.good(&format!("opens {when}"))
        }
        Verdict::Cannot(why) => paint.bad(&format!("cannot, because {}", printable(&why.because))),
        Verdict::SaysInvalidPassphrase(why) => paint.bad(&format!(
            "will say \"Invalid passphrase\" though it is right, because {}",
            printable(&why.because)
        )),
    }
}

fn json(outcome: &Outcome) -> String {
    let judgement = &outcome.judgement;
    let slots = judgement.slots.iter().zip(&outcome.seconds).map(|(slot, seconds)| {
        let found = slot.verdict.finding();
        Value::from(
            Object::new()
                .with("keyslot", Value::Number(slot.number.to_string()))
                .with("verdict", slot.verdict.word())
                .with("seconds", seconds.map_or(Value::Null, |s| decimal(s.likely)))
                .with(
                    "seconds_interval",
                    seconds.map_or(Value::Null, |s| Value::Array(vec![decimal(s.low), decimal(s.high)])),
                )
                .with("because", found.map_or(Value::Null, |found| found.because.as_str().into()))
                .with("rule", found.map_or(Value::Null, |found| found.rule.id.into()))
                .with("source", found.map_or(Value::Null, |found| found.rule.source.into())),
        )
    });
    let keyslot = match outcome.keyslot {
        Some(Some(number)) => Value::Number(number.to_string()),
        _ => Value::Null,
    };
    let object = document()
        .with("device", outcome.device.as_str())
        .with("loader", "grub")
        .with("loader_version", outcome.loader.version.to_string().as_str())
        .with("distribution", outcome.loader.distribution.map_or(Value::Null, |it| it.title.into()))
        .with("opens", Value::Bool(outcome.opens()))
        .with("asks", Value::Bool(judgement.asks))
        .with("refused", judgement.refused.as_ref().map_or(Value::Null, |found| finding(found).into()))
        .with("keyslots", Value::Array(slots.collect()))
        .with("rates", outcome.rates.as_str())
        .with("interference", decimal(outcome.interference))
        .with("passphrase_given", Value::Bool(outcome.keyslot.is_some()))
        .with("passphrase_keyslot", keyslot)
        .with(
            "passphrase_findings",
            Value::Array(outcome.typed.iter().map(|it| finding(it).into()).collect()),
        )
        .with("notes", Value::Array(judgement.notes.iter().map(|it| finding(it).into()).collect()))
        .with("warnings", Value::Array(outcome.warnings.iter().map(|line| line.as_str().into()).collect()))
        .with("modules", Value::Array(judgement.modules.iter().map(|module| Value::from(*module)).collect()));
    Value::from(object).to_pretty()
}

fn finding(finding: &Finding) -> Object {
    Object::new()
        .with("rule", finding.rule.id)
        .with("because", finding.because.as_str())
        .with("source", finding.rule.source)
}

fn decimal(number: f64) -> Value {
    Value::Number(format!("{number:.3}"))
}

/// Of a passphrase that is given.
pub(super) const OPENS_NONE: &str = "The passphrase opens no keyslot.";
