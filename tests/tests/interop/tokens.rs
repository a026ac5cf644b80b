//! Tokens that name a key in the kernel's keyring: a token added by one program works in the other;
//! and the messages if a token opens nothing.

use crate::volume::{BOTH_WAYS, Tool, Volume};
pub(crate) use keyway_tests::keyring::{InKeyring, keyring_is_usable};
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::run::Outcome;
use keyway_tests::{assert_same_lines, cryptsetup, keyway, need, need_that};
use std::path::Path;

#[test]
fn the_key_in_the_keyring_opens_before_anybody_is_asked() {
    need!("cryptsetup", "keyctl");
    need_that!(keyring_is_usable(), "the kernel's keyring is not to be had here");
    for (way, a, b) in BOTH_WAYS {
        eprintln!("{way}");
        let v = volume(a);
        let key = InKeyring::new(way);
        v.run(a, "token add --key-slot 1").arg("--key-description").arg(&key.0).ok();
        key.holds(&v.second_key);
        for options in ["", "--token-only", "--token-id 0", "--token-type luks2-keyring", "--key-slot 1"] {
            v.run(b, "-v open --test-passphrase").args(options).ok().says("Key slot 1 unlocked.");
        }
        // A token goes before a key file, even one that opens another keyslot or none.
        v.run(b, "-v open --test-passphrase").arg("-d").arg(&v.first_key).ok().says("Key slot 1 unlocked.");
        v.run(b, "-v open --test-passphrase").arg("-d").arg(&v.third_key).ok().says("Key slot 1 unlocked.");
    }
}

#[test]
fn a_token_that_opens_nothing_is_passed_over() {
    need!("cryptsetup", "keyctl");
    need_that!(keyring_is_usable(), "the kernel's keyring is not to be had here");
    let v = volume(cryptsetup);
    let key = InKeyring::new("wrong");
    cases(&v, "without a token");
    v.run(cryptsetup, "token add --key-slot 1").arg("--key-description").arg(&key.0).ok();
    cases(&v, "without its key");
    key.holds(&v.third_key);
    cases(&v, "with a wrong key");
    key.holds(&v.second_key);
    cases(&v, "with the right key");
    v.run(cryptsetup, "config --key-slot 1 --priority ignore").ok();
    cases(&v, "of a keyslot to be ignored");
    v.run(cryptsetup, "token unassign --token-id 0 --key-slot 1").ok();
    cases(&v, "of no keyslot");
}

/// A token that needs a missing program: reported with -v, followed by a passphrase prompt.
#[test]
fn tokens_of_other_types_are_passed_over() {
    need!("cryptsetup");
    let v = volume(cryptsetup);
    let json = r#"{"type":"keyway-test","keyslots":["0"]}"#;
    v.run(cryptsetup, "token import --token-id 3").stdin(json).ok();
    let opened = v.run(keyway, "-v open --test-passphrase").arg("-d").arg(&v.first_key).ok();
    assert_eq!(opened.errors(), "Token 3 is skipped: type keyway-test is not supported.\n");
    opened.says("No usable token is available.").says("Key slot 0 unlocked.");
    v.run(keyway, "open --test-passphrase --token-only").fails(1).says("No usable token is available.");
    v.run(cryptsetup, "open --test-passphrase --token-only").fails(1);
}

/// cryptsetup says that it failed; Keyway also which field it is.
#[test]
fn a_bad_token_is_not_the_devices_fault() {
    need!("cryptsetup");
    let v = volume(cryptsetup);
    let before = std::fs::read(&v.path).unwrap();
    for (json, why) in [
        ("foo", "It is not a token: unexpected byte 0x6f at byte 1."),
        ("[]", "It is not a token: it is of type array, not an object."),
        (r#"{"type":"x"}"#, "The token's field \"keyslots\" is missing."),
        (r#"{"keyslots":[]}"#, "The token's field \"type\" is missing."),
        (r#"{"type":5,"keyslots":[]}"#, "The token's field \"type\" is of type number, not a string."),
        (r#"{"type":"x","keyslots":["7"]}"#, "The token's field \"keyslots\": \"7\" is not in keyslots."),
        (
            r#"{"type":"luks2-keyring","keyslots":[]}"#,
            "The token's field \"key_description\" is not the description of a key.",
        ),
    ] {
        let line = "token import";
        let theirs = v.run(cryptsetup, line).stdin(json).fails(1).errors();
        let ours = v.run(keyway, line).stdin(json).fails(1).errors();
        assert_eq!(theirs, "Failed to import token from file.\n", "{json}");
        assert_eq!(ours, format!("{theirs}{why}\n"), "{json}");
    }
    assert!(std::fs::read(&v.path).unwrap() == before);
}

/// Keyslots 0 and 1 for the first two keys.
pub(crate) fn volume(maker: Tool) -> Volume {
    let v = Volume::made_by(maker, &format!("--type luks2 {CHEAP_LUKS2_PBKDF2}"), 20 << 20);
    v.run(maker, "luksAddKey -q")
        .args(CHEAP_LUKS2_PBKDF2)
        .arg("-d")
        .arg(&v.first_key)
        .arg(&v.second_key)
        .ok();
    v
}

/// Compares exit codes and `-v` output. (With --token-only cryptsetup prints nothing else; Keyway
/// also prints the reason on standard error.)
#[track_caller]
fn cases(v: &Volume, state: &str) {
    let both = |line: &str, key: Option<&Path>| {
        let run = |tool: Tool| -> Outcome {
            let run = v.run(tool, "-v open --test-passphrase").args(line);
            match key {
                Some(key) => run.arg("-d").arg(key).outcome(),
                None => run.outcome(),
            }
        };
        let (ours, theirs) = (run(keyway), run(cryptsetup));
        assert_eq!(ours.code, theirs.code, "{state}: {line}\n{ours}{theirs}");
        (ours, theirs)
    };
    for line in ["", "--token-id 0", "--token-id 3", "--token-type luks2-keyring", "--token-type other"] {
        for key in [None, Some(&*v.first_key)] {
            let (ours, theirs) = both(line, key);
            assert_same_lines(&format!("{state}: {line}"), &ours.text(), "cryptsetup", &theirs.text());
            let (ours, _) = both(&format!("--token-only {line}"), key);
            assert_eq!(
                ours.errors().lines().count(),
                usize::from(ours.code != Some(0)),
                "{state}: {line}\n{ours}"
            );
        }
    }
}

/// Programs that bind tokens write for json-c, which takes more than JSON (clevis repeats a member): each
/// program takes what the other does, and the header holds the same JSON.
#[test]
fn a_token_is_taken_as_json_c_takes_it() {
    need!("cryptsetup");
    // As clevis 18 writes it.
    let clevis = r#"{"type":"clevis","keyslots":["0"],"jwe":{"ciphertext":"AA","ciphertext":"AB","encrypted_key":"","iv":"BB","protected":"CC","tag":"DD"}}"#;
    for (json, is_taken) in [
        (clevis, true),
        (r#"{"type":"a","keyslots":["0",],"x":[1,],}"#, true),
        (r#"{"type":"a","keyslots":[]} text behind"#, true),
        (r#"{"type":"a","keyslots":[]}{"type":"b"}"#, true),
        ("{'type':'a', // comment\n\"keyslots\":/* here */[]}", true),
        (r#"{"type":"a","type":"b","keyslots":[],"x":TRUE,"y":007}"#, true),
        ("{\"type\":\"a\",\"keyslots\":[],\"x\":\"a\tb\"}", true),
        (r#"{"type":"a","keyslots":[],,"x":1}"#, false),
        (r#"{type:"a","keyslots":[]}"#, false),
        (r#"{"type":"a","keyslots":[]"#, false),
        ("not json", false),
        ("[]", false),
    ] {
        let (v, w) = (volume(cryptsetup), volume(keyway));
        let code = i32::from(!is_taken);
        v.run(cryptsetup, "token import --token-id 3").stdin(json).fails(code);
        let ours = w.run(keyway, "token import --token-id 3").stdin(json).fails(code);
        if !is_taken {
            assert!(ours.errors().starts_with("Failed to import token from file.\n"), "{ours}");
            assert!(!ours.errors().contains("is not a valid LUKS"), "{ours}");
            continue;
        }
        let stored = v.run(cryptsetup, "token export --token-id 3").ok().text();
        for program in [cryptsetup, keyway] {
            assert_eq!(
                w.run(program, "token export --token-id 3").ok().text().trim_end(),
                stored.trim_end(),
                "{json}"
            );
        }
        w.run(cryptsetup, "open --test-passphrase").arg("-d").arg(&w.first_key).ok();
    }
    // What json-c takes and JSON cannot say is refused, by name.
    let v = volume(keyway);
    for json in [r#"{"type":"a","keyslots":[],"x":NaN}"#, r#"{"type":"a","keyslots":[],"x":-Infinity}"#] {
        v.run(keyway, "token import").stdin(json).fails(1).says("It is not a token: unexpected byte");
    }
}

/// A full JSON area is no damage: it is called what it is, with what makes room.
#[test]
fn a_full_json_area_is_not_called_an_invalid_device() {
    need!("cryptsetup");
    let v = volume(keyway);
    let long = format!(r#"{{"type":"a","keyslots":[],"x":"{}"}}"#, "x".repeat(12 << 10));
    let refused = v.run(keyway, "token import").stdin(long).fails(1);
    let room = "\"token remove\" and luksKillSlot make room; luksFormat --luks2-metadata-size makes a volume with more.";
    let said = refused.errors();
    assert!(said.starts_with("Failed to import token from file.\nJSON area is full: needs "), "{refused}");
    assert!(said.trim_end().ends_with(room) && said.lines().count() == 2, "{refused}");
    let fills = format!(r#"{{"type":"a","keyslots":[],"x":"{}"}}"#, "x".repeat(10_400));
    v.run(keyway, "token import").stdin(fills).ok();
    let add = v.run(keyway, "token add").args("--key-description").arg("d".repeat(2000)).fails(1);
    assert!(add.errors().contains(": JSON area is full: needs "), "{add}");
    assert!(add.errors().trim_end().ends_with(room) && !add.errors().contains("valid LUKS"), "{add}");
    v.run(cryptsetup, "token add").args("--key-description").arg("d".repeat(2000)).fails(1);
    v.run(keyway, "token import --json-file missing.json")
        .fails(1)
        .says("Failed to read JSON file missing.json: No such");
}
