//! A volume without a LUKS header, as JSON.

use super::super::json::{decimal, kdf, likely, number, range};
use super::costs::Seconds;
use super::{Costed, Other, Search};
use crate::output::document::document;
use keyway::parts::{Takes, WayCost};
use keyway_format::interval::Interval;
use keyway_format::json::{Object, Value};

/// One object.
pub(in crate::verb::tools::measure::passport) fn show(other: &Other) -> String {
    let texts = |all: &[String]| Value::Array(all.iter().map(|it| it.as_str().into()).collect());
    let weak = |it: &super::weak::Weakness| {
        Value::from(Object::new().with("says", it.says.as_str()).with("commands", texts(&it.commands)))
    };
    let opener = |it: &super::openers::Opener| {
        let object = Object::new().with("program", it.name).with("opens", it.opens.word());
        Value::from(object.with("how", it.how.as_str()))
    };
    let whole = |of: fn(&Seconds) -> Option<Interval>| other.whole.as_ref().and_then(of);
    let object = document()
        .with("device", other.device.as_str())
        .with("format", other.kind)
        .with("target", other.target.as_str())
        .with("rates", other.rates.as_str())
        .with("target_memory_kib", other.memory_kib.map_or(Value::Null, number))
        .with("interference", decimal(Some(other.interference)))
        .with("entropy_bits", decimal(Some(other.entropy)))
        .with("hardware", other.hardware)
        .with("dollars_per_hour", decimal(Some(other.price)))
        .with("target_opens_it", Value::Bool(!other.is_refused))
        .with("ciphers", texts(&other.ciphers))
        .with("ways", Value::Array(other.ways.iter().map(|it| way(it).into()).collect()))
        .with("seconds_of_all_here", likely(whole(|it| it.here)))
        .with("seconds_of_all_here_interval", range(whole(|it| it.here)))
        .with("seconds_of_all_on_target", likely(whole(|it| it.on_target)))
        .with("seconds_of_all_on_target_interval", range(whole(|it| it.on_target)))
        .with("seconds_of_all_by_cryptsetup", likely(whole(|it| it.by_cryptsetup)))
        .with("seconds_of_all_by_cryptsetup_interval", range(whole(|it| it.by_cryptsetup)))
        .with("opened_by", Value::Array(other.openers.iter().map(opener).collect()))
        .with("weaknesses", Value::Array(other.weak.iter().map(weak).collect()));
    Value::from(object).to_pretty()
}

fn way(it: &Costed) -> Object {
    let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
    let cost = match &it.search {
        Search::Costs(cost) | Search::AtMost(cost) => Some(cost),
        _ => None,
    };
    let search = match &it.search {
        Search::Costs(_) | Search::AtMost(_) => "costs",
        Search::Unpublished(_) => "unpublished",
        Search::Hopeless(_) => "hopeless",
        Search::Open => "open",
    };
    Object::new()
        .with("way", it.way.name.as_str())
        .with("label", text(it.way.label.as_deref()))
        .with("takes", takes(it.way.takes))
        .with("kdf", derivation(it).map_or(Value::Null, Value::from))
        .with("headers", number(it.way.headers as u64))
        .with("seconds_here", likely(it.seconds.here))
        .with("seconds_here_interval", range(it.seconds.here))
        .with("seconds_on_target", likely(it.seconds.on_target))
        .with("seconds_on_target_interval", range(it.seconds.on_target))
        .with("seconds_by_cryptsetup", likely(it.seconds.by_cryptsetup))
        .with("seconds_by_cryptsetup_interval", range(it.seconds.by_cryptsetup))
        .with("search", search)
        .with("guesses_per_second", decimal(cost.map(|cost| cost.guesses_per_second)))
        .with("years", decimal(cost.map(|cost| cost.years)))
        .with("dollars", decimal(cost.map(|cost| cost.dollars)))
}

fn takes(takes: Takes) -> String {
    match takes {
        Takes::Hardware(name) => format!("hardware: {name}"),
        other => other.to_string(),
    }
}

fn derivation(it: &Costed) -> Option<Object> {
    let name = match &it.way.cost {
        WayCost::Pbkdf2 { .. } => "pbkdf2",
        WayCost::Argon2id { .. } => "argon2id",
        WayCost::Stretching { .. } => "bitlocker",
        WayCost::Hash { name, .. } => {
            return Some(Object::new().with("type", "hash").with("hash", name.as_str()));
        }
        WayCost::Nothing => return None,
    };
    it.work.as_ref().map(|work| kdf(name, work))
}
