//! The findings as JSON; docs/xray.schema.json is the schema.

use super::kernel::{Cipher, Findings};
use super::place::Place;
use super::subject::Subject;
use crate::output::document::document;
use keyway_format::json::{Object, Value};
use keyway_kernel::modules::Found;
use keyway_kernel::{Checked, Choice, Missing, Row, SelfTests, Severity, Speed, System};

/// One indented object.
pub(super) fn show(subject: &Subject, findings: &Findings) -> String {
    let object = document()
        .with("volume", optional(subject.volume.as_deref()))
        .with("kernel", findings.system.as_ref().map_or(Value::Null, |system| kernel(system).into()))
        .with("cpu", cpu(findings))
        .with("ciphers", array(findings.ciphers.iter().map(cipher)))
        .with("places", array(findings.places.iter().map(place)));
    Value::from(object).to_pretty()
}

fn kernel(system: &System) -> Object {
    let version = system.registry.version.map(|version| version.to_string());
    let self_tests = match &system.self_tests {
        SelfTests::Run => "run".to_owned(),
        SelfTests::Off(why) => format!("off: {why}"),
        SelfTests::Unknown => "unknown".to_owned(),
    };
    Object::new()
        .with("release", system.release.as_str())
        .with("version", optional(version.as_deref()))
        .with("flags", if system.flags.is_ok() { "kernel" } else { "table" })
        .with("flags_missing", missing(system.flags.as_ref().err()))
        .with("self_tests", self_tests)
}

fn cpu(findings: &Findings) -> Value {
    let Some(machine) = &findings.machine else { return Value::Null };
    let features = machine.features.iter().map(|feature| Value::from(feature.as_str()));
    let object = Object::new()
        .with("name", machine.cpu.as_str())
        .with("architecture", machine.architecture.as_str())
        .with("features", Value::Array(features.collect()))
        .with("aes_code", machine.aes_code.as_str());
    object.into()
}

fn cipher(cipher: &Cipher) -> Object {
    let xray = &cipher.xray;
    let verdict = cipher.verdict.iter().map(|line| {
        let severity = match line.severity {
            Severity::Good => "good",
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Bad => "bad",
        };
        Object::new().with("severity", severity).with("text", line.text.as_str())
    });
    let keyway =
        xray.keyway.as_ref().map_or(Value::Null, |(rate, code)| speed(rate).with("code", *code).into());
    Object::new()
        .with("spec", xray.spec.as_str())
        .with("algorithm", xray.algorithm.to_string())
        .with("dm_crypt", choice(Some(&xray.dm_crypt)))
        .with("fscrypt", choice(xray.fscrypt.as_ref()))
        .with("unmeasured", missing(xray.unmeasured.as_ref()))
        .with("drivers", array(xray.rows.iter().map(driver)))
        .with("keyway", keyway)
        .with("verdict", array(verdict))
}

fn choice(choice: Option<&Result<Choice, Vec<String>>>) -> Value {
    match choice {
        None => Value::Null,
        Some(Ok(choice)) => Object::new()
            .with("driver", choice.driver.as_str())
            .with("priority", number(choice.priority))
            .with("in_use", Value::Bool(choice.exists))
            .into(),
        Some(Err(names)) => {
            let names = names.iter().map(|name| Value::from(name.as_str()));
            Object::new().with("driver", Value::Null).with("missing", Value::Array(names.collect())).into()
        }
    }
}

fn driver(row: &Row) -> Object {
    let driver = &row.driver;
    let refused = row.refused_by.iter().map(|user| Value::from(user.name()));
    let output = match &row.checked {
        None => Value::Null,
        Some(Checked::Right(times)) => {
            Object::new().with("result", "right").with("checks", number(*times)).into()
        }
        Some(Checked::Wrong(wrong)) => Object::new()
            .with("result", "wrong")
            .with("at", number(wrong.at))
            .with("expected", wrong.expected.as_str())
            .with("found", wrong.found.as_str())
            .with("during", wrong.during.as_str())
            .with("remedy", row.remedy())
            .into(),
        Some(Checked::Failed(why)) => Object::new()
            .with("result", "failed")
            .with("reason", why.as_str())
            .with("remedy", row.remedy())
            .into(),
        Some(Checked::NotChecked(why)) => {
            Object::new().with("result", "not checked").with("missing", missing(Some(why))).into()
        }
    };
    let speeds = row.speeds.as_deref().unwrap_or_default().iter().map(speed);
    Object::new()
        .with("name", driver.name.as_str())
        .with("driver", driver.driver.as_str())
        .with("module", driver.module.as_str())
        .with("priority", number(driver.priority))
        .with("engine", optional(row.engine.map(|engine| engine.name)))
        .with("source", optional(row.engine.map(|engine| engine.source)))
        .with("flags", row.flags.to_string())
        .with("selftest", driver.selftest.as_str())
        .with("refused_by", Value::Array(refused.collect()))
        .with("output", output)
        .with("speeds", array(speeds))
}

fn speed(speed: &Speed) -> Object {
    Object::new()
        .with("bytes", number(speed.bytes))
        .with("encrypt_bytes_per_second", number(speed.encrypt as u64))
        .with("decrypt_bytes_per_second", number(speed.decrypt as u64))
}

fn place(place: &Place) -> Object {
    let needs = place.needs.iter().map(|(need, found)| {
        let (state, module) = match found {
            Found::BuiltIn(module) => ("built-in", Some(module)),
            Found::Module(module) => ("module", Some(module)),
            Found::Loaded => ("loaded", None),
            Found::Incomplete { module, .. } => ("incomplete", Some(module)),
            Found::Missing => ("missing", None),
            Found::Unknown => ("unknown", None),
        };
        let without = match found {
            Found::Incomplete { without, .. } => Some(without.as_str()),
            _ => None,
        };
        Object::new()
            .with("name", need.name.as_str())
            .with("why", need.why.as_str())
            .with("state", state)
            .with("module", optional(module.map(String::as_str)))
            .with("without", optional(without))
    });
    let notes = place.notes.iter().map(|note| Value::from(note.as_str()));
    Object::new()
        .with("place", place.name.as_str())
        .with("release", optional(Some(place.release.as_str()).filter(|release| !release.is_empty())))
        .with("modules", number(place.modules))
        .with("complete", Value::Bool(!place.lacks_something()))
        .with("needs", array(needs))
        .with("notes", Value::Array(notes.collect()))
}

fn missing(missing: Option<&Missing>) -> Value {
    let Some(missing) = missing else { return Value::Null };
    Object::new()
        .with("reason", missing.reason.as_str())
        .with("right", optional(missing.right.as_deref()))
        .with("module", optional(missing.module.as_deref()))
        .into()
}

fn array(objects: impl Iterator<Item = Object>) -> Value {
    Value::Array(objects.map(Value::from).collect())
}

fn optional(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::from)
}

fn number(number: impl ToString) -> Value {
    Value::Number(number.to_string())
}
