//! A LUKS2 header as cryptsetup prints it. The text is made from the JSON, not from Keyway's typed
//! view of it, so that what Keyway does not understand is shown too. The words are cryptsetup
//! 2.6's. Later versions print for segments without a cipher that they have none; here this is done
//! only for the self-encrypting drives that those versions introduced.

use super::hex_lines;
use crate::output::paint::printable;
use keyway::StoredToken;
use keyway_format::base64;
use keyway_format::json::{Value, parse};
use keyway_format::luks2::{BinaryHeader, Metadata};
use std::fmt::Write;

/// The whole text.
pub(super) fn dump(binary: &BinaryHeader, metadata: &Metadata) -> String {
    let document = parse(&metadata.to_json()).unwrap_or(Value::Null);
    let mut text = String::from("LUKS header information\n");
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<15}\t{value}");
    };
    let or =
        |text: &str, otherwise: &str| if text.is_empty() { otherwise.to_owned() } else { printable(text) };
    line("Version:", "2");
    line("Epoch:", &binary.sequence_id.to_string());
    line("Metadata area:", &binary.size.bytes().to_string());
    line("Keyslots area:", &metadata.config.keyslots_size.to_string());
    line("UUID:", &or(&binary.uuid, "(no UUID)"));
    line("Label:", &or(&binary.label, "(no label)"));
    line("Subsystem:", &or(&binary.subsystem, "(no subsystem)"));
    flags(&mut text, field(&document, "config"));
    segments(&mut text, field(&document, "segments"));
    keyslots(&mut text, &document, metadata);
    tokens(&mut text, metadata);
    digests(&mut text, field(&document, "digests"));
    text
}

fn flags(text: &mut String, config: &Value) {
    let words = |value: &Value| {
        value.as_array().into_iter().flatten().map(|w| format!("{} ", word(w))).collect::<String>()
    };
    let flags = words(field(config, "flags"));
    let requirements = words(field(field(config, "requirements"), "mandatory"));
    let shown = if flags.is_empty() { "(no flags)" } else { &flags };
    let _ = writeln!(text, "Flags:       \t{shown}");
    if !requirements.is_empty() {
        let _ = writeln!(text, "Requirements:\t{requirements}");
    }
    text.push('\n');
}

fn segments(text: &mut String, segments: &Value) {
    text.push_str("Data segments:\n");
    for (number, segment) in numbered(segments) {
        let _ = writeln!(text, "  {number}: {}", word(field(segment, "type")));
        let _ = writeln!(text, "\toffset: {} [bytes]", word(field(segment, "offset")));
        match word(field(segment, "size")).as_str() {
            "dynamic" => text.push_str("\tlength: (whole device)\n"),
            bytes => {
                let _ = writeln!(text, "\tlength: {bytes} [bytes]");
            }
        }
        if let Some(cipher) = member(segment, "encryption") {
            let _ = writeln!(text, "\tcipher: {}", word(cipher));
        } else if word(field(segment, "type")).starts_with("hw-opal") {
            text.push_str("\tcipher: (no SW encryption)\n");
        }
        if let Some(size) = member(segment, "sector_size") {
            let _ = writeln!(text, "\tsector: {} [bytes]", word(size));
        }
        if let Some(kind) = member(field(segment, "integrity"), "type") {
            let _ = writeln!(text, "\tintegrity: {}", word(kind));
        }
        if let Some(bytes) = member(field(segment, "integrity"), "key_size") {
            let _ = writeln!(text, "\tintegrity key size: {} [bits]", bits(bytes));
        }
        let flags: Vec<String> = field(segment, "flags").as_array().into_iter().flatten().map(word).collect();
        if !flags.is_empty() {
            let _ = writeln!(text, "\tflags : {}", flags.join(", "));
        }
        opal(text, segment);
        text.push('\n');
    }
}

/// The drive's locking range, as cryptsetup prints it from 2.7 on.
fn opal(text: &mut String, segment: &Value) {
    if !word(field(segment, "type")).starts_with("hw-opal") {
        return;
    }
    let _ = writeln!(
        text,
        "\tHW OPAL encryption:\n\t\tOPAL segment number: {}\n\t\tOPAL key: {} bits\n\t\tOPAL segment length: {} [bytes]",
        word(field(segment, "opal_segment_number")),
        bits(field(segment, "opal_key_size")),
        word(field(segment, "opal_segment_size"))
    );
}

fn keyslots(text: &mut String, document: &Value, metadata: &Metadata) {
    text.push_str("Keyslots:\n");
    for (number, keyslot) in numbered(field(document, "keyslots")) {
        let mark = if metadata.is_unbound(number) { " (unbound)" } else { "" };
        let _ = writeln!(text, "  {number}: {}{mark}", word(field(keyslot, "type")));
        if let Some(bytes) = member(keyslot, "key_size") {
            let _ = writeln!(text, "\tKey:        {} bits", bits(bytes));
        }
        let priority = match member(keyslot, "priority").map(word).as_deref() {
            Some("0") => "ignored",
            Some("2") => "preferred",
            Some("1") | None => "normal",
            Some(_) => "invalid",
        };
        let _ = writeln!(text, "\tPriority:   {priority}");
        match word(field(keyslot, "type")).as_str() {
            "luks2" => keyslot_details(text, keyslot),
            "reencrypt" => reencrypt_details(text, keyslot),
            _ => {}
        }
        for (digest, _) in metadata.digests.iter().filter(|(_, d)| d.keyslots.contains(&number)) {
            let _ = writeln!(text, "\tDigest ID:  {digest}");
        }
    }
}

fn keyslot_details(text: &mut String, keyslot: &Value) {
    let area = field(keyslot, "area");
    let fields = field(keyslot, "kdf");
    let _ = writeln!(text, "\tCipher:     {}", word(field(area, "encryption")));
    let _ = writeln!(text, "\tCipher key: {} bits", bits(field(area, "key_size")));
    let _ = writeln!(text, "\tPBKDF:      {}", word(field(fields, "type")));
    if word(field(fields, "type")) == "pbkdf2" {
        let _ = writeln!(text, "\tHash:       {}", word(field(fields, "hash")));
        let _ = writeln!(text, "\tIterations: {}", word(field(fields, "iterations")));
    } else {
        let _ = writeln!(text, "\tTime cost:  {}", word(field(fields, "time")));
        let _ = writeln!(text, "\tMemory:     {}", word(field(fields, "memory")));
        let _ = writeln!(text, "\tThreads:    {}", word(field(fields, "cpus")));
    }
    let _ = writeln!(text, "\tSalt:       {}", hex_lines(&bytes(field(fields, "salt")), INDENT));
    let _ = writeln!(text, "\tAF stripes: {}", word(field(field(keyslot, "af"), "stripes")));
    let _ = writeln!(text, "\tAF hash:    {}", word(field(field(keyslot, "af"), "hash")));
    let _ = writeln!(text, "\tArea offset:{} [bytes]", word(field(area, "offset")));
    let _ = writeln!(text, "\tArea length:{} [bytes]", word(field(area, "size")));
}

fn reencrypt_details(text: &mut String, keyslot: &Value) {
    let area = field(keyslot, "area");
    let resilience = word(field(area, "type"));
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "\t{name:<12}{value}");
    };
    line("Mode:", word(field(keyslot, "mode")));
    line("Direction:", word(field(keyslot, "direction")));
    line("Resilience:", resilience.clone());
    match resilience.as_str() {
        "checksum" => {
            line("Hash:", word(field(area, "hash")));
            line("Hash data:", format!("{} [bytes]", word(field(area, "sector_size"))));
        }
        "datashift" => line("Shift size:", format!("{}[bytes]", word(field(area, "shift_size")))),
        _ => {}
    }
    line("Area offset:", format!("{} [bytes]", word(field(area, "offset"))));
    line("Area length:", format!("{} [bytes]", word(field(area, "size"))));
}

fn tokens(text: &mut String, metadata: &Metadata) {
    text.push_str("Tokens:\n");
    for token in StoredToken::in_metadata(metadata) {
        let _ = writeln!(text, "  {}: {}", token.number, printable(&token.kind));
        for (label, said) in &token.details {
            let _ = writeln!(text, "\t{label}: {}", printable(said));
        }
        for keyslot in &token.keyslots {
            let _ = writeln!(text, "\tKeyslot:    {keyslot}");
        }
    }
}

fn digests(text: &mut String, digests: &Value) {
    text.push_str("Digests:\n");
    for (number, digest) in numbered(digests) {
        let _ = writeln!(text, "  {number}: {}", word(field(digest, "type")));
        if word(field(digest, "type")) != "pbkdf2" {
            continue;
        }
        let _ = writeln!(text, "\tHash:       {}", word(field(digest, "hash")));
        let _ = writeln!(text, "\tIterations: {}", word(field(digest, "iterations")));
        let _ = writeln!(text, "\tSalt:       {}", hex_lines(&bytes(field(digest, "salt")), INDENT));
        let _ = writeln!(text, "\tDigest:     {}", hex_lines(&bytes(field(digest, "digest")), INDENT));
    }
}

/// The indentation of a salt's continuation lines.
const INDENT: &str = "\t            ";

/// The members of an object whose names are numbers, in numerical order.
fn numbered(object: &Value) -> Vec<(u32, &Value)> {
    let members = object.as_object().into_iter().flat_map(|o| o.iter());
    let mut list: Vec<(u32, &Value)> = members.filter_map(|(n, v)| Some((n.parse().ok()?, v))).collect();
    list.sort_by_key(|(number, _)| *number);
    list
}

fn member<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.as_object()?.get(name)
}

/// The member, or null if there is none.
fn field<'a>(object: &'a Value, name: &str) -> &'a Value {
    member(object, name).unwrap_or(&Value::Null)
}

/// A string without quotes, or a number as written, escaped so that the terminal does not interpret
/// it.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) | Value::Number(text) => printable(text),
        Value::Null => String::new(),
        other => printable(&other.to_compact()),
    }
}

fn bits(bytes: &Value) -> u64 {
    word(bytes).parse::<u64>().unwrap_or(0) * 8
}

fn bytes(base64: &Value) -> Vec<u8> {
    base64.as_str().and_then(base64::decode).unwrap_or_default()
}
