//! Passphrases from files and standard input: where they end, what is truncated, what is refused.

use keyway_tests::peers::CHEAP_PBKDF2;
use keyway_tests::{Outcome, Scratch, cryptsetup, keyway, need, peer};
use std::path::PathBuf;

/// A LUKS1 volume created by Keyway with exactly this passphrase.
fn volume(scratch: &Scratch, passphrase: &[u8]) -> PathBuf {
    let (volume, key) = (scratch.sized("volume", 3 << 20), scratch.path("exact-key"));
    std::fs::write(&key, passphrase).unwrap();
    keyway("luksFormat -q --type luks1 --allow-empty-passphrase")
        .args(CHEAP_PBKDF2)
        .arg(&volume)
        .arg(&key)
        .ok();
    volume
}

fn test_passphrase(volume: &PathBuf, options: &str, stdin: &[u8]) -> Outcome {
    keyway("open --test-passphrase").args(options).arg(volume).stdin(stdin).outcome()
}

#[test]
fn standard_input_ends_at_the_newline() {
    let scratch = Scratch::new();
    let volume = volume(&scratch, b"secret");
    for stdin in [&b"secret"[..], b"secret\n", b"secret\nmore\n"] {
        assert_eq!(test_passphrase(&volume, "", stdin).code, Some(0));
    }
    for stdin in [&b"secret "[..], b"secre", b"\nsecret", b"secret\r\n"] {
        assert_eq!(test_passphrase(&volume, "", stdin).code, Some(2));
    }
}

#[test]
fn a_dash_keeps_newlines() {
    let scratch = Scratch::new();
    let volume = volume(&scratch, b"two\nlines\n");
    assert_eq!(test_passphrase(&volume, "-d -", b"two\nlines\n").code, Some(0));
    assert_eq!(test_passphrase(&volume, "--key-file=-", b"two\nlines\n").code, Some(0));
    assert_eq!(test_passphrase(&volume, "-d -", b"two\nlines").code, Some(2));
    assert_eq!(test_passphrase(&volume, "", b"two\nlines\n").code, Some(2));
}

#[test]
fn parts_of_key_files() {
    let scratch = Scratch::new();
    let volume = volume(&scratch, b"middle");
    let file = scratch.path("key");
    std::fs::write(&file, b"xxmiddleyy\n").unwrap();
    let option = |rest: &str| format!("-d {} {rest}", file.display());
    let code = |options: &str| test_passphrase(&volume, options, b"").code;
    assert_eq!(code(&option("--keyfile-offset 2 --keyfile-size 6")), Some(0));
    assert_eq!(code(&option("--keyfile-offset 2 -l 7")), Some(2));
    assert_eq!(code(&option("")), Some(2));
    assert_eq!(test_passphrase(&volume, "-l 6 --keyfile-offset 2 -d -", b"xxmiddleyy").code, Some(0));
    assert_eq!(test_passphrase(&volume, "-l 6", b"middle-and-more").code, Some(0));
    let short = test_passphrase(&volume, &option("-l 100"), b"");
    assert_eq!((short.code, short.errors().as_str()), (Some(1), "Cannot read requested amount of data.\n"));
    let beyond = test_passphrase(&volume, &option("--keyfile-offset 100"), b"");
    assert_eq!(
        (beyond.code, beyond.errors().as_str()),
        (Some(1), "Cannot seek to requested keyfile offset.\n")
    );
}

#[test]
fn what_cannot_be_read_is_one_line() {
    let scratch = Scratch::new();
    let volume = volume(&scratch, b"secret");
    let empty = test_passphrase(&volume, "", b"");
    let said = format!("Nothing to read on input.\n{WITH_KEY_FILE}\n");
    assert_eq!((empty.code, empty.errors()), (Some(1), said));
    test_passphrase(&volume, "-d /nonexistent/key", b"").says("Failed to open key file /nonexistent/key");
    let twice = test_passphrase(&volume, "-d a -d b", b"");
    assert_eq!(
        (twice.code, twice.errors().as_str()),
        (Some(1), "keyway: Only one --key-file argument is allowed.\n")
    );
    let large = scratch.sized("large", (8 << 20) + 1);
    let outcome = test_passphrase(&volume, &format!("-d {}", large.display()), b"");
    assert_eq!(outcome.code, Some(1));
    outcome.says("8 MiB");
}

const WITH_KEY_FILE: &str = "Give the passphrase in a file with --key-file FILE, or on standard input.";

/// In a job without a terminal, with an empty or closed standard input: cryptsetup's words, then the
/// option that helps.
#[test]
fn where_nobody_can_be_asked_the_option_is_named() {
    let scratch = Scratch::new();
    volume(&scratch, b"secret");
    scratch.sized("image", 1 << 20);
    let add = "Give the new passphrase in a file, with --new-keyfile FILE or as the operand after DEVICE.";
    let change =
        "Give the new passphrase in a file, named after DEVICE, or on standard input after the old one.";
    let copy = "Give the new passphrase in a file with --new-keyfile FILE, or on standard input.";
    for (line, hint) in [
        ("build image new", WITH_KEY_FILE),
        ("luksFormat -q image", WITH_KEY_FILE),
        ("open --test-passphrase volume", WITH_KEY_FILE),
        ("read volume", WITH_KEY_FILE),
        ("luksAddKey volume", WITH_KEY_FILE),
        ("luksChangeKey volume", WITH_KEY_FILE),
        ("luksRemoveKey volume", WITH_KEY_FILE),
        ("luksAddKey volume -d exact-key", add),
        ("luksChangeKey volume -d exact-key", change),
        ("copy volume new -d exact-key", copy),
    ] {
        let program = keyway("").program().display().to_string();
        for input in ["<&-", "</dev/null"] {
            let command = format!("exec setsid {program} {line} {input}");
            let outcome = peer("sh", "-c").arg(command).directory(scratch.root()).outcome();
            let said = format!("Nothing to read on input.\n{hint}\n");
            assert_eq!((outcome.code, outcome.errors()), (Some(1), said), "{outcome}");
        }
    }
    assert!(!scratch.path("new").exists());
}

/// The largest key file, with every byte value, and an empty one: cryptsetup opens the volumes
/// Keyway created with them.
#[test]
fn extreme_key_files_mean_the_same_to_cryptsetup() {
    need!("cryptsetup");
    let all_bytes: Vec<u8> = (0..=255).collect();
    let largest = keyway_tests::random(5, 8 << 20);
    for passphrase in [&all_bytes[..], &largest, b"", b"\n", b"\0"] {
        let scratch = Scratch::new();
        let volume = volume(&scratch, passphrase);
        let key = scratch.path("exact-key");
        cryptsetup("open --test-passphrase").arg(&volume).args("-d").arg(&key).ok();
        keyway("open --test-passphrase").arg(&volume).args("-d").arg(&key).ok();
        std::fs::write(&key, [passphrase, b"x"].concat()).unwrap();
        let wrong = if passphrase.len() == 8 << 20 { 1 } else { 2 };
        keyway("open --test-passphrase").arg(&volume).args("-d").arg(&key).fails(wrong);
    }
}

#[test]
fn no_passphrase_shows_in_debug_output() {
    let scratch = Scratch::new();
    let volume = volume(&scratch, b"unmistakable");
    test_passphrase(&volume, "--debug", b"unmistakable").lacks("unmistakable").lacks("756e6d69");
    test_passphrase(&volume, "--debug", b"unmistakablf").lacks("unmistakabl").says("No key available");
}

/// An empty standard input means "do it"; a closed one means that no user is present: the last
/// keyslot must survive that.
#[test]
fn a_closed_standard_input_kills_no_keyslot() {
    let scratch = Scratch::new();
    let volume = volume(&scratch, b"secret");
    let before = std::fs::read(&volume).unwrap();
    let closed = |line: &str| {
        let command = format!("exec {} {line} <&-", keyway("").program().display());
        peer("sh", "-c").arg(command).directory(scratch.root()).outcome()
    };
    for line in ["luksKillSlot -q volume 0", "luksKillSlot volume 0", "luksKillSlot -q volume 0 -d -"] {
        let outcome = closed(line);
        let said = "Standard input is closed. Operation aborted, the keyslot was NOT wiped.\n";
        assert_eq!((outcome.code, outcome.errors().as_str()), (Some(2), said), "{outcome}");
        assert!(std::fs::read(&volume).unwrap() == before, "{line} wrote");
    }
    keyway("luksKillSlot -q volume 0").directory(scratch.root()).ok();
    assert!(std::fs::read(&volume).unwrap() != before);
}
