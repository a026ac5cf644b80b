//! What surrounds the keyslots: names, priorities, flags, tokens, header backups, erasing.

use crate::volume::{BOTH_WAYS, Volume};
use keyway_tests::peers::{CHEAP_ARGON2, CHEAP_PBKDF2};
use keyway_tests::{Terminal, assert_same_bytes, assert_same_lines, cryptsetup, keyway, need};

#[test]
fn names_priorities_and_flags() {
    need!("cryptsetup");
    for (way, a, b) in BOTH_WAYS {
        eprintln!("{way}");
        let v = luks2(a);
        v.run(b, "config --label data --subsystem backup").ok();
        assert!(v.dump().contains("Label:         \tdata"));
        v.run(a, "config --key-slot 0 --priority prefer").ok();
        assert!(v.dump().contains("Priority:   preferred"));
        v.run(b, "config --key-slot 0 --priority ignore").ok();
        v.run(a, "open --test-passphrase").arg("--key-file").arg(&v.first_key).fails(1);
        v.run(a, "open --test-passphrase --key-slot 0").arg("--key-file").arg(&v.first_key).ok();
        v.dump();
        v.run(b, "luksUUID -q --uuid 6a7e3a5e-4b0c-4b6e-8a39-2c2f9d7b1a10").ok();
        v.run(a, "luksUUID").ok().says("6a7e3a5e-4b0c-4b6e-8a39-2c2f9d7b1a10");
        v.dump();
    }
}

#[test]
fn tokens_survive_both_programs() {
    need!("cryptsetup");
    let token =
        r#"{"type":"keyway-test","keyslots":["0"],"nested":{"z":1,"a":[true,null,1.50]},"text":"\"\\ ü"}"#;
    for (way, a, b) in BOTH_WAYS {
        eprintln!("{way}");
        let v = luks2(a);
        let json = v.scratch.file("token.json", token);
        v.run(b, "token import --token-id 4").arg("--json-file").arg(&json).ok();
        v.run(a, "token add --key-description keyway:test --key-slot 0").ok();
        let dump = v.dump();
        assert!(dump.contains("4: keyway-test") && dump.contains("0: luks2-keyring"), "{dump}");
        let exports = BOTH_WAYS.map(|(_, tool, _)| v.run(tool, "token export --token-id 4").ok().text());
        assert_same_lines("token by Keyway", exports[0].trim_end(), "by cryptsetup", exports[1].trim_end());
        v.run(a, "token remove --token-id 4").ok();
        assert!(!v.dump().contains("keyway-test"));
    }
}

#[test]
fn the_json_reads_the_same() {
    need!("cryptsetup");
    for (way, a, _) in BOTH_WAYS {
        eprintln!("{way}");
        let v = luks2(a);
        let ours = v.run(keyway, "luksDump --dump-json-metadata").ok().text();
        let theirs = v.run(cryptsetup, "luksDump --dump-json-metadata").ok().text();
        assert_same_lines("keyway", ours.trim_end(), "cryptsetup", theirs.trim_end());
    }
}

#[test]
fn header_backups_are_exchanged() {
    need!("cryptsetup");
    for kind in [format!("--type luks1 {CHEAP_PBKDF2}"), format!("--type luks2 {CHEAP_ARGON2}")] {
        for (way, a, b) in BOTH_WAYS {
            eprintln!("{kind}, {way}");
            let v = Volume::made_by(a, &kind, 20 << 20);
            let dump = v.dump();
            let backups = [(a, "a.backup"), (b, "b.backup")].map(|(tool, name)| {
                let file = v.scratch.path(name);
                v.run(tool, "luksHeaderBackup").arg("--header-backup-file").arg(&file).ok();
                std::fs::read(&file).expect("the backup was written")
            });
            assert_same_bytes("backup by one", &backups[0], "by the other", &backups[1]);
            v.run(a, "erase -q").ok();
            v.run(b, "open --test-passphrase").arg("--key-file").arg(&v.first_key).fails(1);
            v.run(b, "luksHeaderRestore -q").arg("--header-backup-file").arg(v.scratch.path("a.backup")).ok();
            v.opens(a, &v.first_key, true);
            assert_same_lines("restored", &v.dump(), "before", &dump);
        }
    }
}

#[test]
fn an_erased_volume_has_no_keyslot_for_either() {
    need!("cryptsetup");
    for (way, a, b) in BOTH_WAYS {
        eprintln!("{way}");
        let v = luks2(a);
        v.run(b, "erase -q").ok();
        for tool in [a, b] {
            v.run(tool, "open --test-passphrase").arg("--key-file").arg(&v.first_key).fails(1);
        }
        v.dump();
    }
}

fn luks2(maker: crate::volume::Tool) -> Volume {
    Volume::made_by(maker, &format!("--type luks2 {CHEAP_ARGON2}"), 20 << 20)
}

/// cryptsetup says that the device has no header of the backup's version: it may have the other.
#[test]
fn a_backup_of_the_other_version_says_what_the_device_holds() {
    need!("cryptsetup");
    for (on, of) in [(1, 2), (2, 1)] {
        let made = |version| {
            Volume::made_by(keyway, &format!("--type luks{version} --pbkdf pbkdf2 {CHEAP_PBKDF2}"), 20 << 20)
        };
        let (device, other) = (made(on), made(of));
        let backup = other.path.with_extension("backup");
        keyway("luksHeaderBackup --header-backup-file").arg(&backup).arg(&other.path).ok();
        let restore = device.run(keyway, "luksHeaderRestore").arg("--header-backup-file").arg(&backup);
        let ending = Terminal::start(&restore).expect("Are you sure?").type_line("no").finish();
        let said = format!(
            "Device {} does not contain LUKS{of} header, it contains LUKS{on} header. Replacing header can destroy data \
             on that device.\n",
            device.path.display()
        );
        assert!(ending.screen.contains(&said), "{}", ending.screen);
        assert_eq!(ending.screen.matches("Device ").count(), 1, "{}", ending.screen);
    }
}
