//! Text planted in a header never reaches a terminal as a control sequence, whichever command
//! prints it.

use super::CHEAP;
use keyway_format::luks2::Copy;
use keyway_tests::{Outcome, Scratch, keyway};
use keyway_volume::device::storage::File;
use keyway_volume::{Access, Header, Luks, Storage};
use std::path::Path;
use std::sync::Arc;

/// Clears the screen, rings, starts a new line, and reverses the text after it.
const EVIL: &str = "\u{1b}[2J\u{7}\nFORGED\u{9b}31m\u{202e}\u{2066}\u{200b}\u{7f}";
/// The same in JSON.
const EVIL_JSON: &str = "\\u001b[2J\\u0007\\nFORGED\u{9b}31m\u{202e}\u{2066}\u{200b}\u{7f}";

#[test]
fn no_text_of_a_header_commands_a_terminal() {
    let scratch = Scratch::new();
    let (volume, key) = (scratch.sized("volume", 4 << 20), scratch.file("key", "key"));
    keyway("luksFormat -q --luks2-keyslots-size 1M").args(CHEAP).arg(&volume).arg(&key).ok();
    keyway("seal").arg("-d").arg(&key).arg(&volume).ok();
    spoil(&volume, false);
    let policy = scratch
        .file("p.toml", "label = \"x\"\nallowed-tokens = []\nallowed-flags = []\nkdfs = [\"argon2id\"]\n");
    let policy = format!("--require {}", policy.display());
    for line in LINES.iter().copied().chain([
        format!("inspect {policy}").as_str(),
        format!("inspect --json {policy}").as_str(),
        format!("read --length 1 --ignore-seal -o /dev/null {policy}").as_str(),
    ]) {
        let (command, rest) = line.split_once(" | ").unwrap_or((line, ""));
        let outcome = keyway(command).arg("-d").arg(&key).arg(&volume).args(rest).outcome();
        assert_harmless(line, &outcome);
        let outcome = keyway(command).arg(&volume).args(rest).stdin("key").outcome();
        assert_harmless(line, &outcome);
    }
    // The text was present in the output.
    let dump = keyway("luksDump").arg(&volume).ok().text();
    for field in ["Label:", "Subsystem:", "Flags:", "9: type", "7: slot", "3: digest"] {
        let shown = dump.lines().filter(|line| line.contains(field));
        assert!(
            shown.clone().any(|line| line.contains("\\u{1b}[2J\\u{7}\\nFORGED\\u{9b}31m\\u{202e}")),
            "{field} in {dump}"
        );
    }
    keyway("inspect").arg(&volume).ok().says("\\u{1b}[2J");
    keyway("inspect --json")
        .arg(&volume)
        .ok()
        .says("\\u001b[2J\\u0007\\nFORGED\\u009b31m\\u202e\\u2066\\u200b\\u007f");
    keyway("luksUUID").arg(&volume).ok().says("\\u{1b}[2J\\u{7}\\nFORGED");
    keyway("token export --token-id 9").arg(&volume).ok().says("\\u202e");
    keyway("read").arg("-d").arg(&key).arg(&volume).fails(6).says("config.flags[0] is \"flag\\u001b");
    let sealed = scratch.copy(&volume, "sealed");
    let outcome = keyway("-v -q seal").arg("-d").arg(&key).arg(&sealed).ok().says("WARNING");
    assert_harmless("seal", &outcome);

    // The forged requirement is named and refused.
    spoil(&volume, true);
    for line in ["open --test-passphrase --ignore-seal", "luksAddKey", "inspect", "luksDump"] {
        let outcome = keyway(line).arg("-d").arg(&key).arg(&volume).outcome();
        assert_harmless(line, &outcome);
    }
    let refused = keyway("open --test-passphrase --ignore-seal").arg("-d").arg(&key).arg(&volume).fails(1);
    refused.says("requires \"requirement\\u{1b}[2J\\u{7}\\nFORGED");
}

/// All commands that show a header; the part after the bar goes after the device.
const LINES: &[&str] = &[
    "luksDump",
    "luksDump --json",
    "luksDump --dump-json-metadata",
    "-q luksDump --dump-volume-key",
    "-q luksDump --unbound --key-slot 7",
    "luksUUID",
    "luksUUID --json",
    "-v isLuks",
    "inspect",
    "inspect --json",
    "token export --token-id 9",
    "token remove --token-id 4",
    "-v --debug open --test-passphrase",
    "-v --debug open --test-passphrase --ignore-seal",
    "open --test-passphrase --token-id 9",
    "open --test-passphrase --token-only --token-type x",
    "open --test-passphrase --ignore-seal --key-slot 7",
    "read --length 1",
    "read --length 1 --ignore-seal -o /dev/null",
    "--debug read --length 1 --ignore-seal -o /dev/null",
    "-q luksKillSlot | 5",
    "luksConvertKey --key-slot 7",
    "config --priority prefer --key-slot 9",
    "-q convert --type luks1",
    "-q repair",
    "passport --target linux",
    "boot check",
    "xray",
];

#[track_caller]
fn assert_harmless(line: &str, outcome: &Outcome) {
    let shown = format!("{}{}", outcome.text(), outcome.errors());
    let is_harmful = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || "\u{2066}\u{200b}".contains(c)
    };
    if let Some(c) = shown.chars().find(|&c| is_harmful(c)) {
        panic!("{line}: {:?} in {shown:?}", c);
    }
    assert!(!shown.lines().any(|line| line.starts_with("FORGED")), "{line}: a line of its own in {shown}");
}

/// Plants the text everywhere, with correct checksums.
fn spoil(volume: &Path, requirement: bool) {
    let storage: Arc<dyn Storage> = Arc::new(File::open_rw(volume).unwrap());
    let luks = Luks::open(Arc::clone(&storage), Access::Probe).unwrap();
    let Header::Luks2 { binary, metadata } = luks.header() else { panic!("not LUKS2") };
    let mut binary = binary.clone();
    binary.set_label(EVIL).unwrap();
    binary.set_subsystem(EVIL).unwrap();
    binary.set_uuid(EVIL).unwrap();
    let json = String::from_utf8(metadata.to_json()).unwrap();
    let put = |json: String, at: &str, what: String| {
        let at = json.rfind(at).unwrap_or_else(|| panic!("{at} in {json}")) + at.len();
        format!("{}{what}{}", &json[..at], &json[at..])
    };
    let json = if requirement {
        put(json, "\"config\":{", format!("\"requirements\":{{\"mandatory\":[\"requirement{EVIL_JSON}\"]}},"))
    } else {
        let area = "\"area\":{\"type\":\"raw\",\"offset\":\"290816\",\"size\":\"4096\"}";
        let json = put(json, "\"config\":{", format!("\"flags\":[\"flag{EVIL_JSON}\"],"));
        let json = put(
            json,
            "\"digests\":{",
            format!("\"3\":{{\"type\":\"digest{EVIL_JSON}\",\"keyslots\":[\"7\"],\"segments\":[]}},"),
        );
        let json = put(
            json,
            "\"keyslots\":{",
            format!("\"7\":{{\"type\":\"slot{EVIL_JSON}\",\"key_size\":64,{area}}},"),
        );
        put(json, "\"tokens\":{", format!("\"9\":{{\"type\":\"type{EVIL_JSON}\",\"keyslots\":[\"0\"]}},"))
    };
    for (copy, offset) in [(Copy::Primary, 0), (Copy::Secondary, binary.size.bytes().0)] {
        let bytes = binary.as_copy(copy, [9; 64]).copy_to_bytes(json.as_bytes()).unwrap();
        storage.write_at(&bytes, offset).unwrap();
    }
}
