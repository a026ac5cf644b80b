//! What is refused: one line, a non-zero exit code, nothing changed.

use crate::{Fixture, PLAIN};
use keyway_format::luks2::Copy;
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{keyway, need};
use keyway_volume::device::storage::File;
use keyway_volume::{Access, Header, Locking, Luks, Storage};
use std::path::Path;
use std::sync::Arc;

/// The device before and after is the same.
#[track_caller]
fn unchanged(f: &Fixture, options: &str, code: i32, says: &str) {
    let before = std::fs::read(&f.device).unwrap();
    f.reencrypt(keyway, options).fails(code).says(says);
    assert!(std::fs::read(&f.device).unwrap() == before, "{options} changed something");
}

#[test]
fn what_cannot_be_done_changes_nothing() {
    let f = Fixture::volume();
    unchanged(&f, "--resume-only", 1, "Device reencryption not in progress.");
    unchanged(&f, "--encrypt --reduce-device-size 32M", 1, "is already LUKS device. Aborting operation.");
    unchanged(&f, "--decrypt", 1, "LUKS2 decryption requires --header option.");
    unchanged(&f, "--hotzone-size 1000", 1, "Hotzone size");
    unchanged(&f, "--resilience-hash nonsense", 1, "nonsense");
    unchanged(&f, "--cipher nonsense", 1, "nonsense");
    unchanged(&f, "--sector-size 1000", 1, "sector size");
    unchanged(&f, "--key-slot 7", 1, "Keyslot 7 is not active.");
    f.reads(false);
    let f = Fixture::plaintext(0);
    unchanged(&f, "", 1, "is not a valid LUKS device.");
    unchanged(&f, "--encrypt", 1, "--reduce-device-size");
    unchanged(&f, "--encrypt --reduce-device-size 1M", 1, "is too small");
    unchanged(&f, &format!("--encrypt --reduce-device-size {PLAIN}"), 1, "is too small");
    assert!(
        !std::fs::read_dir(f.scratch.root()).unwrap().any(|e| e
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with("LUKS2-temp"))
    );
}

#[test]
fn a_zone_that_nothing_protected_is_said_to_be_lost() {
    need!("prlimit");
    let f = Fixture::volume();
    f.cut_off("--resilience none --hotzone-size 64K");
    let before = std::fs::read(&f.device).unwrap();
    let resumed = f.reencrypt(keyway, "--resume-only").fails(1);
    resumed.says("--resilience none keeps no copy to recover them from: nothing was changed");
    assert!(std::fs::read(&f.device).unwrap() == before, "something was changed");
}

#[test]
fn a_wrong_passphrase_and_a_second_process_change_nothing() {
    let f = Fixture::volume();
    f.reencrypt(keyway, "--init-only").ok();
    let before = std::fs::read(&f.device).unwrap();
    let wrong = f.scratch.file("wrong", "wrong");
    let refused = keyway("reencrypt -q --resume-only --key-file").arg(&wrong).arg(&f.device).fails(2);
    refused.says("No key available with this passphrase.");
    let add = keyway("luksAddKey -q").args(CHEAP_LUKS2_PBKDF2).arg("--key-file").arg(&f.key);
    add.arg(&f.device).arg(&wrong).fails(1).says("in the middle of a reencryption");
    let lock = std::fs::File::open(&f.device).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let busy = f.reencrypt(keyway, "--resume-only").outcome();
    assert_eq!(busy.code, Some(5), "{busy}");
    drop(lock);
    assert!(std::fs::read(&f.device).unwrap() == before);
    f.reencrypt(keyway, "--resume-only").ok();
    f.reads(false);
}

/// Whoever can write the header without its keys gets nothing decrypted by it (CVE-2021-4122):
/// whichever field is forged, nothing is written.
#[test]
fn a_forged_reencryption_is_refused_whichever_field_it_is() {
    let f = Fixture::volume();
    f.reencrypt(keyway, "--init-only").ok();
    let sound = std::fs::read(&f.device).unwrap();
    let vouched = "Reencryption metadata is invalid: the volume keys do not authenticate it.";
    let previous = "\"sector_size\":4096,\"flags\":[\"backup-previous\"]";
    let last = "\"sector_size\":4096,\"flags\":[\"backup-final\"]";
    for (from, to, says) in [
        ("\"mode\":\"reencrypt\"", "\"mode\":\"decrypt\"", "does not fit the backup segments"),
        ("\"mode\":\"reencrypt\"", "\"mode\":\"nothing\"", "\"nothing\" is unknown"),
        ("\"direction\":\"forward\"", "\"direction\":\"backward\"", vouched),
        ("\"direction\":\"forward\"", "\"direction\":\"up\"", "\"up\" is unknown"),
        ("\"type\":\"checksum\"", "\"type\":\"journal\"", vouched),
        ("\"type\":\"checksum\"", "\"type\":\"none\"", vouched),
        ("\"type\":\"checksum\"", "\"type\":\"datashift\",\"shift_size\":\"4096\"", "moves data"),
        ("\"hash\":\"sha256\",\"sector_size\":4096", "\"hash\":\"sha1\",\"sector_size\":4096", vouched),
        ("\"hash\":\"sha256\",\"sector_size\":4096", "\"hash\":\"sha256\",\"sector_size\":512", vouched),
        (
            "\"hash\":\"sha256\",\"sector_size\":4096",
            "\"hash\":\"sha256\",\"sector_size\":1000",
            "power of two",
        ),
        (previous, "\"sector_size\":512,\"flags\":[\"backup-previous\"]", vouched),
        (last, "\"sector_size\":512,\"flags\":[\"backup-final\"]", vouched),
        (previous, last, "backup"),
        ("\"online-reencrypt-v2\"", "\"online-reencrypt-v3\"", vouched),
        ("\"online-reencrypt-v2\"", "\"online-reencrypt\"", "keyway repair"),
        ("\"key_size\":1,", "\"key_size\":2,", "is not 1"),
    ] {
        std::fs::write(&f.device, &sound).unwrap();
        forge(&f.device, from, to);
        let forged = std::fs::read(&f.device).unwrap();
        f.reencrypt(keyway, "--resume-only").fails(1).says(says);
        assert!(std::fs::read(&f.device).unwrap() == forged, "{to}: something was written");
    }
    std::fs::write(&f.device, &sound).unwrap();
    f.reencrypt(keyway, "--resume-only").ok();
    f.reads(false);
}

/// Changes the JSON of both header copies, with correct checksums.
pub(crate) fn forge(volume: &Path, from: &str, to: &str) {
    let locking = Locking::Disabled;
    let storage = Arc::new(File::open_rw(volume).unwrap());
    let luks = Luks::open_with(storage.clone(), Access::Probe, locking).unwrap();
    let Header::Luks2 { binary, metadata } = luks.header() else { panic!("not LUKS2") };
    let json = String::from_utf8(metadata.to_json()).unwrap();
    assert!(json.contains(from), "{from} is not in {json}");
    let json = json.replacen(from, to, 1);
    for copy in [Copy::Primary, Copy::Secondary] {
        let copied = binary.as_copy(copy, [7; 64]);
        let bytes = copied.copy_to_bytes(json.as_bytes()).unwrap();
        let offset = if copy == Copy::Primary { 0 } else { binary.size.bytes().0 };
        storage.write_at(&bytes, offset).unwrap();
    }
}

/// In the middle of it, whatever else would edit the header or vouch for it says so, and changes nothing.
#[test]
fn the_header_is_not_edited_meanwhile() {
    let f = Fixture::volume();
    f.reencrypt(keyway, "--init-only").ok();
    let before = std::fs::read(&f.device).unwrap();
    for line in [
        "seal",
        "config -q --label x",
        "token add --key-description x",
        "luksUUID -q --uuid 12345678-1234-1234-1234-123456789abc",
        "luksAddKey -q --new-keyfile key",
        "luksConvertKey -q --pbkdf-force-iterations 2000",
        "convert -q --type luks1",
        "luksDump -q --dump-volume-key",
    ] {
        let (verb, options) = line.split_once(' ').unwrap_or((line, ""));
        let run = keyway(verb).args(options).directory(f.scratch.root());
        let run = match verb {
            "config" | "token" | "luksUUID" | "convert" => run,
            _ => run.arg("--key-file").arg(&f.key),
        };
        let refused = run.arg(&f.device).fails(1);
        refused.says(
            "The volume is in the middle of a reencryption, which has to end first: \"keyway reencrypt --resume-only\" \
             finishes it.",
        );
        assert!(std::fs::read(&f.device).unwrap() == before, "{line} changed something");
    }
}
