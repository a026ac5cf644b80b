//! What a repair found, lost and will write: as text, as JSON (docs/repair.schema.json), and in
//! cryptsetup's words.

use crate::output::document;
use crate::output::failure::Result;
use crate::output::paint::{Paint, printable, printable_lines};
use crate::output::stdio;
use keyway::Repair;
use keyway::repair::{Found, KeyslotArea, State};
use keyway_format::json::{Object, Value};
use std::fmt::Write;
use std::ops::Range;
use std::path::Path;

pub(super) fn text(repair: &Repair, paint: Paint) -> String {
    let mut page = String::new();
    let mut section = |name: &str, lines: &[String]| {
        let _ = writeln!(page, "{}", paint.strong(name));
        for line in lines {
            let _ = writeln!(page, "  {}", printable(line));
        }
    };
    section("Found", &repair.found().iter().map(Found::to_string).collect::<Vec<_>>());
    if !repair.changes().is_empty() {
        let nothing = ["Nothing.".to_owned()];
        section("Lost", if repair.lost().is_empty() { &nothing } else { repair.lost() });
        section("To be written", repair.changes());
    }
    if !repair.keyslots().is_empty() {
        let name = format!(
            "Key material, by sectors of {} bytes: # random, . not, ? unreadable",
            KeyslotArea::SECTOR
        );
        section(&name, &repair.keyslots().iter().flat_map(lines).collect::<Vec<_>>());
    }
    for warning in repair.warnings() {
        let _ = writeln!(page, "WARNING: {}", printable(warning));
    }
    page
}

/// A keyslot's bar, and what is wrong with its area.
fn lines(area: &KeyslotArea) -> Vec<String> {
    let mut lines = vec![format!("Keyslot {:<2} [{}]", area.number, area.bar(WIDTH))];
    for (what, ranges) in [("not random", &area.suspicious), ("unreadable", &area.unreadable)] {
        if !ranges.is_empty() {
            lines.push(format!("  {what}: {}", places(ranges)));
        }
    }
    if !area.is_sound() {
        lines.push("  No passphrase opens it any more; a header backup brings it back.".to_owned());
    }
    lines
}

fn places(ranges: &[Range<u64>]) -> String {
    let named: Vec<String> =
        ranges.iter().take(NAMED).map(|range| format!("bytes {} to {}", range.start, range.end)).collect();
    match ranges.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{}, and {more} more places", named.join(", ")),
    }
}

/// What cryptsetup prints: the changes, and what looks like damage of a keyslot.
pub(super) fn like_cryptsetup(repair: &Repair, device: &Path) -> Result<()> {
    for change in repair.changes() {
        say!("{change}");
    }
    let damaged: Vec<&KeyslotArea> =
        repair.keyslots().iter().filter(|area| !area.suspicious.is_empty()).collect();
    let mut page = String::new();
    for area in &damaged {
        let _ = writeln!(page, "Keyslot {} binary data could be corrupted.", area.number);
        for range in area.suspicious.iter().take(SUSPECTED) {
            let _ = writeln!(page, "  Suspected offset: {:#x}", range.start);
        }
        if area.suspicious.len() > SUSPECTED {
            page.push_str("  Subsequent suspected offsets are suppressed.\n");
        }
    }
    if !damaged.is_empty() {
        let device = device.display();
        let _ = writeln!(
            page,
            "You can use hexdump -v -C -n 128 -s <offset_0xXXXX> \"{device}\" to inspect the data."
        );
    }
    stdio::print(&printable_lines(&page))
}

pub(super) fn json(repair: &Repair) -> Result<()> {
    let array = |values: Vec<Value>| Value::Array(values);
    let texts = |lines: &[String]| array(lines.iter().map(|line| Value::from(line.as_str())).collect());
    document::print(
        document::document()
            .with("found", array(repair.found().iter().map(found).collect()))
            .with("lost", texts(repair.lost()))
            .with("changes", texts(repair.changes()))
            .with("warnings", texts(repair.warnings()))
            .with("needs_passphrase", Value::Bool(repair.needs_passphrase()))
            .with("keyslots", array(repair.keyslots().iter().map(keyslot).collect())),
    )
}

fn found(found: &Found) -> Value {
    let (state, restored, why) = match &found.state {
        State::Sound => ("sound", &[][..], None),
        State::Confirmed(parts) => ("confirmed", &parts[..], None),
        State::Unconfirmed => ("unconfirmed", &[][..], None),
        State::Damaged(why) => ("damaged", &[][..], Some(why.as_str())),
    };
    Object::new()
        .with("name", found.name)
        .with("offset", number(found.offset))
        .with("state", state)
        .with("restored", Value::Array(restored.iter().map(|part| Value::from(part.as_str())).collect()))
        .with("why", why.map_or(Value::Null, Value::from))
        .with("sequence_id", found.sequence_id.map_or(Value::Null, number))
        .with("uuid", found.uuid.as_deref().map_or(Value::Null, Value::from))
        .into()
}

fn keyslot(area: &KeyslotArea) -> Value {
    let range = |range: &Range<u64>| {
        Value::from(
            Object::new().with("offset", number(range.start)).with("length", number(range.end - range.start)),
        )
    };
    let ranges = |all: &[Range<u64>]| Value::Array(all.iter().map(range).collect());
    Object::new()
        .with("number", area.number)
        .with("offset", number(area.offset))
        .with("length", number(area.len))
        .with("sector", number(KeyslotArea::SECTOR))
        .with("bar", area.bar(WIDTH))
        .with("not_random", ranges(&area.suspicious))
        .with("unreadable", ranges(&area.unreadable))
        .into()
}

fn number(number: u64) -> Value {
    Value::Number(number.to_string())
}

/// Characters of a bar.
const WIDTH: u64 = 64;
/// Places that are named before the others are counted.
const NAMED: usize = 6;
/// Offsets that cryptsetup names.
const SUSPECTED: usize = 3;
