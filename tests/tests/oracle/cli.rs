//! `keyway boot check`: exit codes, words and JSON.

use super::kit::{Kit, PASSPHRASE};
use keyway_tests::{keyway, need};
use serde_json::Value;

const TWO: &str = "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -h sha512";

#[test]
fn what_opens_and_what_does_not() {
    need!("mke2fs");
    let kit = Kit::new();
    let volume = kit.build("volume", TWO);
    let check = |options: &str| keyway("boot check").args(options).arg(&volume.path);
    check("--grub-version 2.06").ok().says("Keyslot 0").says("opens in about").says("gcry_sha512");
    let argon2 =
        kit.build("argon2", "--type luks2 --pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 1024");
    let check2 = |version: &str| keyway("boot check --grub-version").arg(version).arg(&argon2.path);
    check2("2.12")
        .fails(1)
        .says("will say \"Invalid passphrase\" though it is right")
        .says("It does not open.");
    check2("2.14").ok().says("--modules=\"cryptodisk luks2 argon2");
    check2("0.97").fails(1).says("2.06, 2.12 and 2.14 are known");
    check("--grub-version 2.06 --keyboard de").fails(1).says("--key-file");
    let damaged = kit.build("damaged", TWO).damage(|bytes| bytes[16384] = 0);
    keyway("boot check --grub-version 2.12")
        .arg(&damaged.path)
        .fails(1)
        .says("does not ask for a passphrase");
}

#[test]
fn a_passphrase_is_judged_and_never_shown() {
    need!("mke2fs");
    let kit = Kit::new();
    let volume = kit.build("volume", TWO).add_key(&kit, 3, "--pbkdf pbkdf2 --pbkdf-force-iterations 1000");
    let check = |options: &str, typed: &str| {
        keyway("boot check --grub-version 2.12 --json")
            .args(options)
            .arg("--key-file")
            .arg("-")
            .arg(&volume.path)
            .stdin(typed)
    };
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    let good = check("--keyboard us", PASSPHRASE).ok();
    assert!(!String::from_utf8_lossy(&good.stdout).contains("horse"));
    let good = json(&good.stdout);
    assert_eq!((&good["opens"], &good["passphrase_keyslot"]), (&Value::Bool(true), &Value::from(0)));
    let moved = json(&check("--keyboard de", "passphrase of keyslot 3").fails(1).stdout);
    assert_eq!(moved["passphrase_keyslot"], 3);
    assert_eq!(moved["passphrase_findings"][0]["rule"], "keyboard");
    let wrong = json(&check("", "wrong").fails(1).stdout);
    assert_eq!((&wrong["opens"], &wrong["passphrase_keyslot"]), (&Value::Bool(false), &Value::Null));
}
