//! Begun by one program, ended by the other.

use crate::{Fixture, Tool};
use keyway_tests::{cryptsetup, keyway, need_cryptsetup_to_reencrypt, random};

/// Who begins, and who ends.
const PAIRS: [(&str, Tool, Tool); 3] = [
    ("keyway alone", keyway, keyway),
    ("begun by keyway, ended by cryptsetup", keyway, cryptsetup),
    ("begun by cryptsetup, ended by keyway", cryptsetup, keyway),
];

#[test]
fn another_volume_key() {
    need_cryptsetup_to_reencrypt!();
    for (pair, begins, ends) in PAIRS {
        for resilience in ["checksum", "checksum --resilience-hash sha512", "journal", "none"] {
            eprintln!("{pair}, {resilience}");
            let f = Fixture::volume();
            f.reencrypt(begins, &format!("--init-only --resilience {resilience}")).ok();
            f.reencrypt(ends, "--resume-only").ok();
            f.is_whole(false);
            let dump = cryptsetup("luksDump").arg(&f.device).ok().text();
            assert!(dump.contains("  1: luks2") && !dump.contains("  0: luks2"), "{dump}");
            assert!(!dump.contains("Requirements"), "{dump}");
        }
    }
}

/// The data moves back, and the volume loses as much at its end.
#[test]
fn another_volume_key_and_more_room_for_the_header() {
    need_cryptsetup_to_reencrypt!();
    for (pair, begins, ends) in PAIRS {
        eprintln!("{pair}");
        let f = Fixture::volume();
        f.reencrypt(begins, "--init-only --reduce-device-size 8M").ok();
        f.reencrypt(ends, "--resume-only").ok();
        let read = keyway("read --key-file").arg(&f.key).arg(&f.device).ok().stdout;
        assert!(read == f.plain[..8 << 20], "the plaintext differs");
        let dump = cryptsetup("luksDump").arg(&f.device).ok().text();
        assert!(dump.contains("offset: 25165824 [bytes]") && !dump.contains("Requirements"), "{dump}");
    }
}

#[test]
fn plaintext_becomes_a_volume_in_place() {
    need_cryptsetup_to_reencrypt!();
    for (pair, begins, ends) in PAIRS {
        // Of a header as long as the data, and of one that is longer.
        for mib in [32, 64] {
            eprintln!("{pair}, {mib} MiB");
            let f = Fixture::plaintext(mib << 20);
            f.reencrypt(begins, &format!("--encrypt --init-only --reduce-device-size {mib}M")).ok();
            keyway("open --test-passphrase --key-file").arg(&f.key).arg(&f.device).ok();
            f.reencrypt(ends, "--resume-only").ok();
            f.is_whole(false);
        }
    }
}

#[test]
fn the_new_volume_has_the_uuid_that_was_asked_for() {
    let uuid = "21a8e8fa-0b01-4d12-b8f4-bfc562aa82a4";
    let f = Fixture::plaintext(32 << 20);
    f.reencrypt(keyway, &format!("--encrypt --reduce-device-size 32M --uuid {uuid}")).ok();
    assert_eq!(keyway("luksUUID").arg(&f.device).ok().text().trim(), uuid);
    f.reads(false);
}

/// The power fails while the header is put in front of the data: the header in the file goes on, and
/// takes its place afterwards.
#[test]
fn a_header_that_was_not_put_on_the_device_goes_on_from_its_file() {
    need_cryptsetup_to_reencrypt!();
    for ends in [keyway as Tool, cryptsetup] {
        let f = Fixture::plaintext(32 << 20);
        f.reencrypt(keyway, "--encrypt --init-only --reduce-device-size 32M").ok();
        let mut device = std::fs::read(&f.device).unwrap();
        std::fs::write(f.header(), &device[..16 << 20]).unwrap();
        // What was there before, and what a torn write leaves.
        device[..8 << 20].copy_from_slice(&f.plain[..8 << 20]);
        device[8 << 20..16 << 20].copy_from_slice(&random(3, 8 << 20));
        std::fs::write(&f.device, &device).unwrap();
        f.reencrypt(ends, "--resume-only --header").ok();
        f.reads(true);
        let restore = keyway("luksHeaderRestore -q --header-backup-file").arg(f.header());
        restore.arg(&f.device).ok();
        f.is_whole(false);
    }
}

#[test]
fn plaintext_becomes_a_volume_whose_header_is_elsewhere() {
    need_cryptsetup_to_reencrypt!();
    for (pair, begins, ends) in PAIRS {
        eprintln!("{pair}");
        let f = Fixture::plaintext(0);
        f.reencrypt(begins, "--encrypt --init-only --header").ok();
        keyway("open --test-passphrase --key-file").arg(&f.key).arg(f.header()).ok();
        let wrong = f.scratch.file("wrong", "battery staple");
        keyway("open --test-passphrase --key-file").arg(wrong).arg(f.header()).fails(2);
        f.reencrypt(ends, "--resume-only --header").ok();
        f.is_whole(true);
        // And back again, from the end to the start.
        f.reencrypt(begins, "--decrypt --init-only --header").ok();
        f.reencrypt(ends, "--resume-only --header").ok();
        f.is_plaintext();
    }
}

#[test]
fn a_volume_becomes_plaintext_over_its_own_header() {
    need_cryptsetup_to_reencrypt!();
    for (pair, begins, ends) in PAIRS {
        for resilience in ["", "--resilience journal --hotzone-size 1M"] {
            eprintln!("{pair} {resilience}");
            let f = Fixture::volume();
            f.reencrypt(begins, &format!("--decrypt --init-only {resilience} --header")).ok();
            f.reencrypt(ends, "--resume-only --header").ok();
            f.is_plaintext();
        }
    }
}

/// What the header says after `--init-only` has the same meaning, whoever wrote it.
#[test]
fn both_write_the_same_metadata() {
    need_cryptsetup_to_reencrypt!();
    let segments = |tool: Tool, make: fn() -> Fixture, options: &str| {
        let f = make();
        f.reencrypt(tool, options).ok();
        let header = if options.contains("--header") { f.header() } else { f.device.clone() };
        let json = cryptsetup("luksDump --dump-json-metadata").arg(header).ok().text();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        // Backups have no order: they are found by their flags.
        let mut of_flag: Vec<_> = json["segments"].as_object().unwrap().values().cloned().collect();
        of_flag.sort_by_key(|segment| segment["flags"].to_string());
        let reencrypt = json["keyslots"].as_object().unwrap().values().find(|k| k["type"] == "reencrypt");
        let mut reencrypt = reencrypt.unwrap().clone();
        // Where it lies depends on the order of the other keyslots.
        let area = reencrypt["area"].as_object_mut().unwrap();
        assert!(area.remove("offset").is_some());
        (of_flag, reencrypt, json["config"].clone())
    };
    for (make, options) in [
        (Fixture::volume as fn() -> Fixture, "--init-only"),
        (Fixture::volume, "--init-only --resilience journal"),
        (Fixture::volume, "--init-only --reduce-device-size 8M"),
        (Fixture::volume, "--decrypt --init-only --header"),
        (
            (|| Fixture::plaintext(32 << 20)) as fn() -> Fixture,
            "--encrypt --init-only --reduce-device-size 32M",
        ),
        (|| Fixture::plaintext(0), "--encrypt --init-only --header"),
    ] {
        assert_eq!(segments(keyway, make, options), segments(cryptsetup, make, options), "{options}");
    }
}
