//! The survey as JSON; docs/ciphers.schema.json is the schema.

use super::survey::{Entry, Survey};
use crate::output::document::document;
use keyway_format::json::{Object, Value};

/// One indented object.
pub(super) fn show(survey: &Survey) -> String {
    let kernel = Object::new()
        .with("release", survey.kernel.release.as_str())
        .with("dm_crypt", survey.kernel.dm_crypt.name());
    let combinations = survey.entries.iter().map(|entry| Value::from(combination(entry)));
    let object = document().with("kernel", kernel).with("combinations", Value::Array(combinations.collect()));
    Value::from(object).to_pretty()
}

fn combination(entry: &Entry) -> Object {
    let it = &entry.combination;
    let object = Object::new()
        .with("spec", it.text.as_str())
        .with("cipher", it.cipher)
        .with("mode", it.mode)
        .with("iv", optional(Some(it.iv.as_str()).filter(|iv| !iv.is_empty())))
        .with("exists", Value::Bool(it.outcome.is_ok()));
    match entry.existing() {
        None => object.with("reason", entry.reason().unwrap_or_default()),
        Some(existing) => object
            .with("block_bits", number(8 * existing.spec.block_len()))
            .with("iv_bytes", number(existing.spec.iv_len()))
            .with("key_bits", numbers(existing.key_bits.iter().copied()))
            .with("sector_sizes", numbers(existing.sector_sizes.iter().map(|size| size.bytes())))
            .with("code", optional(entry.code))
            .with("kernel", entry.kernel.name()),
    }
}

fn number(number: usize) -> Value {
    Value::Number(number.to_string())
}

fn numbers(all: impl Iterator<Item = usize>) -> Value {
    Value::Array(all.map(number).collect())
}

fn optional(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::from)
}
