//! Damaged LUKS2 copies: each program repairs volumes that the other created, and both then agree.

use crate::volume::{BOTH_WAYS, Tool, Volume};
use keyway_tests::peers::CHEAP_ARGON2;
use keyway_tests::{assert_same_lines, need, random};
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
