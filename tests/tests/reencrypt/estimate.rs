//! `reencrypt --estimate`: what the command would do, for every mode, and that it changes nothing.

use crate::{Fixture, PLAIN, Tool};
use keyway_tests::{cryptsetup, keyway, need};
use serde_json::Value;

/// Of the same command with `--estimate`; nothing may have changed.
#[track_caller]
fn estimate(f: &Fixture, options: &str) -> Value {
    let before = contents(f);
    let run = keyway("reencrypt --estimate --json").args(options).directory(f.scratch.root());
    let found = run.arg(&f.device).ok().quiet().text();
    assert!(contents(f) == before, "{options} changed something");
    serde_json::from_str(&found).unwrap()
}

/// Every file where it runs, and its bytes.
fn contents(f: &Fixture) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let found = std::fs::read_dir(f.scratch.root()).unwrap().map(Result::unwrap);
    let mut all: Vec<_> =
        found.map(|file| (file.file_name(), std::fs::read(file.path()).unwrap_or_default())).collect();
    all.sort();
    all
}

#[track_caller]
fn holds(found: &Value, path: &str, value: impl Into<Value>) {
    assert_eq!(found.pointer(path), Some(&value.into()), "{path} in {found:#}");
}

fn seconds(found: &Value) -> [f64; 3] {
    let number = |path: &str| found.pointer(path).unwrap().as_f64().unwrap();
    [number("/seconds_interval/0"), number("/seconds"), number("/seconds_interval/1")]
}

#[test]
fn a_volume_to_be_reencrypted() {
    let f = Fixture::volume();
    let found = estimate(&f, "--hotzone-size 1M");
    let len = PLAIN as u64;
    for (path, value) in [
        ("/length", len),
        ("/left", len),
        ("/done", 0),
        ("/read", 2 * len),
        ("/written/data", len),
        ("/written/protection", len / 4096 * 32),
        // 16 zones, each told twice, and the beginning; two copies of 16 KiB.
        ("/written/headers", 33 * 2 * 16384),
        ("/hot_zone/count", 16),
        ("/hot_zone/likely", 1 << 20),
        ("/crash/loses_at_most", 0),
        ("/crash/assumes_whole_blocks_of", 4096),
        ("/header_backup/bytes", 16 << 20),
    ] {
        holds(&found, path, value);
    }
    holds(&found, "/mode", "reencrypt");
    holds(&found, "/under_way", false);
    holds(&found, "/header_backup/fits", true);
    holds(&found, "/measured/old_cipher/name", "aes-xts-plain64");
    holds(&found, "/measured/hash/name", "sha256");
    let [low, likely, high] = seconds(&found);
    assert!(0.0 < low && low <= likely && likely <= high, "{found:#}");
    // Each resilience has its price.
    let none =
        estimate(&f, "--resilience none --hotzone-size 1M --no-header-backup --cipher serpent-xts-plain64");
    holds(&none, "/crash/loses_at_most", 1 << 20);
    holds(&none, "/read", len);
    holds(&none, "/header_backup", Value::Null);
    holds(&none, "/measured/new_cipher/name", "serpent-xts-plain64");
    let journal = estimate(&f, "--resilience journal --limit-rate 4M");
    holds(&journal, "/written/protection", len);
    holds(&journal, "/crash/assumes_whole_blocks_of", Value::Null);
    assert!(seconds(&journal)[0] >= 4.0, "{journal:#}");
    // A backup of that name is there already: nothing would begin.
    f.scratch.file("taken", "");
    let taken = estimate(&f, "--header-backup-file taken");
    holds(&taken, "/header_backup/fits", false);
    holds(&taken, "/header_backup/exists", true);
    let nowhere = estimate(&f, "--header-backup-file /nonexistent/x");
    holds(&nowhere, "/header_backup/fits", false);
    f.reads(false);
}

/// The bytes are those that a run writes.
#[test]
fn what_is_said_is_what_is_written() {
    let f = Fixture::volume();
    let said = estimate(&f, "--hotzone-size 1M --no-header-backup");
    let written = |path: &str| said.pointer(path).unwrap().as_u64().unwrap();
    let total = written("/written/data") + written("/written/protection") + written("/written/headers");
    let run = f.reencrypt(keyway, "--hotzone-size 1M --no-header-backup");
    let words = run.arguments().iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ");
    // The shell's own account has what the program wrote once it has been waited for.
    let line = format!("{} {words} && cat /proc/$$/io", run.program().display());
    let account = keyway_tests::peer("sh", "-c").arg(line).directory(f.scratch.root()).ok().text();
    let real = account.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap();
    let real: u64 = real.parse().unwrap();
    // Key material of the new keyslot, and what wipes the old one, are not counted.
    assert!(real >= total && real - total < 3 << 20, "said {total}, written {real}");
}

#[test]
fn plaintext_to_be_encrypted_and_back() {
    let f = Fixture::plaintext(32 << 20);
    let found = estimate(&f, "--encrypt --reduce-device-size 32M");
    holds(&found, "/mode", "encrypt");
    holds(&found, "/resilience", "datashift");
    holds(&found, "/direction", "backward");
    holds(&found, "/left", PLAIN as u64);
    // The first part is moved out of the header's way first.
    holds(&found, "/written/data", 2 * PLAIN as u64);
    holds(&found, "/measured/old_cipher", Value::Null);
    holds(&found, "/crash/loses_at_most", 0);
    holds(&found, "/header_backup", Value::Null);
    let whole = PLAIN as u64 + (32 << 20);
    let detached = estimate(&f, "--encrypt --header header");
    holds(&detached, "/left", whole);
    let luks1 = estimate(&f, "--encrypt --type luks1 --reduce-device-size 2M");
    holds(&luks1, "/left", whole - (2 << 20));
    let f = Fixture::volume();
    let found = estimate(&f, "--decrypt --header header");
    holds(&found, "/mode", "decrypt");
    holds(&found, "/resilience", "datashift-checksum");
    holds(&found, "/written/data", 2 * PLAIN as u64);
    holds(&found, "/measured/new_cipher", Value::Null);
    holds(&found, "/header_backup/fits", true);
}

#[test]
fn what_is_under_way_has_only_its_rest_before_it() {
    need!("cryptsetup", "prlimit");
    for begins in [keyway as Tool, cryptsetup] {
        let f = Fixture::volume();
        f.reencrypt(begins, "--init-only --resilience journal").ok();
        let found = estimate(&f, "");
        holds(&found, "/under_way", true);
        holds(&found, "/left", PLAIN as u64);
        holds(&found, "/resilience", "journal");
        holds(&found, "/header_backup", Value::Null);
    }
    let f = Fixture::volume();
    f.cut_off("--hotzone-size 1M");
    let found = estimate(&f, "--resume-only");
    let number = |path: &str| found.pointer(path).unwrap().as_u64().unwrap();
    assert_eq!((number("/done"), number("/left")), (5 << 20, PLAIN as u64 - (5 << 20)), "{found:#}");
    f.reencrypt(keyway, "--resume-only").ok();
    f.reads(false);
}

#[test]
fn luks1_too() {
    let f = Fixture::plaintext(0);
    let cheap = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";
    keyway("luksFormat -q --type luks1").args(cheap).arg(&f.device).arg(&f.key).ok();
    let payload = 2 << 20;
    let found = estimate(&f, "--cipher aes-cbc-essiv:sha256 --key-size 256");
    holds(&found, "/left", PLAIN as u64 - payload);
    holds(&found, "/resilience", "checksum");
    holds(&found, "/measured/new_cipher/name", "aes-cbc-essiv:sha256");
    holds(&found, "/header_backup", Value::Null);
    let found = estimate(&f, "--decrypt");
    holds(&found, "/resilience", "datashift");
    holds(&found, "/left", PLAIN as u64 - payload);
    let line = "reencrypt -q --init-only --pbkdf-force-iterations 1000 --key-file";
    keyway(line).arg(&f.key).arg(&f.device).directory(f.scratch.root()).ok();
    let found = estimate(&f, "");
    holds(&found, "/under_way", true);
    holds(&found, "/left", PLAIN as u64 - payload);
}

#[test]
fn what_would_be_refused_is_refused() {
    let f = Fixture::volume();
    for (options, says) in [
        ("--hotzone-size 1000", "Hotzone size"),
        ("--encrypt --reduce-device-size 32M", "is already LUKS device. Aborting operation."),
        ("--decrypt", "LUKS2 decryption requires --header option."),
        ("--resume-only", "Device reencryption not in progress."),
        ("--cipher nonsense", "nonsense"),
        ("--resilience-hash nonsense", "nonsense"),
    ] {
        let run = keyway("reencrypt --estimate").args(options).directory(f.scratch.root());
        run.arg(&f.device).fails(1).says(says);
    }
    keyway("reencrypt --json").arg(&f.device).fails(1).says("--json needs --estimate.");
    let f = Fixture::plaintext(0);
    for (options, says) in [
        ("", "is not a valid LUKS device."),
        ("--encrypt", "--reduce-device-size"),
        ("--encrypt --reduce-device-size 1M", "is too small"),
        ("--encrypt --reduce-device-size 16M", "is too small"),
    ] {
        let run = keyway("reencrypt --estimate").args(options).directory(f.scratch.root());
        run.arg(&f.device).fails(1).says(says);
    }
}

#[test]
fn people_read_it_too() {
    let f = Fixture::volume();
    let shown = keyway("reencrypt --estimate").directory(f.scratch.root()).arg(&f.device).ok().quiet();
    let shown = shown.says("to be reencrypted").says("costs nothing, if the device writes 4096 bytes");
    let shown = shown.says("of the header to LUKS-").says(": fits, ").says("nothing was written to try");
    assert!(shown.text().lines().any(|line| line.starts_with("  Time ")), "{shown}");
    // A volume that is in use, and one that only root may write.
    let lock = std::fs::File::open(&f.device).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    keyway("reencrypt --estimate").directory(f.scratch.root()).arg(&f.device).ok();
}
