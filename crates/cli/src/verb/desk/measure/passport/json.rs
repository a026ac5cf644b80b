//! The passport as JSON.

use super::facts::{Advised, Keyslot, Passport};
use keyway_boot::advice::Advice;
use keyway_boot::unlock_time::Work;
use keyway_format::json::{Object, Value};

/// One object.
pub(super) fn show(passport: &Passport) -> String {
    let optional = |advised: &Option<Advised>| advised.as_ref().map_or(Value::Null, |it| advice(it).into());
    let object = Object::new()
        .with("device", passport.device.as_str())
        .with("version", number(passport.format.into()))
        .with("target", passport.target.as_str())
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
    let kdf = Object::new().with("type", slot.variant.as_str());
    let kdf = match &slot.derive {
        Work::Pbkdf2 { hash, iterations, blocks } => kdf
            .with("hash", hash.as_str())
            .with("iterations", number(*iterations))
            .with("blocks", number(*blocks)),
        Work::Argon2 { time, memory_kib, lanes } => kdf
            .with("passes", number(*time))
            .with("memory_kib", number(*memory_kib))
            .with("lanes", number(*lanes)),
    };
    let verdict = slot.verdict.as_ref();
    let because = verdict.and_then(|verdict| verdict.finding());
    Object::new()
        .with("keyslot", number(slot.number))
        .with("ignored", Value::Bool(slot.ignored))
        .with("kdf", kdf)
        .with("seconds_here", decimal(slot.here))
        .with("seconds_here_checked", decimal(checked))
        .with("seconds_on_target", decimal(slot.alone))
        .with("seconds_before_on_target", decimal(slot.before))
        .with("verdict", verdict.map_or(Value::Null, |verdict| verdict.word().into()))
        .with("because", because.map_or(Value::Null, |finding| finding.because.as_str().into()))
        .with("rule", because.map_or(Value::Null, |finding| finding.rule.id.into()))
        .with("guesses_per_second", decimal(slot.cost.map(|cost| cost.guesses_per_second)))
        .with("years", decimal(slot.cost.map(|cost| cost.years)))
        .with("dollars", decimal(slot.cost.map(|cost| cost.dollars)))
}

fn advice(advised: &Advised) -> Object {
    let object = match &advised.advice {
        Advice::Nothing { slot, seconds } => Object::new()
            .with("do", "nothing")
            .with("keyslot", number(*slot))
            .with("seconds", decimal(Some(*seconds))),
        Advice::Impossible { because } => {
            Object::new().with("do", "impossible").with("because", because.as_str())
        }
        Advice::Recost { slot, hash, iterations, seconds, skip } => Object::new()
            .with("do", "recost")
            .with("keyslot", number(*slot))
            .with("hash", hash.as_str())
            .with("iterations", number(*iterations))
            .with("seconds", decimal(Some(*seconds)))
            .with("skip", Value::Array(skip.iter().map(|slot| number(*slot)).collect())),
    };
    object
        .with("times_cheaper", decimal(advised.cheaper))
        .with("commands", Value::Array(advised.commands.iter().map(|line| line.as_str().into()).collect()))
}

fn number(number: u64) -> Value {
    Value::Number(number.to_string())
}

fn decimal(number: Option<f64>) -> Value {
    number.filter(|number| number.is_finite()).map_or(Value::Null, |n| {
        Value::Number(if n == 0.0 || (1e-3..1e15).contains(&n.abs()) {
            format!("{n:.6}")
        } else {
            format!("{n:e}")
        })
    })
}
