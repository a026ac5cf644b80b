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
