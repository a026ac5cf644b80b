//! The facts as JSON. Sizes are in bytes, times in seconds; unknown values are null.

use super::glance::{Glance, content, is_encrypted};
use super::warnings;
use crate::output::document::document;
use keyway::facts::{Copies, Keyslot, SealState, Segment};
use keyway_format::interval::Interval;
use keyway_format::json::{Object, Value};
use keyway_format::luks2::{Copy, Kdf, Priority};

/// One indented object, with the results of an audit.
pub(super) fn show(glance: &Glance, audit: Option<Object>) -> String {
    let facts = &glance.facts;
    let (primary, secondary, sequence_id) = match facts.copies {
        Copies::Single => ("good", Value::Null, Value::Null),
        Copies::Both { sequence_id } => ("good", "good".into(), number(sequence_id)),
        Copies::Damaged { copy: Copy::Primary, sequence_id } => {
            ("damaged", "good".into(), number(sequence_id))
        }
        Copies::Damaged { copy: Copy::Secondary, sequence_id } => {
            ("good", "damaged".into(), number(sequence_id))
        }
    };
    let header =
        Object::new().with("primary", primary).with("secondary", secondary).with("sequence_id", sequence_id);
    let tokens = facts.tokens.iter().map(|t| {
        Object::new()
            .with("token", number(t.number))
            .with("type", t.kind.as_str())
            .with("keyslots", list(t.keyslots.iter().map(|&n| number(n))))
    });
    let keyslots = facts.keyslots.iter().zip(&glance.times).map(|(slot, time)| keyslot(slot, *time));
    let mut object = document()
        .with("device", glance.device.as_str())
        .with("format", format!("luks{}", facts.version))
        .with("uuid", facts.uuid.as_str())
        .with("label", optional(facts.label.as_deref()))
        .with("subsystem", optional(facts.subsystem.as_deref()))
        .with("key_bits", facts.key_bits.map_or(Value::Null, |bits| number(bits as u64)))
        .with("segments", list(facts.segments.iter().map(segment)))
        .with("header", header)
        .with("reencryption", reencryption(glance))
        .with("awaits_first_boot", Value::Bool(facts.awaits_first_boot))
        .with("flags", texts(&facts.flags))
        .with("requirements", texts(&facts.requirements))
        .with("keyslots", list(keyslots))
        .with("tokens", list(tokens))
        .with("seal", seal(&glance.seal))
        .with("warnings", texts(&warnings::warnings(facts, &glance.concerns)))
        .with("remarks", texts(&warnings::remarks(facts, &glance.concerns)));
    if let Some(audit) = audit {
        object.set("audit", audit);
    }
    Value::from(object).to_pretty()
}

fn seal(seal: &SealState) -> Object {
    let (state, why) = match seal {
        SealState::None => ("none", Value::Null),
        SealState::Unverified => ("unverified", Value::Null),
        SealState::Verified => ("verified", Value::Null),
        SealState::Broken(broken) => ("broken", broken.to_string().into()),
    };
    Object::new().with("state", state).with("why", why)
}

fn segment(segment: &Segment) -> Object {
    Object::new()
        .with("encrypted", Value::Bool(is_encrypted(segment)))
        .with("cipher", content(segment))
        .with("sector_size", number(segment.sector_size))
        .with("offset", number(segment.offset))
        .with("length", number(segment.len))
}

/// One that is under way: what it does, how far it is, and what goes on with it.
fn reencryption(glance: &Glance) -> Value {
    let Ok(Some(under_way)) = &glance.facts.reencryption else { return Value::Null };
    let percent = under_way.len.map(|len| under_way.done as f64 * 100.0 / len.max(1) as f64);
    let zone = under_way.hot_zone.as_ref();
    let zone = zone.map(|zone| Value::Array(vec![number(zone.start), number(zone.end)]));
    Object::new()
        .with("mode", under_way.mode)
        .with("direction", under_way.direction)
        .with("resilience", under_way.resilience)
        .with("done", number(under_way.done))
        .with("length", under_way.len.map_or(Value::Null, number))
        .with("percent", percent.map_or(Value::Null, decimal))
        .with("hot_zone", zone.unwrap_or(Value::Null))
        .with("recoverable", Value::Bool(under_way.is_recoverable))
        .with("resumed_by", list(under_way.who_goes_on().into_iter().map(Value::from)))
        .with("resume", glance.resume.as_str())
        .into()
}

fn keyslot(keyslot: &Keyslot, time: Option<Interval>) -> Object {
    let priority = match keyslot.priority {
        Priority::Prefer => "prefer",
        Priority::Normal => "normal",
        Priority::Ignore => "ignore",
    };
    let kdf = match &keyslot.derivation {
        Ok(known) => derivation(&known.kdf),
        Err(kind) => Object::new().with("type", kind.as_str()),
    };
    Object::new()
        .with("keyslot", number(keyslot.number))
        .with("priority", priority)
        .with("unbound", Value::Bool(keyslot.unbound))
        .with("kdf", kdf)
        .with("seconds_here", time.map_or(Value::Null, |t| decimal(t.likely)))
        .with(
            "seconds_here_interval",
            time.map_or(Value::Null, |t| Value::Array(vec![decimal(t.low), decimal(t.high)])),
        )
}

fn derivation(kdf: &Kdf) -> Object {
    let object = Object::new().with("type", kdf.type_name());
    match kdf {
        Kdf::Pbkdf2 { hash, iterations, .. } => {
            object.with("hash", hash.as_str()).with("iterations", number(*iterations))
        }
        Kdf::Argon2i { time, memory_kib, lanes, .. } | Kdf::Argon2id { time, memory_kib, lanes, .. } => {
            object
                .with("passes", number(*time))
                .with("memory_kib", number(*memory_kib))
                .with("lanes", number(*lanes))
        }
    }
}

fn list<T: Into<Value>>(items: impl Iterator<Item = T>) -> Value {
    Value::Array(items.map(Into::into).collect())
}

fn texts(texts: &[String]) -> Value {
    list(texts.iter().map(|t| Value::from(t.as_str())))
}

fn optional(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::from)
}

fn number(number: impl Into<u64>) -> Value {
    Value::Number(number.into().to_string())
}

fn decimal(number: f64) -> Value {
    Value::Number(format!("{number:.3}"))
}
