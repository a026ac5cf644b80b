//! `repair` and `erase` in the middle of a re-encryption.

use crate::refused::forge;
use crate::{Fixture, Tool};
use keyway_tests::{Run, cryptsetup, keyway, need, need_cryptsetup_to_reencrypt};

fn repair(f: &Fixture, key: &std::path::Path) -> Run {
    keyway("repair -q --key-file").arg(key).arg(&f.device)
}

#[test]
fn what_is_clean_is_verified_and_left_alone() {
    let f = Fixture::volume();
    f.reencrypt(keyway, "--init-only").ok();
    let before = std::fs::read(&f.device).unwrap();
    let wrong = f.scratch.file("wrong", "wrong");
    repair(&f, &wrong).fails(2).says("No key available with this passphrase.");
    let right = repair(&f, &f.key).ok();
    assert!(right.stdout.is_empty());
    assert!(std::fs::read(&f.device).unwrap() == before, "something was changed");
    forge(&f.device, "\"type\":\"checksum\"", "\"type\":\"journal\"");
    repair(&f, &f.key).fails(1).says("the volume keys do not authenticate it.");
}

#[test]
fn a_part_that_was_cut_off_is_completed() {
    need_cryptsetup_to_reencrypt!();
    need!("prlimit");
    let f = Fixture::volume();
    f.cut_off("--hotzone-size 64K");
    repair(&f, &f.key).ok();
    assert!(!f.dump().contains("in-reencryption"), "{}", f.dump());
    f.reads(false);
    f.reencrypt(cryptsetup, "--resume-only").ok();
    f.is_whole(false);
}

/// Begun by a cryptsetup that did not protect it from forgery: `repair` does, and both go on.
#[test]
fn an_unprotected_reencryption_is_protected_from_then_on() {
    need_cryptsetup_to_reencrypt!();
    for goes_on in [keyway as Tool, cryptsetup] {
        let f = Fixture::volume();
        f.reencrypt(keyway, "--init-only").ok();
        forge(&f.device, "\"online-reencrypt-v2\"", "\"online-reencrypt\"");
        f.reencrypt(keyway, "--resume-only").fails(1).says("run \"keyway repair\" once");
        repair(&f, &f.key).ok();
        assert!(f.dump().contains("online-reencrypt-v2"), "{}", f.dump());
        f.reads(false);
        f.reencrypt(goes_on, "--resume-only").ok();
        f.is_whole(false);
    }
}

/// Whoever erases wants the keys gone, whatever the volume is in the middle of.
#[test]
fn erase_leaves_no_key() {
    need!("cryptsetup");
    for begins in [keyway as Tool, cryptsetup] {
        let f = Fixture::volume();
        f.reencrypt(begins, "--init-only").ok();
        keyway("erase -q").arg(&f.device).ok();
        let dump = f.dump();
        assert!(!dump.contains("\"type\":\"luks2\""), "{dump}");
        assert!(dump.contains("\"type\":\"reencrypt\""), "{dump}");
        keyway("open --test-passphrase --key-file").arg(&f.key).arg(&f.device).fails(1);
    }
}
