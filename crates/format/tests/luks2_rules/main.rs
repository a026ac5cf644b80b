//! Every rule of LUKS2 metadata: a document of cryptsetup's, one
//! thing in it changed, and the message that names it.

mod areas;
mod config;
mod segments;

use keyway_format::json;
use keyway_format::luks2::{HeaderSize, Metadata};

/// Keyslots 0 (preferred), 1, 2 (unbound), 3 (ignored); digests 0 and
/// 1; tokens 0 and 1; one crypt segment.
const KEYSLOTS: &[u8] = include_bytes!("../golden/keyslots.json");
/// Segments 1 and 2 are backups; keyslot 5 is of type reencrypt.
const REENCRYPT: &[u8] = include_bytes!("../golden/reencrypt.json");

/// The member at `path` replaced by `new` (added when missing), or removed when `new` is empty.
fn edited(document: &[u8], path: &str, new: &str) -> String {
    let mut root = json::parse(document).unwrap();
    let (parents, last) = path.rsplit_once('.').unwrap_or(("", path));
    let mut parent = &mut root;
    for name in parents.split('.').filter(|name| !name.is_empty()) {
        parent = parent.as_object_mut().unwrap().get_mut(name).unwrap_or_else(|| panic!("{path}: no {name}"));
    }
    let parent = parent.as_object_mut().unwrap();
    match new {
        "" => drop(parent.remove(last).expect(path)),
        new => parent.set(last, json::parse(new.as_bytes()).unwrap()),
    }
    root.to_compact()
}

fn refusal(json: &[u8]) -> String {
    match Metadata::parse(json, HeaderSize::ALL[0]) {
        Ok(metadata) => {
            assert_eq!(metadata.to_json(), json, "what is accepted is kept to the byte");
            "accepted".into()
        }
        Err(error) => error.to_string(),
    }
}

fn check(document: &[u8], cases: &[(&str, &str, &str)]) {
    for (path, new, message) in cases {
        assert_eq!(refusal(edited(document, path, new).as_bytes()), *message, "{path} = {new}");
    }
}

#[test]
fn sections() {
    check(
        KEYSLOTS,
        &[
            ("keyslots", "", "keyslots: is missing"),
            ("tokens", "", "tokens: is missing"),
            ("segments", "", "segments: is missing"),
            ("digests", "", "digests: is missing"),
            ("config", "", "config: is missing"),
            ("config", "[]", "config: is of type array, not an object"),
            ("keyslots", "\"x\"", "keyslots: is of type string, not an object"),
            ("unknown", "{\"kept\":[1.50]}", "accepted"),
        ],
    );
    assert_eq!(refusal(b"[]"), "JSON: is not an object");
    assert_eq!(refusal(b"{"), "JSON: text ends too early at byte 1");
    assert_eq!(
        refusal(br#"{"keyslots":{},"keyslots":{}}"#),
        r#"JSON: member "keyslots" occurs twice at byte 15"#
    );
    let long = format!("{{\"pad\":\"{}\"}}", "x".repeat(12288 - 10));
    assert_eq!(refusal(long.as_bytes()), "JSON area is full: needs 12289 bytes, has 12288");
}

#[test]
fn numbers_of_objects() {
    let slot = "{}";
    check(
        KEYSLOTS,
        &[
            ("keyslots.x", slot, "keyslots.x: is not numbered 0 to 31"),
            ("keyslots.32", slot, "keyslots.32: is not numbered 0 to 31"),
            ("keyslots.01", slot, "keyslots.01: is not numbered 0 to 31"),
            ("keyslots.+1", slot, "keyslots.+1: is not numbered 0 to 31"),
            ("keyslots.-1", slot, "keyslots.-1: is not numbered 0 to 31"),
            ("tokens.4294967296", slot, "tokens.4294967296: is not numbered 0 to 31"),
            ("digests.00", slot, "digests.00: is not numbered 0 to 31"),
            ("segments.one", slot, "segments.one: is not numbered 0 to 31"),
            ("keyslots.7", "[]", "keyslots.7: is of type array, not an object"),
        ],
    );
}
