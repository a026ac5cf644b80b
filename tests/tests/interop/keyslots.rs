//! Keyslots edited alternately: the other program sees what one adds, changes or removes, and
//! continues from there.

use crate::volume::{BOTH_WAYS, Tool, Volume};
use keyway_tests::peers::{CHEAP_ARGON2, CHEAP_LUKS2_PBKDF2, CHEAP_PBKDF2};
use keyway_tests::{assert_same_bytes, need};

#[test]
fn luks1_keyslots_in_turns() {
    need!("cryptsetup");
    in_turns("luks1", CHEAP_PBKDF2);
}

#[test]
fn luks2_argon2_keyslots_in_turns() {
    need!("cryptsetup");
    in_turns("luks2", CHEAP_ARGON2);
}

#[test]
fn luks2_pbkdf2_keyslots_in_turns() {
    need!("cryptsetup");
    in_turns("luks2", CHEAP_LUKS2_PBKDF2);
}

fn in_turns(kind: &str, cheap: &str) {
    for (way, a, b) in BOTH_WAYS {
        eprintln!("{kind}, {way}");
        let v = Volume::made_by(a, &format!("--type {kind} {cheap}"), 20 << 20);
        let volume_key = v.volume_key(a, &v.first_key);

        v.run(b, "luksAddKey -q").arg(&v.second_key).args(cheap).arg("--key-file").arg(&v.first_key).ok();
        v.opens(a, &v.second_key, true);
        v.dump();

        v.run(a, "luksChangeKey -q").arg(&v.third_key).args(cheap).arg("--key-file").arg(&v.second_key).ok();
        v.opens(b, &v.third_key, true);
        v.opens(b, &v.second_key, false);
        v.dump();

        v.run(b, "luksKillSlot -q").arg("0").arg("--key-file").arg(&v.third_key).ok();
        v.opens(a, &v.first_key, false);
        v.dump();

        v.run(a, "luksAddKey -q --key-slot 5")
            .arg(&v.first_key)
            .args(cheap)
            .arg("--key-file")
            .arg(&v.third_key)
            .ok();
        v.run(b, "luksRemoveKey -q").arg(&v.third_key).ok();
        v.opens(a, &v.third_key, false);
        v.opens(b, &v.first_key, true);
        for tool in [a, b] {
            let found = v.volume_key(tool, &v.first_key);
            assert_same_bytes("volume key after the edits", &found, "before", &volume_key);
        }
        let dump = v.dump();
        assert_eq!(
            dump.matches("Key Slot 5: ENABLED").count() + dump.matches("  5: luks2").count(),
            1,
            "{dump}"
        );
    }
}

#[test]
fn a_full_header_refuses_one_more_key() {
    need!("cryptsetup");
    for (way, a, b) in BOTH_WAYS {
        eprintln!("{way}");
        let v = Volume::made_by(a, &format!("--type luks1 {CHEAP_PBKDF2}"), 20 << 20);
        for slot in 1..8 {
            let tool = if slot % 2 == 0 { a } else { b };
            add(&v, tool, slot).ok();
        }
        let before = std::fs::read(&v.path).expect("the volume can be read");
        for tool in [a, b] {
            v.run(tool, "luksAddKey -q").arg(&v.second_key).arg("--key-file").arg(&v.first_key).fails(1);
        }
        assert_same_bytes("volume", &std::fs::read(&v.path).expect("still there"), "before", &before);
    }
}

fn add(v: &Volume, tool: Tool, slot: u32) -> keyway_tests::Run {
    let new = v.scratch.file("new.key", format!("key of slot {slot}"));
    v.run(tool, "luksAddKey -q").arg(new).args(CHEAP_PBKDF2).arg("--key-file").arg(&v.first_key)
}

#[test]
fn a_killed_slot_leaves_nothing_of_its_key_material() {
    need!("cryptsetup");
    for (way, a, b) in BOTH_WAYS {
        eprintln!("{way}");
        let v = Volume::made_by(a, &format!("--type luks1 {CHEAP_PBKDF2}"), 20 << 20);
        v.run(a, "luksAddKey -q")
            .arg(&v.second_key)
            .args(CHEAP_PBKDF2)
            .arg("--key-file")
            .arg(&v.first_key)
            .ok();
        let before = std::fs::read(&v.path).expect("the volume can be read");
        v.run(b, "luksKillSlot -q").arg("0").arg("--key-file").arg(&v.second_key).ok();
        let after = std::fs::read(&v.path).expect("the volume can be read");
        // The first keyslot's key material: 4000 stripes of 64 bytes from sector 8.
        let material = 8 * 512..8 * 512 + 4000 * 64;
        let same = before[material.clone()].iter().zip(&after[material]).filter(|(x, y)| x == y).count();
        assert!(same < 4000 * 64 / 128, "{same} of {} bytes unchanged", 4000 * 64);
    }
}

#[test]
fn a_converted_keyslot_opens_by_both() {
    need!("cryptsetup");
    for (way, a, b) in BOTH_WAYS {
        eprintln!("{way}");
        let v = Volume::made_by(a, &format!("--type luks2 {CHEAP_ARGON2}"), 20 << 20);
        v.run(b, "luksConvertKey -q").args(CHEAP_LUKS2_PBKDF2).arg("--key-file").arg(&v.first_key).ok();
        v.opens(a, &v.first_key, true);
        assert!(v.dump().contains("pbkdf2"));
    }
}

#[test]
fn unbound_keyslots_open_nothing_but_themselves() {
    need!("cryptsetup");
    for (way, a, b) in BOTH_WAYS {
        eprintln!("{way}");
        let v = Volume::made_by(a, &format!("--type luks2 {CHEAP_ARGON2}"), 20 << 20);
        let key = v.scratch.random_file("unbound.key", 11, 32);
        v.run(b, "luksAddKey -q --unbound --key-size 256 --key-slot 3")
            .arg(&v.second_key)
            .args(CHEAP_ARGON2)
            .arg("--volume-key-file")
            .arg(&key)
            .ok();
        for tool in [a, b] {
            // 2 for a passphrase that opens nothing, or cryptsetup's 1
            // for the keyslot that it tried last.
            let refused =
                v.run(tool, "open --test-passphrase").arg("--key-file").arg(&v.second_key).outcome();
            assert!(matches!(refused.code, Some(1 | 2)), "{refused}");
            v.run(tool, "open --test-passphrase --unbound --key-slot 3")
                .arg("--key-file")
                .arg(&v.second_key)
                .ok();
        }
        v.run(a, "luksDump -q --unbound --key-slot 3").arg("--key-file").arg(&v.second_key).ok();
        assert!(v.dump().contains("3: luks2 (unbound)"));
    }
}

#[test]
fn luks1_becomes_luks2_and_luks1_again() {
    need!("cryptsetup");
    for (way, a, b) in BOTH_WAYS {
        eprintln!("{way}");
        let v = Volume::made_by(a, &format!("--type luks1 {CHEAP_PBKDF2}"), 20 << 20);
        let volume_key = v.volume_key(a, &v.first_key);
        let luks1 = v.dump();
        v.run(b, "convert -q --type luks2").ok();
        v.opens(a, &v.first_key, true);
        assert!(v.dump().contains("Version:       \t2"));
        v.run(a, "convert -q --type luks1").ok();
        assert_same_bytes("volume key", &v.volume_key(b, &v.first_key), "before", &volume_key);
        let again = v.dump();
        assert_eq!(luks1.lines().nth(6), again.lines().nth(6));
    }
}
