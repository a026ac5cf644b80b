//! Through the program.

use super::plaintext;
use keyway_tests::bitlk::{Bitlk, LEN, METADATA, PASSPHRASE, Protector, RECOVERY};
use keyway_tests::{Scratch, cryptsetup, keyway, need, random};
use std::fs;

fn of(protectors: Vec<Protector>) -> Vec<u8> {
    Bitlk { protectors, ..Bitlk::default() }.make(&plaintext())
}

#[test]
fn every_secret_opens_it() {
    let scratch = Scratch::new();
    let visible = Bitlk::visible(&plaintext());
    let volume = of(vec![Protector::Passphrase(PASSPHRASE), Protector::Recovery(RECOVERY)]);
    let volume = scratch.file("volume", volume);
    let read = || keyway("read --type bitlk").arg(&volume);
    let recovery = scratch.file("recovery", RECOVERY);
    for run in [read().stdin(PASSPHRASE), read().stdin(RECOVERY), read().arg("-d").arg(&recovery)] {
        assert!(run.ok().quiet().stdout == visible);
    }
    assert_eq!(read().stdin("wrong").fails(2).errors(), "No key available with this passphrase.\n");
    read().stdin("").fails(1);

    let by_file = scratch.file("by-file", of(vec![Protector::StartupKey]));
    let key = scratch.file("key.BEK", Bitlk::startup_key());
    let read = keyway("read --type bitlk").arg("-d").arg(&key).arg(&by_file);
    assert!(read.ok().quiet().stdout == visible);
    // Its protection is suspended: nobody is asked.
    let clear = scratch.file("clear", of(vec![Protector::Clear, Protector::Passphrase(PASSPHRASE)]));
    assert!(keyway("read --type bitlk").arg(&clear).ok().quiet().stdout == visible);
}

/// Opened without root, written to, and shut; the format's own metadata stay what they are.
#[test]
fn it_is_written_around_its_metadata() {
    let scratch = Scratch::new();
    let volume = scratch.file("volume", of(vec![Protector::Passphrase(PASSPHRASE)]));
    let before = fs::read(&volume).unwrap();
    let new = scratch.file("new", random(3, 50_000));
    let write = |offset: usize| {
        let run = keyway("write --type bitlk --offset").arg(offset.to_string()).arg(&volume).arg(&new);
        run.stdin(PASSPHRASE)
    };
    write(100).ok();
    write(LEN - 50_000).ok();
    let over = write(METADATA[1] - 10).fails(1).errors();
    assert!(over.contains("metadata are at bytes"), "{over}");
    let after = fs::read(&volume).unwrap();
    for at in METADATA {
        assert!(after[at..at + (64 << 10)] == before[at..at + (64 << 10)], "metadata at {at}");
    }
    let read = keyway("read --type bitlk").arg(&volume).stdin(PASSPHRASE).ok().quiet().stdout;
    let written = fs::read(&new).unwrap();
    assert!(read[100..50_100] == written && read[LEN - 50_000..] == written);

    let runtime = scratch.path("run");
    fs::create_dir(&runtime).unwrap();
    let program = |line: &str| keyway(line).env("XDG_RUNTIME_DIR", &runtime);
    program("bitlkOpen --backend nbd").arg(&volume).arg("windows").stdin(PASSPHRASE).ok();
    let status = program("status windows").ok().text();
    assert!(status.contains("  type:    BITLK\n"), "{status}");
    program("close windows").ok();
    program("open --type bitlk --test-passphrase").arg(&volume).stdin(PASSPHRASE).ok().quiet();
    program("open --type bitlk --test-passphrase").arg(&volume).stdin("wrong").fails(2);
}

#[test]
fn its_header_is_shown_as_cryptsetup_shows_it() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let volume = of(vec![Protector::Passphrase("anaconda"), Protector::Recovery(RECOVERY)]);
    let volume = scratch.file("volume", volume);
    let shown = keyway("bitlkDump").env("TZ", "UTC").arg(&volume).ok().quiet().text();
    assert_eq!(shown, cryptsetup("bitlkDump").env("TZ", "UTC").arg(&volume).ok().text());
    let line = "bitlkDump --dump-volume-key -q";
    let shown = keyway(line).arg(&volume).stdin("anaconda").ok().quiet().text();
    assert_eq!(shown, cryptsetup(line).arg(&volume).stdin("anaconda").ok().text());
    keyway(line).arg(&volume).stdin("wrong").fails(2);
    let stored = |run: keyway_tests::Run, key: &str| {
        let run = run.args(line).arg("--volume-key-file").arg(key).arg(&volume).directory(scratch.root());
        let said = run.stdin("anaconda").ok().text().replace(key, "FILE");
        (said, fs::read(scratch.path(key)).unwrap())
    };
    assert_eq!(stored(keyway(""), "ours"), stored(cryptsetup(""), "theirs"));
    let again = keyway(line).arg("--volume-key-file").arg(scratch.path("ours")).arg(&volume);
    again.stdin("anaconda").fails(1).says("Cannot open keyfile ");

    let by_file = scratch.file("by-file", of(vec![Protector::StartupKey]));
    let key = scratch.file("key.BEK", Bitlk::startup_key());
    let shown = keyway(line).arg("--key-file").arg(&key).arg(&by_file).ok().quiet().text();
    assert_eq!(shown, cryptsetup(line).arg("--key-file").arg(&key).arg(&by_file).ok().text());
}

#[test]
fn what_is_no_such_volume_is_refused_in_one_line() {
    let scratch = Scratch::new();
    let noise = scratch.file("noise", random(9, 1 << 20));
    for line in ["read --type bitlk", "bitlkDump", "open --type bitlk --test-passphrase"] {
        let errors = keyway(line).arg(&noise).stdin("x").fails(1).errors();
        let start = format!("Device {} is not a valid BITLK device", noise.display());
        assert!(errors.starts_with(&start) && errors.lines().count() == 1, "{line}: {errors}");
    }
    let tpm = scratch.file("tpm", of(vec![Protector::Other(0x100)]));
    // Nobody is asked: nothing is there to be read.
    for line in ["read --type bitlk", "bitlkDump -q --dump-volume-key"] {
        let errors = keyway(line).arg(&tpm).stdin("").fails(1).errors();
        assert_eq!(errors, "The volume has no passphrase; it is protected by: TPM.\n", "{line}");
    }
    let errors = keyway("read --type bitlk --header x").arg(&tpm).stdin("x").fails(1).errors();
    assert!(errors.contains("--header does not apply to BitLocker volumes."), "{errors}");
}
