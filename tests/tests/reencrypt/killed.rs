//! Killed at random moments, by SIGKILL, and gone on with by either program.

use crate::{Fixture, Tool};
use keyway_tests::{cryptsetup, keyway, killed, need_cryptsetup_to_reencrypt, until};
use std::time::Duration;

/// Kills either program at moments that spread over its way through the zones.
fn goes_on_after_kills(resilience: &str) {
    let options = format!("--resilience {resilience} --hotzone-size 64K");
    // The last says whether it recovers by another command than it resumes with.
    for (name, begins, ends, repairs) in [
        ("keyway by keyway", keyway as Tool, keyway as Tool, false),
        ("keyway by cryptsetup", keyway, cryptsetup, true),
        ("cryptsetup by keyway", cryptsetup, keyway, false),
    ] {
        let (mut hits, mut tries) = (0, 0);
        // On a busy machine more kills come too late.
        while hits < KILLS && tries < 4 * KILLS {
            let f = Fixture::volume();
            let is_begun = || f.says("\"in-reencryption\"");
            let after = Duration::from_millis(5 * (tries % KILLS));
            killed(&f.reencrypt(begins, &options), is_begun, after);
            let hit = f.says("\"online-reencrypt");
            hits += u64::from(hit);
            tries += 1;
            let context = format!("{name}, {options}, kill {tries}");
            eprintln!("{context}, {}", if hit { "hit" } else { "too late" });
            if repairs {
                let repair = cryptsetup("repair -q --key-file").arg(&f.key);
                let _ = repair.arg(&f.device).outcome();
            }
            let resumed = f.reencrypt(ends, "--resume-only").outcome();
            let over = !hit && resumed.errors().contains("not in progress");
            assert!(resumed.code == Some(0) || over, "{context}\n{resumed}");
            f.reads(false);
        }
        assert!(hits > KILLS / 2, "{name}, {options}: {hits} of {tries} kills came in time");
    }
}

const KILLS: u64 = 5;

#[test]
fn checksum() {
    need_cryptsetup_to_reencrypt!();
    goes_on_after_kills("checksum");
}

#[test]
fn journal() {
    need_cryptsetup_to_reencrypt!();
    goes_on_after_kills("journal");
}

/// Ctrl-C stops where the data is whole, and says how to go on.
#[test]
fn a_signal_stops_it_where_the_data_is_whole() {
    let f = Fixture::volume();
    let child = f.reencrypt(keyway, "--hotzone-size 4K").spawn().unwrap();
    until("it is at it", || f.says("\"in-reencryption\""));
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let device = f.device.display();
    assert!(said.contains("Reencryption interrupted."), "{said}");
    assert!(said.contains(&format!("Resume with \"keyway reencrypt --resume-only {device}\".")), "{said}");
    f.reencrypt(keyway, "--resume-only").ok();
    f.reads(false);
}

/// A machine that is suspended, or a process that is stopped: nobody else gets in between, and it goes on.
#[test]
fn a_stopped_process_goes_on_where_it_was() {
    let f = Fixture::volume();
    let mut child = f.reencrypt(keyway, "--hotzone-size 16K").spawn().unwrap();
    until("it is at it", || f.says("\"in-reencryption\""));
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    let signal = |signal| rustix::process::kill_process(pid, signal).unwrap();
    signal(rustix::process::Signal::STOP);
    let busy = f.reencrypt(keyway, "--resume-only").fails(5);
    busy.says("in use");
    signal(rustix::process::Signal::CONT);
    assert!(child.wait().unwrap().success());
    f.reads(false);
}

/// Cut off after it had copied the header and before it changed anything: the same line begins, and what was left is no
/// obstacle.
#[test]
fn the_line_that_was_cut_off_before_it_changed_anything_begins() {
    let copies = |f: &Fixture, file: &std::path::Path| {
        let backup = keyway("luksHeaderBackup --header-backup-file").arg(file).arg(&f.device);
        backup.ok();
    };
    let left = |f: &Fixture, ending: &str| {
        let found = std::fs::read_dir(f.scratch.root()).unwrap();
        found.map(|entry| entry.unwrap().path()).any(|path| path.to_string_lossy().ends_with(ending))
    };
    // The header backup.
    let f = Fixture::volume();
    let uuid = keyway("luksUUID").arg(&f.device).ok().text();
    let backup = f.scratch.path(&format!("LUKS-{}-before-reencrypt.header", uuid.trim()));
    copies(&f, &backup);
    f.reencrypt(keyway, "--estimate").ok().lacks("already exists");
    f.reencrypt(keyway, "").ok();
    f.reads(false);
    assert!(!left(&f, "-before-reencrypt.header"));
    // One of another header, or that was named, is somebody's.
    std::fs::write(&backup, "something").unwrap();
    f.reencrypt(keyway, "").fails(1).says("already exists");
    let named = f.scratch.path("named");
    copies(&f, &named);
    let options = format!("--header-backup-file {}", named.display());
    f.reencrypt(keyway, &options).fails(1).says("already exists");
    assert!(std::fs::read(&backup).unwrap() == b"something" && named.exists());

    // What a decryption exports.
    let f = Fixture::volume();
    copies(&f, &f.header());
    f.reencrypt(keyway, "--decrypt --no-header-backup --header").ok();
    f.is_plaintext();
    // Another header is none of it.
    let f = Fixture::volume();
    copies(&f, &f.header());
    keyway("luksUUID -q --uuid 12345678-1234-1234-1234-123456789abc").arg(&f.device).ok();
    let refused = f.reencrypt(keyway, "--decrypt --no-header-backup --header").fails(1);
    refused.says("LUKS2 decryption is supported with detached header device only");
    f.reads(false);

    // The headers of LUKS1.
    for options in ["", "--decrypt"] {
        let f = Fixture::plaintext(2 << 20);
        keyway("luksFormat -q --type luks1 --pbkdf-force-iterations 1000").arg(&f.device).arg(&f.key).ok();
        keyway("write --key-file").arg(&f.key).arg(&f.device).stdin(&f.plain).ok();
        let uuid = keyway("luksUUID").arg(&f.device).ok().text();
        let file = |what: &str| f.scratch.path(&format!("LUKS-{}.{what}", uuid.trim()));
        copies(&f, &file("org"));
        std::fs::write(file("new"), "what was written of it").unwrap();
        let line = keyway("reencrypt -q --pbkdf-force-iterations 1000").args(options).arg("--key-file");
        line.arg(&f.key).arg(&f.device).directory(f.scratch.root()).ok();
        if options.is_empty() {
            f.reads(false)
        } else {
            f.is_plaintext()
        }
        assert!(!left(&f, ".org") && !left(&f, ".new") && !left(&f, ".state"));
    }
}
