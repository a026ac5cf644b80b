//! Damaged LUKS2 copies: each program repairs volumes that the other created, and both then agree.

use crate::volume::{BOTH_WAYS, Tool, Volume};
use keyway_tests::peers::CHEAP_ARGON2;
use keyway_tests::{assert_same_lines, cryptsetup, keyway, need, random};
use std::fs::{File, read};
use std::os::unix::fs::FileExt;

/// Length of the binary header, where the JSON area begins.
const BINARY: u64 = 4096;

#[test]
fn a_damaged_copy_is_recovered_from_the_good_one() {
    need!("cryptsetup");
    for kib in [16, 128, 4096] {
        let second = kib << 10;
        let damages: [(&str, u64, u64); 5] = [
            ("the first magic", 0, 8),
            ("the first JSON", BINARY + 40, 16),
            // The second copy is then found by its magic at one of nine offsets.
            ("the whole first copy", 0, second),
            ("the second magic", second, 8),
            ("the whole second copy", second, second),
        ];
        for (way, a, b) in BOTH_WAYS {
            for (what, offset, len) in damages {
                eprintln!("{way}, areas of {kib} KiB, {what} damaged");
                let v = made_by(a, kib);
                let dump = v.dump();
                damage(&v, offset, len);
                v.opens(b, &v.first_key, true);
                // Any command that writes brings both copies into agreement.
                v.run(b, "config --label mended").ok();
                assert_agreeing_copies(&v, second);
                let mended = v.dump().replace("mended", "(no label)");
                assert_same_lines("mended", &without_epoch(&mended), "before", &without_epoch(&dump));
                v.opens(a, &v.first_key, true);
            }
        }
    }
}

fn made_by(maker: Tool, kib: u64) -> Volume {
    Volume::made_by(maker, &format!("--type luks2 {CHEAP_ARGON2} --luks2-metadata-size {kib}k"), 32 << 20)
}

/// The dump without the header's epoch (its write count).
fn without_epoch(dump: &str) -> String {
    dump.lines().filter(|line| !line.starts_with("Epoch:")).collect::<Vec<_>>().join("\n")
}

#[test]
fn repair_mends_a_copy_and_two_lost_copies_are_named() {
    need!("cryptsetup");
    for (way, a, b) in BOTH_WAYS {
        eprintln!("{way}");
        let (v, second) = (made_by(a, 16), 16 << 10);
        damage(&v, BINARY + 8, 100);
        v.run(b, "repair -q").ok();
        assert_agreeing_copies(&v, second);
        v.opens(a, &v.first_key, true);
        damage(&v, 0, 8);
        damage(&v, second, 8);
        for tool in [a, b] {
            let lost = read(&v.path).expect("the volume can be read");
            v.run(tool, "open --test-passphrase").arg("--key-file").arg(&v.first_key).fails(1);
            assert!(read(&v.path).expect("still there") == lost, "a refusal changed the volume");
        }
    }
}

fn damage(v: &Volume, offset: u64, len: u64) {
    let file = File::options().write(true).open(&v.path).expect("the volume can be written");
    file.write_all_at(&random(99, len as usize), offset).expect("damage is done");
}

/// Both binary headers have their magic, the same sequence id (offset 16), and the same JSON.
fn assert_agreeing_copies(v: &Volume, second: u64) {
    let bytes = read(&v.path).expect("the volume can be read");
    let (first, second) = bytes[..2 * second as usize].split_at(second as usize);
    assert_eq!(&first[..6], b"LUKS\xba\xbe");
    assert_eq!(&second[..6], b"SKUL\xba\xbe");
    assert_eq!(first[16..24], second[16..24], "sequence ids");
    assert!(first[BINARY as usize..] == second[BINARY as usize..], "JSON areas");
}

/// Headers that the real cryptsetup wrote, at every size that it writes: what is lost in both copies and
/// confirmed by a checksum is what it was, byte for byte, and cryptsetup opens it.
#[test]
fn headers_of_every_size_become_what_cryptsetup_wrote() {
    need!("cryptsetup");
    for kib in [16_u64, 32, 64, 128, 256, 512, 1024, 2048, 4096] {
        let (v, second) = (made_by(cryptsetup, kib), kib << 10);
        let written = read(&v.path).expect("the volume can be read");
        let damages: [(&str, &[(u64, u64)]); 4] = [
            ("both magics", &[(0, 6), (second, 6)]),
            ("both magics, versions and sizes", &[(0, 16), (second, 16)]),
            ("metadata in one, the binary header in the other", &[(BINARY, second - BINARY), (second, 104)]),
            ("the other way round, offset included", &[(0, 104), (256, 100), (second + BINARY, 8000)]),
        ];
        for (what, places) in damages {
            eprintln!("areas of {kib} KiB, {what} damaged");
            for (offset, len) in places {
                damage(&v, *offset, *len);
            }
            v.run(cryptsetup, "open --test-passphrase").arg("--key-file").arg(&v.first_key).fails(1);
            v.run(keyway, "repair -q").ok();
            assert!(read(&v.path).expect("the volume can be read") == written);
            v.opens(cryptsetup, &v.first_key, true);
            v.dump();
        }
    }
}

/// A LUKS1 header of cryptsetup's without its magic.
#[test]
fn a_passphrase_brings_back_luks1s_magic() {
    need!("cryptsetup");
    let v = Volume::made_by(cryptsetup, "--type luks1 --pbkdf-force-iterations 1000", 32 << 20);
    let written = read(&v.path).expect("the volume can be read");
    damage(&v, 0, 8);
    v.run(cryptsetup, "isLuks").fails(1);
    v.run(keyway, "repair -q").arg("--key-file").arg(&v.first_key).ok();
    assert!(read(&v.path).expect("the volume can be read") == written);
    v.opens(cryptsetup, &v.first_key, true);
}
