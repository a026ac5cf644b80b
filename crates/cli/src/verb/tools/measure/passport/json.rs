//! The passport as JSON.

use super::advised::Advised;
use super::facts::{Keyslot, Passport};
use super::sentences;
use crate::output::document::document;
use keyway_boot::advice::Advice;
use keyway_boot::loader::grub::Finding;
use keyway_boot::unlock_time::Work;
use keyway_format::interval::{Interval, Within};
use keyway_format::json::{Object, Value};

/// One object.
pub(super) fn show(passport: &Passport) -> String {
    let optional =
        |advised: &Option<Advised>| advised.as_ref().map_or(Value::Null, |it| advice(passport, it).into());
    let object = document()
        .with("device", passport.device.as_str())
        .with("format", format!("luks{}", passport.format))
        .with("target", passport.target.as_str())
        .with("rates", passport.rates.as_str())
        .with("target_memory_kib", passport.memory_kib.map_or(Value::Null, number))
        .with("interference", decimal(Some(passport.interference)))
        .with("refused", passport.refused.as_ref().map_or(Value::Null, |it| finding(it).into()))
        .with("notes", Value::Array(passport.notes.iter().map(|it| finding(it).into()).collect()))
        .with("volume_notes", Value::Array(passport.cures.iter().map(|it| it.as_str().into()).collect()))
        .with("awaits_first_boot", Value::Bool(passport.awaits_first_boot))
        .with("modules", Value::Array(passport.modules.iter().map(|module| Value::from(*module)).collect()))
        .with("within_seconds", decimal(passport.within))
        .with("entropy_bits", decimal(Some(passport.entropy)))
        .with("hardware", passport.hardware)
        .with("dollars_per_hour", decimal(Some(passport.price)))
        .with(
            "keyslots",
            Value::Array(passport.slots.iter().map(|slot| keyslot(passport, slot).into()).collect()),
        )
        .with("weakest_keyslot", passport.weakest.map_or(Value::Null, number))
        .with("advice", optional(&passport.advice));
    Value::from(object).to_pretty()
}

fn keyslot(passport: &Passport, slot: &Keyslot) -> Object {
    let checked = passport.checked.filter(|(number, _)| *number == slot.number).map(|(_, took)| took);
    let kdf = kdf(&slot.variant, &slot.derive);
    let verdict = slot.verdict.as_ref();
    let because = verdict.and_then(|verdict| verdict.finding());
    Object::new()
        .with("keyslot", number(slot.number))
        .with("ignored", Value::Bool(slot.ignored))
        .with("kdf", kdf)
        .with("seconds_here", likely(slot.here))
        .with("seconds_here_interval", range(slot.here))
        .with("seconds_here_checked", decimal(checked))
        .with("seconds_on_target", likely(slot.alone))
        .with("seconds_on_target_interval", range(slot.alone))
        .with("seconds_before_on_target", likely(slot.before))
        .with("seconds_before_on_target_interval", range(slot.before))
        .with("seconds_until_open_by_cryptsetup", likely(slot.by_cryptsetup))
        .with("seconds_until_open_by_cryptsetup_interval", range(slot.by_cryptsetup))
        .with("fits_in_memory", slot.fits.map_or(Value::Null, Value::Bool))
        .with("verdict", verdict.map_or(Value::Null, |verdict| verdict.word().into()))
        .with("because", because.map_or(Value::Null, |finding| finding.because.as_str().into()))
        .with("rule", because.map_or(Value::Null, |finding| finding.rule.id.into()))
        .with("guesses_per_second", decimal(slot.cost.map(|cost| cost.guesses_per_second)))
        .with("years", decimal(slot.cost.map(|cost| cost.years)))
        .with("dollars", decimal(slot.cost.map(|cost| cost.dollars)))
}

/// A key derivation with its costs.
pub(super) fn kdf(variant: &str, work: &Work) -> Object {
    let kdf = Object::new().with("type", variant);
    match work {
        Work::Pbkdf2 { hash, iterations, blocks } => kdf
            .with("hash", hash.as_str())
            .with("iterations", number(*iterations))
            .with("blocks", number(*blocks)),
        Work::Argon2 { time, memory_kib, lanes } => kdf
            .with("passes", number(*time))
            .with("memory_kib", number(*memory_kib))
            .with("lanes", number(*lanes)),
        Work::Stretching { rounds } => kdf.with("hash", "sha256").with("iterations", number(*rounds)),
    }
}

fn advice(passport: &Passport, advised: &Advised) -> Object {
    let slots = |slots: &[u64]| Value::Array(slots.iter().map(|slot| number(*slot)).collect());
    let object = match &advised.advice {
        Advice::Nothing { slot, seconds } => Object::new()
            .with("do", "nothing")
            .with("keyslot", number(*slot))
            .with("seconds", likely(Some(*seconds)))
            .with("seconds_interval", range(Some(*seconds))),
        Advice::Impossible { because } => {
            Object::new().with("do", "impossible").with("because", because.as_str())
        }
        Advice::Change(change) => {
            let object = Object::new()
                .with("do", if change.cost.is_some() { "recost" } else { "skip" })
                .with("keyslot", number(change.slot));
            let object = match &change.cost {
                Some(Work::Pbkdf2 { hash, iterations, .. }) => object
                    .with("kdf", "pbkdf2")
                    .with("hash", hash.as_str())
                    .with("iterations", number(*iterations)),
                Some(Work::Argon2 { time, memory_kib, lanes }) => object
                    .with("kdf", "argon2id")
                    .with("passes", number(*time))
                    .with("memory_kib", number(*memory_kib))
                    .with("lanes", number(*lanes)),
                Some(Work::Stretching { .. }) | None => object,
            };
            object
                .with("seconds", likely(Some(change.seconds)))
                .with("seconds_interval", range(Some(change.seconds)))
                .with("skip", slots(&change.skip))
                .with("cheap_to_guess", Value::Bool(change.cheap().is_some()))
        }
    };
    let too_slow: Vec<u64> = advised.too_slow.iter().map(|(slot, _)| *slot).collect();
    let certainty = match advised.certainty {
        Within::Surely => "surely",
        Within::Probably => "probably",
        Within::Hardly => "hardly",
        Within::No => "no",
    };
    let [before, after] = advised.search.map(|cost| decimal(cost.map(|cost| cost.dollars)));
    let sentences = sentences::advice(passport, advised);
    object
        .with("within", certainty)
        .with("too_slow", slots(&too_slow))
        .with("dollars_before", before)
        .with("dollars_after", after)
        .with("times_cheaper", decimal(advised.cheaper()))
        .with("sentences", Value::Array(sentences.iter().map(|line| line.as_str().into()).collect()))
        .with("commands", Value::Array(advised.commands.iter().map(|line| line.as_str().into()).collect()))
}

fn finding(finding: &Finding) -> Object {
    Object::new()
        .with("rule", finding.rule.id)
        .with("because", finding.because.as_str())
        .with("source", finding.rule.source)
}

pub(super) fn likely(time: Option<Interval>) -> Value {
    decimal(time.map(|time| time.likely))
}

/// Its two ends.
pub(super) fn range(time: Option<Interval>) -> Value {
    time.map_or(Value::Null, |time| Value::Array(vec![decimal(Some(time.low)), decimal(Some(time.high))]))
}

pub(super) fn number(number: u64) -> Value {
    Value::Number(number.to_string())
}

pub(super) fn decimal(number: Option<f64>) -> Value {
    number.filter(|number| number.is_finite()).map_or(Value::Null, |n| {
        Value::Number(if n == 0.0 || (1e-3..1e15).contains(&n.abs()) {
            format!("{n:.6}")
        } else {
            format!("{n:e}")
        })
    })
}
