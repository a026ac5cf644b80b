//! Passphrases from tokens that name a key in the kernel's keyring.

use crate::Fixture;
use keyway_tests::keyring::{InKeyring, keyring_is_usable};
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{Run, cryptsetup, keyway, need, need_that};
use std::path::PathBuf;

/// A volume of two keyslots, with a token for the second.
fn volume(key: &InKeyring) -> (Fixture, PathBuf) {
    let f = Fixture::volume();
    let second = f.scratch.file("second", "battery staple");
    let add = keyway("luksAddKey -q").args(CHEAP_LUKS2_PBKDF2).arg("--key-file").arg(&f.key);
    add.arg(&f.device).arg(&second).ok();
    keyway("token add --key-slot 1 --key-description").arg(&key.0).arg(&f.device).ok();
    (f, second)
}

fn reencrypt(f: &Fixture, options: &str) -> Run {
    keyway("reencrypt -q --force-offline-reencrypt").args(options).arg(&f.device)
}

#[test]
fn a_token_stands_for_the_passphrase_of_its_keyslot() {
    need!("cryptsetup", "keyctl");
    need_that!(keyring_is_usable(), "the kernel's keyring is not to be had here");
    let key = InKeyring::new("reencrypt");
    let (f, second) = volume(&key);
    let before = std::fs::read(&f.device).unwrap();
    // Without one of the options no token is asked, as with cryptsetup: two passphrases are needed.
    key.holds(&second);
    reencrypt(&f, "").stdin("correct horse\n").fails(1);
    // The first keyslot stays, too, and has no token.
    reencrypt(&f, "--token-only").fails(1).says("No such token leads to keyslot 0.");
    reencrypt(&f, "--token-id 3 --token-only --key-slot 1")
        .fails(1)
        .says("No such token leads to keyslot 1.");
    reencrypt(&f, "--token-type other --token-only --key-slot 1")
        .fails(1)
        .says("No such token leads to keyslot 1.");
    assert!(std::fs::read(&f.device).unwrap() == before, "something was changed");

    // One passphrase is asked for, that of the first keyslot; it may come from a file.
    let run = reencrypt(&f, "-v --token-id 0").arg("--key-file").arg(&f.key).ok();
    assert!(run.text().contains("Key slot 1 unlocked."), "{run}");
    f.reads(false);
    for key in [&f.key, &second] {
        cryptsetup("open --test-passphrase --key-file").arg(key).arg(&f.device).ok();
    }
    // The token has gone over to the new keyslot.
    cryptsetup("open --test-passphrase --token-only").arg(&f.device).ok();
}

#[test]
fn a_token_begins_and_goes_on_where_nobody_can_be_asked() {
    need!("cryptsetup", "keyctl");
    need_that!(keyring_is_usable(), "the kernel's keyring is not to be had here");
    let key = InKeyring::new("resumed");
    let (f, second) = volume(&key);
    key.holds(&second);
    reencrypt(&f, "--token-only --key-slot 1 --init-only").ok();
    reencrypt(&f, "--token-only --resume-only --token-id 7").fails(1).says("No usable token is available.");
    reencrypt(&f, "--token-only --resume-only").ok();
    keyway("open --test-passphrase --token-only").arg(&f.device).ok();
    let found = keyway("read --key-file").arg(&second).arg(&f.device).ok().stdout;
    assert!(found[..f.plain.len()] == f.plain, "the plaintext differs");
    // The other keyslot is gone. While the key is there, the token goes before any key file.
    drop(key);
    keyway("open --test-passphrase --key-file").arg(&second).arg(&f.device).ok();
    keyway("open --test-passphrase --key-file").arg(&f.key).arg(&f.device).fails(2);
}

#[test]
fn a_wrong_key_in_the_keyring_changes_nothing() {
    need!("keyctl");
    need_that!(keyring_is_usable(), "the kernel's keyring is not to be had here");
    let key = InKeyring::new("wrong");
    let (f, _) = volume(&key);
    let before = std::fs::read(&f.device).unwrap();
    key.holds(&f.key);
    let refused = reencrypt(&f, "--token-id 0 --token-only --key-slot 1").fails(2);
    refused.says("Token 0 cannot unlock assigned keyslot(s) (wrong keyslot passphrase).");
    assert!(std::fs::read(&f.device).unwrap() == before, "something was changed");
    // A token is no way into what is not a volume yet.
    let plain = Fixture::plaintext(32 << 20);
    let refused = reencrypt(&plain, "--token-only --encrypt --reduce-device-size 32M").fails(1);
    refused.says("cannot be combined with --encrypt");
}

/// Called as cryptsetup it does what 2.8 does: keyslots that these tokens do not open go.
#[test]
fn as_cryptsetup_only_what_tokens_open_stays() {
    need!("cryptsetup", "keyctl");
    need_that!(keyring_is_usable(), "the kernel's keyring is not to be had here");
    let any =
        "No token opens a keyslot: the keys that the tokens name are missing from the keyring, or wrong.";
    let kind = "Token (type luks2-keyring) cannot unlock assigned keyslot(s) (wrong keyslot passphrase).";
    let one = "Token 0 cannot unlock assigned keyslot(s) (wrong keyslot passphrase).";
    for (options, wrong) in
        [("--token-only", any), ("--token-id 0", one), ("--token-type luks2-keyring", kind)]
    {
        let key = InKeyring::new("alone");
        let (f, second) = volume(&key);
        let link = f.scratch.path("cryptsetup");
        std::os::unix::fs::symlink(keyway_tests::peers::program(), &link).unwrap();
        let as_cryptsetup = |options: &str| {
            let line = "reencrypt -q --force-offline-reencrypt --pbkdf pbkdf2 --pbkdf-force-iterations 1000";
            Run::new(&link, line).args(options).arg(&f.device).directory(f.scratch.root()).stdin("")
        };
        let before = std::fs::read(&f.device).unwrap();
        as_cryptsetup(options).fails(1);
        as_cryptsetup("--token-id 7").fails(1).says("No token could unlock the device.");
        as_cryptsetup(&format!("{options} --key-slot 0")).fails(1).says("No token could unlock the device.");
        key.holds(&f.key);
        as_cryptsetup(options).fails(1).says(wrong);
        assert!(std::fs::read(&f.device).unwrap() == before, "{options}: something was changed");
        key.holds(&second);
        // 2.6 has no such way.
        as_cryptsetup(options).env("CRYPTSETUP_COMPAT", "2.6").fails(1);
        assert!(std::fs::read(&f.device).unwrap() == before, "{options}: 2.6 drops no keyslot");
        as_cryptsetup(options)
            .ok()
            .says("WARNING: no token opens these keyslots, which will not hold the new volume key: 0.");
        cryptsetup("open --test-passphrase --token-only").arg(&f.device).ok();
        // While the key is there, the token goes before any key file.
        drop(key);
        cryptsetup("open --test-passphrase --key-file").arg(&second).arg(&f.device).ok();
        cryptsetup("open --test-passphrase --key-file").arg(&f.key).arg(&f.device).fails(2);
        let found = keyway("read --key-file").arg(&second).arg(&f.device).ok().stdout;
        assert!(found[..f.plain.len()] == f.plain, "{options}: the plaintext differs");
    }
}

/// Volume keys that the kernel keeps: both of them, the new one alone, and for what goes on.
#[test]
fn volume_keys_come_from_the_keyring() {
    need!("cryptsetup", "keyctl");
    need_that!(keyring_is_usable(), "the kernel's keyring is not to be had here");
    let (old, new) = (InKeyring::new("old-volume-key"), InKeyring::new("new-volume-key"));
    for with_passphrase in [false, true] {
        let f = Fixture::volume();
        let dumped = f.scratch.path("dumped");
        let dump = keyway("luksDump -q --dump-volume-key --volume-key-file").arg(&dumped).arg("--key-file");
        dump.arg(&f.key).arg(&f.device).ok();
        old.holds(&dumped);
        let fresh = f.scratch.random_file("fresh", 48, 64);
        new.holds(&fresh);
        let line = |options: &str| {
            let line = "reencrypt -q --force-offline-reencrypt --pbkdf pbkdf2 --pbkdf-force-iterations 1000";
            keyway(line).args(options).arg("--new-volume-key-keyring").arg(&new.0).directory(f.scratch.root())
        };
        let before = std::fs::read(&f.device).unwrap();
        let refused = line("--keep-key").arg(&f.device).fails(1);
        refused.says("Options --new-volume-key-keyring and --keep-key cannot be combined.");
        let given = |run: Run| run.arg("--volume-key-keyring").arg(format!("%user:{}", old.0)).arg(&f.device);
        given(line("")).fails(1).says("Use --force-no-keyslots to reencrypt device with active keyslots");
        let short = InKeyring::new("short");
        short.holds(&f.scratch.file("short", [7; 5]));
        let twice = keyway("reencrypt -q --force-offline-reencrypt --new-volume-key-keyring").arg(&short.0);
        twice.arg("--key-file").arg(&f.key).arg(&f.device).fails(1);
        assert!(std::fs::read(&f.device).unwrap() == before, "something was changed");
        if with_passphrase {
            line("").arg("--key-file").arg(&f.key).arg(&f.device).ok();
            cryptsetup("open --test-passphrase --key-file").arg(&f.key).arg(&f.device).ok();
        } else {
            given(line("--force-no-keyslots --init-only")).ok();
            given(line("--resume-only")).ok();
        }
        cryptsetup("open --test-passphrase --key-size 512 --volume-key-file").arg(&fresh).arg(&f.device).ok();
        let read = keyway("read --key-size 512 --volume-key-file").arg(&fresh).arg(&f.device).ok().stdout;
        assert!(read[..f.plain.len()] == f.plain, "the plaintext differs");
    }
}
