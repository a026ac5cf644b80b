//! Edits of sealed headers: a forged one is not changed, and not signed without a look at all of it;
//! with the key at hand the seal is renewed; keys can be taken away whatever the seal says.

use super::{CHEAP, forged::forge};
use keyway_tests::{Run, Scratch, keyway, random};
use std::fs;
use std::path::{Path, PathBuf};

struct Sealed {
    scratch: Scratch,
    volume: PathBuf,
    key: PathBuf,
    second: PathBuf,
}

impl Sealed {
    /// A sealed volume with two keyslots.
    fn new(options: &str) -> Self {
        let scratch = Scratch::new();
        let (key, second) = (scratch.file("key", "seal"), scratch.file("second", "another"));
        let (plain, volume) = (scratch.file("plain", random(3, 1 << 20)), scratch.path("volume"));
        keyway("build --seal").args(CHEAP).args(options).arg("-d").arg(&key).arg(&plain).arg(&volume).ok();
        keyway("luksAddKey").args(CHEAP).arg("-d").arg(&key).arg(&volume).arg(&second).ok();
        Self { scratch, volume, key, second }
    }

    /// The owner's own change, and a forger's.
    fn forged() -> Self {
        let this = Self::new("");
        keyway("config --label mine").arg(&this.volume).ok();
        // The seal's own list comes first: it is forged together with the header, and put right again.
        let (was, is) = ("\"config\":{\"json", "\"config\":{\"flags\":[\"allow-discards\"],\"json");
        forge(&this.volume, was, is);
        forge(&this.volume, was, is);
        forge(&this.volume, is, was);
        this
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.volume).unwrap()
    }

    fn with_key(&self, line: &str) -> Run {
        keyway(line).arg("-d").arg(&self.key).arg(&self.volume)
    }
}

const DISCARDS: &str = "config.flags[0] is \"allow-discards\", sealed as absent";
const LABEL: &str = "header.label is \"mine\", sealed as \"\"";

#[test]
fn a_forged_header_is_changed_by_no_edit() {
    let v = Sealed::forged();
    let before = v.bytes();
    let token = v.scratch.file("token", "{\"type\":\"x\",\"keyslots\":[]}");
    let at = |line: &str| keyway(line).arg(&v.volume);
    let attempts = [
        at("config --label x"),
        at("config --priority prefer --key-slot 0"),
        v.with_key("config --label x"),
        at("luksUUID -q --uuid 11111111-2222-3333-4444-555555555555"),
        at("convert -q --type luks1"),
        at("token add --key-description x"),
        at("token remove --token-id 0"),
        keyway("token import").arg(&v.volume).arg("--json-file").arg(&token),
        v.with_key("luksAddKey").args(CHEAP).arg(&v.second),
        at("luksAddKey --unbound --key-size 256").args(CHEAP).arg(&v.second),
        v.with_key("luksChangeKey").args(CHEAP).arg(&v.second),
        v.with_key("luksConvertKey").args(CHEAP),
    ];
    for attempt in attempts {
        let refused = attempt.fails(6);
        refused
            .says(&format!("it does not match its seal: {DISCARDS}; {LABEL}; nothing was changed"))
            .says("\"keyway seal\" seals it again")
            .says("luksHeaderRestore");
        assert!(v.bytes() == before);
    }
    // Where a key is given a keyslot, the user may say that it is known.
    v.with_key("luksConvertKey --ignore-seal").args(CHEAP).ok();
    v.with_key("luksConvertKey --require sealed --ignore-seal").args(CHEAP).fails(6).says(DISCARDS);
}

#[test]
fn seal_signs_nothing_that_nobody_has_seen() {
    let v = Sealed::forged();
    let before = v.bytes();
    for line in ["seal", "seal --remove"] {
        let run = if line == "seal" { v.with_key(line) } else { keyway(line).arg(&v.volume) };
        let refused = run.fails(6);
        refused
            .says(&format!("it does not match its seal:\n  {DISCARDS}\n  {LABEL}\n"))
            .says("may be forged, and the seal was not re")
            .says("--batch-mode proceeds");
        assert!(v.bytes() == before);
    }
    let sealed = v.with_key("seal --batch-mode").ok();
    sealed.says(&format!("  {DISCARDS}\n  {LABEL}\n")).says("It is now sealed as it is.");
    v.with_key("read --length 1 --require sealed").ok();
    v.with_key("seal").ok().lacks("WARNING");
    keyway("config --label third").arg(&v.volume).ok();
    keyway("seal --remove -q").arg(&v.volume).ok().says("It is now left without one.");
}

/// The forger writes the seal's own list, too: nothing differs, and the key alone tells.
#[test]
fn a_list_of_the_forgers_own_is_not_signed() {
    let v = Sealed::new("");
    let (from, to) =
        ("\"offset\":\"16777216\",\"size\":\"dynamic\"", "\"offset\":\"16777216\",\"size\":\"4096\"");
    forge(&v.volume, from, to);
    forge(&v.volume, from, to);
    v.with_key("seal").fails(6).says("data.end");
    let (from, to) = ("\"end\":\"17825792\"", "\"end\":\"16781312\"");
    forge(&v.volume, from, to);
    let before = v.bytes();
    let refused = v.with_key("seal").fails(6);
    refused
        .says("the old seal was not made with its volume key, or was changed")
        .says("--batch-mode proceeds");
    assert!(v.bytes() == before);
    v.with_key("seal -q").ok().says("was not made with its volume key").says("It is now sealed as it is.");
}

#[test]
fn keys_are_taken_away_whatever_the_seal_says() {
    let v = Sealed::forged();
    let killed = v.with_key("luksKillSlot").arg("1").ok();
    killed.says(DISCARDS).says(LABEL).says("The keyslot is removed anyway.");
    keyway("open --test-passphrase --ignore-seal -d").arg(&v.second).arg(&v.volume).fails(2);
    let v = Sealed::forged();
    keyway("luksRemoveKey").arg(&v.volume).arg(&v.second).ok().says("removed anyway");
    keyway("open --test-passphrase --ignore-seal -d").arg(&v.second).arg(&v.volume).fails(2);
    keyway("erase -q").arg(&v.volume).ok().quiet();
    v.with_key("open --test-passphrase --ignore-seal").fails(1);
}

#[test]
fn an_edit_with_a_key_renews_the_seal() {
    let v = Sealed::new("--seal-context rack-7");
    v.with_key("config --label mine").ok().quiet();
    v.with_key("luksUUID -q --uuid 11111111-2222-3333-4444-555555555555").ok().quiet();
    v.with_key("read --length 1 --require sealed --seal-context rack-7").ok();
    assert!(keyway("inspect --json").arg(&v.volume).ok().text().contains("\"label\":\"mine\""));
    // A wrong key changes nothing, and no key is as it was.
    let wrong = v.scratch.file("wrong", "wrong");
    let before = v.bytes();
    keyway("config --label x -d").arg(&wrong).arg(&v.volume).fails(2);
    assert!(v.bytes() == before);
    keyway("config --label x").arg(&v.volume).ok().says("It is refused now");
    // A header without a seal does not ask for a key.
    let bare = v.scratch.path("bare");
    keyway("build").args(CHEAP).arg("-d").arg(&v.key).arg(v.scratch.path("plain")).arg(&bare).ok();
    keyway("config --label x -d").arg(&wrong).arg(&bare).ok().quiet();
}

/// A repair says whose copy stays.
#[test]
fn a_repair_says_that_the_copy_that_stays_may_be_forged() {
    let v = Sealed::forged();
    let damaged = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        // The salt, of which nothing but the checksum knows.
        bytes[110..116].copy_from_slice(b"damage");
        fs::write(path, bytes).unwrap();
    };
    damaged(&v.volume);
    let said = "rewritten from the secondary. WARNING: in the copy that stays, it does not match its seal";
    keyway("repair -q").arg(&v.volume).ok().says(said).says(DISCARDS);
}
