//! `keyway boot check`: exit codes, words and JSON.

use super::kit::{Kit, PASSPHRASE};
use keyway_tests::{keyway, need, need_that, programs};
use serde_json::Value;
use std::fs;
use std::path::Path;

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
    check2("0.97").fails(1).says("2.06, 2.12, 2.14 are known, versions between, and debian-12");
    check("--grub-version 2.06 --keyboard de").fails(1).says("--key-file");
    let damaged = kit.build("damaged", TWO).damage(|bytes| bytes[16384] = 0);
    keyway("boot check --grub-version 2.12")
        .arg(&damaged.path)
        .fails(1)
        .says("does not ask for a passphrase");
}

/// grub-install 2.06 knew no LUKS2, but some distributions taught it: the installed one is
/// inspected.
#[test]
fn the_installer_is_asked_whether_it_knows_luks2() {
    need!("mke2fs");
    let kit = Kit::new();
    let volume = kit.build("volume", TWO);
    let root = kit.scratch.path("root");
    for directory in ["var/lib/dpkg", "usr/sbin"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    let status = "Package: grub-pc-bin\nStatus: install ok installed\nVersion: 2.06-13+deb12u2\n";
    fs::write(root.join("var/lib/dpkg/status"), status).unwrap();
    let check = || keyway("boot check --root").arg(&root).arg(&volume.path).ok();
    let warning = "grub-install 2.06 does not support LUKS2";
    check().says("package grub-pc-bin 2.06-13+deb12u2").says(warning);
    for (program, knows) in [("CRYPT-LUKS1-", false), ("CRYPT-LUKS1- CRYPT-LUKS2-", true)] {
        fs::write(root.join("usr/sbin/grub-probe"), program).unwrap();
        if knows {
            check().lacks(warning)
        } else {
            check().says(warning)
        };
    }
    // That of Debian's GRUB 2.12.
    let real = std::env::var_os("KEYWAY_GRUB")
        .map(|grubs| Path::new(&grubs).join("trixie/root/usr/sbin/grub-probe"));
    let real = real.filter(|program| program.exists());
    need_that!(real.is_some(), "no grub-probe of 2.12 is there");
    programs::copy(real.unwrap(), root.join("usr/sbin/grub-probe"));
    check().lacks(warning);
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
