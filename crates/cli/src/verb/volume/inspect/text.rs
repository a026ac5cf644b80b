//! The facts as text: aligned, short, in colour if wanted.

use super::glance::{Glance, content, is_encrypted};
use super::warnings;
use crate::output::figures::{grouped, span};
use crate::output::paint::{Paint, printable};
use crate::output::size::human;
use keyway::facts::{Copies, Keyslot, Reencryption, SealState};
use keyway_format::interval::Interval;
use keyway_format::luks2::{Copy, Kdf, Priority};
use std::fmt::Write;

/// The whole page.
pub(super) fn show(glance: &Glance, paint: Paint) -> String {
    let facts = &glance.facts;
    let mut page = String::new();
    let kind = format!("LUKS{}", facts.version);
    let _ = writeln!(page, "{}  {}", paint.strong(&printable(&glance.device)), paint.strong(&kind));
    for (name, value) in rows(glance, paint) {
        let _ = writeln!(page, "  {}{value}", paint.faint(&format!("{name:<11}")));
    }
    let keyslots =
        facts.keyslots.iter().zip(&glance.times).map(|(slot, time)| keyslot_row(slot, *time)).collect();
    table(&mut page, ["Keyslot", "Priority", "Key derivation", "Time here"], keyslots, paint);
    let tokens = facts
        .tokens
        .iter()
        .map(|t| [t.number.to_string(), printable(&t.kind), numbers(&t.keyslots), String::new()])
        .collect();
    table(&mut page, ["Token", "Type", "Keyslots", ""], tokens, paint);
    if !glance.concerns.is_empty() {
        page.push('\n');
    }
    for warning in warnings::warnings(facts, &glance.concerns) {
        let _ = writeln!(page, "  {} {}", paint.warning("!"), printable(&warning));
    }
    for remark in warnings::remarks(facts, &glance.concerns) {
        let _ = writeln!(page, "  {} {}", paint.faint("·"), printable(&remark));
    }
    page
}

fn rows(glance: &Glance, paint: Paint) -> Vec<(&'static str, String)> {
    let facts = &glance.facts;
    let mut rows = Vec::new();
    for segment in &facts.segments {
        let words = glance.cipher_in_words().filter(|_| is_encrypted(segment));
        rows.push((
            "Cipher",
            match words {
                Some(words) => format!("{words}  {}", paint.faint(&printable(&content(segment)))),
                None => printable(&content(segment)),
            },
        ));
        rows.push((
            "Data",
            format!(
                "{} in sectors of {} bytes, from {} on",
                human(segment.len),
                segment.sector_size,
                human(segment.offset)
            ),
        ));
    }
    if let Ok(Some(under_way)) = &facts.reencryption {
        rows.extend(reencryption(under_way, paint));
        rows.push(("Resumed by", under_way.who_goes_on().join(", ")));
        rows.push(("Resume", printable(&glance.resume)));
    }
    if facts.awaits_first_boot {
        rows.push((
            "First boot",
            "to come: \"keyway unlock\" will give it a volume key of its own".to_owned(),
        ));
    }
    rows.push(("UUID", printable(&facts.uuid)));
    rows.extend(facts.label.iter().map(|label| ("Label", printable(label))));
    rows.extend(facts.subsystem.iter().map(|subsystem| ("Subsystem", printable(subsystem))));
    if !facts.flags.is_empty() {
        rows.push(("Flags", printable(&facts.flags.join(", "))));
    }
    match facts.copies {
        Copies::Single => {}
        Copies::Both { sequence_id } => {
            let times = if sequence_id == 1 { "once".to_owned() } else { format!("{sequence_id} times") };
            rows.push(("Header", format!("{}, written {times}", paint.good("both copies good"))));
        }
        Copies::Damaged { copy: Copy::Primary, .. } => {
            rows.push(("Header", paint.bad("primary copy damaged, secondary good")));
        }
        Copies::Damaged { copy: Copy::Secondary, .. } => {
            rows.push(("Header", paint.bad("secondary copy damaged, primary good")));
        }
    }
    match &glance.seal {
        SealState::None => {}
        SealState::Verified => rows.push(("Seal", paint.good("holds, verified with the volume key"))),
        SealState::Unverified => {
            rows.push(("Seal", "sealed, not verified: that needs the key (--verify)".to_owned()));
        }
        SealState::Broken(broken) => rows.push(("Seal", paint.bad(&printable(&broken.to_string())))),
    }
    rows
}

/// What a re-encryption does, how far it is, and what was being written.
fn reencryption(under_way: &Reencryption, paint: Paint) -> Vec<(&'static str, String)> {
    let what = match under_way.mode {
        "encrypt" => "being encrypted",
        "decrypt" => "being decrypted",
        _ => "being reencrypted",
    };
    let far = match under_way.len {
        Some(len) => {
            let percent = under_way.done as f64 * 100.0 / len.max(1) as f64;
            format!("{} of {} done ({percent:.1} %)", human(under_way.done), human(len))
        }
        None => format!("{} done", human(under_way.done)),
    };
    let (direction, resilience) = (under_way.direction, under_way.resilience);
    let mut rows = vec![("Under way", format!("{what} {direction}, {far}, resilience {resilience}"))];
    if let Some(zone) = &under_way.hot_zone {
        let state = format!("cut off while bytes {} to {} were written", zone.start, zone.end);
        let then = match under_way.is_recoverable {
            true => ": completed when it is opened for writing",
            false => ": they are lost",
        };
        rows.push(("", paint.bad(&format!("{state}{then}"))));
    }
    rows
}

fn keyslot_row(keyslot: &Keyslot, time: Option<Interval>) -> [String; 4] {
    let priority = match keyslot.priority {
        Priority::Prefer => "first",
        Priority::Normal => "normal",
        Priority::Ignore => "if named",
    };
    let derivation = match &keyslot.derivation {
        Ok(known) => derivation(&known.kdf),
        Err(kind) if kind == "reencrypt" => "none: it holds what protects the reencryption".to_owned(),
        Err(kind) => format!("type {}, unknown here", printable(kind)),
    };
    let holds_key = keyslot.derivation.as_ref().err().is_none_or(|kind| kind != "reencrypt");
    let unbound = if keyslot.unbound && holds_key { " (holds another key)" } else { "" };
    let time = time.map_or("?".to_owned(), span);
    [keyslot.number.to_string(), priority.to_owned(), format!("{derivation}{unbound}"), time]
}

/// "argon2id, 4 passes over 1.0 GiB in 4 lanes".
fn derivation(kdf: &Kdf) -> String {
    let name = kdf.type_name();
    match kdf {
        Kdf::Pbkdf2 { hash, iterations, .. } => {
            format!("{name} {}, {} iterations", printable(hash), grouped((*iterations).into()))
        }
        Kdf::Argon2i { time, memory_kib, lanes, .. } | Kdf::Argon2id { time, memory_kib, lanes, .. } => {
            let lanes = if *lanes == 1 { "1 lane".to_owned() } else { format!("{lanes} lanes") };
            format!("{name}, {time} passes over {} in {lanes}", human(u64::from(*memory_kib) * 1024))
        }
    }
}

fn numbers(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// Columns as wide as their widest entry; prints nothing if there are no rows.
fn table(page: &mut String, head: [&str; 4], rows: Vec<[String; 4]>, paint: Paint) {
    if rows.is_empty() {
        return;
    }
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).max(head[column].len())
    };
    let widths = [width(0), width(1), width(2), width(3)];
    let line = |cells: [&str; 4]| {
        let cells = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let _ = writeln!(page, "\n  {}", paint.faint(&line(head)));
    for row in &rows {
        let _ = writeln!(page, "  {}", line([&row[0], &row[1], &row[2], &row[3]]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_align_and_colours_can_be_left_out() {
        let mut page = String::new();
        let rows = vec![
            ["0".to_owned(), "a long entry".to_owned(), "x".to_owned(), "1 s".to_owned()],
            ["11".to_owned(), "b".to_owned(), "y".to_owned(), String::new()],
        ];
        table(&mut page, ["No", "Name", "C", "Time"], rows, Paint(false));
        assert_eq!(
            page,
            "\n  No  Name          C  Time\n  0   a long entry  x  1 s\n  11  b             y\n"
        );
    }
}
