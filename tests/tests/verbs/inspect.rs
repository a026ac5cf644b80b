//! `inspect`: the facts of volumes made by cryptsetup, as text and as JSON.

use crate::CHEAP;
use keyway_format::json::{self, Value};
use keyway_tests::peers::CHEAP_ARGON2;
use keyway_tests::{Scratch, cryptsetup, keyway, need};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn a_luks2_volume_in_text_and_json() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let volume = luks2(&scratch);
    let text = keyway("inspect").arg(&volume).ok().quiet().text();
    for line in [
        "  Cipher     AES-256 in XTS mode  aes-xts-plain64".to_owned(),
        "  Data       4.0 MiB in sectors of 4096 bytes, from 16.0 MiB on".to_owned(),
        "  UUID       01234567-89ab-cdef-0123-456789abcdef".to_owned(),
        "  Label      root".to_owned(),
    ] {
        assert!(text.lines().any(|l| l == line), "{line:?} in\n{text}");
    }
    assert!(text.starts_with(&format!("{}  LUKS2\n", volume.display())), "{text}");
    assert!(text.contains("both copies good"), "{text}");
    assert!(text.contains("  0        first     argon2id, 4 passes over 32.0 KiB in 1 lane  "), "{text}");
    assert!(text.contains("  1        normal    pbkdf2 sha512, 123,456 iterations"), "{text}");
    assert!(text.contains("  0      luks2-keyring  0"), "{text}");
    assert!(text.contains("  ! Keyslot 0 is cheap to guess: 4 passes over 32 KiB, where at least"), "{text}");
    assert!(!text.contains('\x1b'), "no colour in a pipe");
    assert_eq!(text, strip_times(&keyway("status-of").arg(&volume).ok().text(), &text));

    let facts = inspect(&volume);
    assert_eq!(get(&facts, "format"), &Value::from("luks2"));
    assert_eq!(get(&facts, "uuid"), &Value::from("01234567-89ab-cdef-0123-456789abcdef"));
    assert_eq!(get(&facts, "label"), &Value::from("root"));
    assert_eq!(get(&facts, "key_bits"), &Value::Number("512".into()));
    let segment = &get(&facts, "segments").as_array().unwrap()[0];
    assert_eq!(get(segment, "cipher"), &Value::from("aes-xts-plain64"));
    assert_eq!(get(segment, "sector_size"), &Value::Number("4096".into()));
    assert_eq!(get(segment, "offset"), &Value::Number("16777216".into()));
    assert_eq!(get(segment, "length"), &Value::Number("4194304".into()));
    let slot = &get(&facts, "keyslots").as_array().unwrap()[1];
    assert_eq!(get(get(slot, "kdf"), "iterations"), &Value::Number("123456".into()));
    let Value::Number(seconds) = get(slot, "seconds_here") else { panic!("{slot:?}") };
    let seconds: f64 = seconds.parse().unwrap();
    assert!(seconds > 0.0 && seconds < 60.0, "{seconds}");
}

#[test]
fn a_luks1_volume() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let volume = scratch.sized("volume", 4 << 20);
    let format = cryptsetup("luksFormat -q --type luks1 --pbkdf-force-iterations 2000 --hash sha512 -S 3");
    format.args("-c aes-cbc-plain -s 128").arg(&volume).arg(&key).ok();
    let text = keyway("inspect").arg(&volume).ok().quiet().text();
    assert!(text.contains("  Cipher     AES-128 in CBC mode  aes-cbc-plain\n"), "{text}");
    assert!(text.contains("  3        normal    pbkdf2 sha512, 2,000 iterations"), "{text}");
    assert!(text.contains("! Keyslot 3 is cheap to guess"), "{text}");
    assert!(
        text.contains("! aes-cbc-plain lets an attacker recognise a file of their choice on disk"),
        "{text}"
    );
    let facts = inspect(&volume);
    assert_eq!(get(&facts, "format"), &Value::from("luks1"));
    assert_eq!(get(get(&facts, "header"), "secondary"), &Value::Null);
}

#[test]
fn a_damaged_copy_is_reported_and_left_alone() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    for (offset, copy) in [(5000, "primary"), (16384 + 5000, "secondary")] {
        let volume = luks2(&scratch);
        let mut bytes = fs::read(&volume).unwrap();
        bytes[offset] ^= 0x20;
        fs::write(&volume, &bytes).unwrap();
        let outcome = keyway("inspect").arg(&volume).ok();
        let outcome = outcome.says(&format!("{copy} copy damaged"));
        outcome.says(&format!("! The {copy} header copy is damaged; opening the volume repairs it."));
        let facts = inspect(&volume);
        assert_eq!(get(get(&facts, "header"), copy), &Value::from("damaged"));
        assert!(fs::read(&volume).unwrap() == bytes, "nothing is written");
    }
}

#[test]
fn what_is_not_luks_is_said_so() {
    let scratch = Scratch::new();
    let file = scratch.random_file("file", 1, 65536);
    let name = file.display();
    keyway("inspect").arg(&file).fails(1).says(&format!("Device {name} is not a valid LUKS device."));
    keyway("inspect").arg(scratch.path("none")).fails(4).says("none does not exist or access denied.");
}

/// Two keyslots, a token and a label.
fn luks2(scratch: &Scratch) -> PathBuf {
    let key = scratch.file("key", "secret");
    let other = scratch.file("other", "other");
    let volume = scratch.sized("volume", 20 << 20);
    let format = cryptsetup("luksFormat -q --type luks2 --label root").args(CHEAP_ARGON2);
    format.args("--uuid 01234567-89ab-cdef-0123-456789abcdef").arg(&volume).arg(&key).ok();
    let add = cryptsetup("luksAddKey --pbkdf pbkdf2 --hash sha512 --pbkdf-force-iterations 123456 -d");
    add.arg(&key).arg(&volume).arg(&other).ok();
    cryptsetup("config --key-slot 0 --priority prefer").arg(&volume).ok();
    let token = scratch.file("token", r#"{"type":"luks2-keyring","keyslots":["0"],"key_description":"x"}"#);
    cryptsetup("token import --json-file").arg(&token).arg(&volume).ok();
    volume
}

fn inspect(volume: &Path) -> Value {
    let text = keyway("inspect --json").arg(volume).ok().quiet().text();
    json::parse(text.trim_end().as_bytes()).unwrap_or_else(|e| panic!("{e:?} in\n{text}"))
}

#[track_caller]
fn get<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.as_object().and_then(|o| o.get(name)).unwrap_or_else(|| panic!("{name} in {value:?}"))
}

/// `text` with the times of `like`: they are measured again each time.
fn strip_times(text: &str, like: &str) -> String {
    let lines = text.lines().zip(like.lines());
    let lines = lines.map(|(line, like)| if line.contains("iterations  ") { like } else { line });
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_label_commands_no_terminal() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let source = scratch.random_file("source", 30, 4096);
    let volume = scratch.path("volume");
    let build = keyway("build").args(CHEAP).arg("-d").arg(&key).arg("--label").arg("a\x1b[31mb\nc");
    build.arg(&source).arg(&volume).ok();
    keyway("inspect").arg(&volume).ok().says("a\\u{1b}[31mb\\nc").lacks("\x1b");
}

/// IEEE 1619-2025: up to 2^36 blocks under one XTS key are advised, 2^44 allowed.
#[test]
fn more_data_than_one_key_should_have_is_a_remark() {
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", (1 << 40) + (16 << 20));
    keyway("luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000").arg(&volume).stdin("secret").ok();
    keyway("inspect").arg(&volume).ok().lacks("IEEE 1619");
    fs::File::options().write(true).open(&volume).unwrap().set_len(2 << 40).unwrap();
    let remark = "One XTS key encrypts 2.0 TiB: IEEE 1619-2025 advises at most 1 TiB (2^36 blocks), and allows 256 TiB.";
    keyway("inspect").arg(&volume).ok().says(&format!("  · {remark}")).says("keyway reencrypt --cipher");
    let facts = inspect(&volume);
    let remarks = get(&facts, "remarks").as_array().unwrap();
    assert!(remarks[0].as_str().unwrap().starts_with(remark), "{remarks:?}");
    assert!(!format!("{:?}", get(&facts, "warnings")).contains("IEEE"), "{facts:?}");
    // The passport, too.
    keyway("passport").arg(&volume).ok().says(remark);
    keyway("passport --json").arg(&volume).ok().says(remark);
    // Another mode is not bound by it.
    let other = scratch.sized("other", 2 << 40);
    let format = keyway("luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -s 256");
    format.args("-c xchacha20,aes-adiantum-plain64").arg(&other).stdin("secret").ok();
    keyway("inspect").arg(&other).ok().lacks("IEEE 1619");
}

#[test]
fn who_can_go_on_with_a_reencryption_is_said() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let (volume, key) = (scratch.sized("volume", 20 << 20), scratch.file("key", "secret"));
    let cheap = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";
    cryptsetup("luksFormat -q").args(cheap).arg(&volume).arg(&key).ok();
    let init = cryptsetup("reencrypt -q --init-only --force-offline-reencrypt").args(cheap);
    init.arg("--key-file").arg(&key).arg(&volume).ok();
    let text = keyway("inspect").arg(&volume).ok().text();
    for line in [
        "  Under way  being reencrypted forward, 0 bytes of 4.0 MiB done (0.0 %), resilience checksum"
            .to_owned(),
        "  Resumed by keyway, cryptsetup 2.4.3 or newer".to_owned(),
        format!("  Resume     keyway reencrypt --resume-only {}", volume.display()),
    ] {
        assert!(text.lines().any(|l| l == line), "{line:?} in\n{text}");
    }
    let facts = inspect(&volume);
    let who = get(get(&facts, "reencryption"), "resumed_by").as_array().unwrap();
    assert_eq!(who, [Value::from("keyway"), Value::from("cryptsetup 2.4.3 or newer")]);
    assert_eq!(get(get(&facts, "reencryption"), "hot_zone"), &Value::Null);
    // A decryption that moves data takes a newer one.
    let (other, header) = (scratch.sized("other", 20 << 20), scratch.path("header"));
    cryptsetup("luksFormat -q").args(cheap).arg(&other).arg(&key).ok();
    let init =
        cryptsetup("reencrypt -q --decrypt --init-only --force-offline-reencrypt --header").arg(&header);
    init.arg("--key-file").arg(&key).arg(&other).ok();
    let text = keyway("inspect --header").arg(&header).arg(&other).ok();
    text.says("Resumed by keyway, cryptsetup 2.5.0 or newer").says("being decrypted forward");
}
