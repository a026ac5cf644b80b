//! Damaged LUKS2 copies: each program repairs what the other one made, and both then agree.

use crate::volume::{BOTH_WAYS, Volume};
use keyway_tests::peers::CHEAP_ARGON2;
use keyway_tests::{need, random};
use std::fs::{File, read};
use std::os::unix::fs::FileExt;

/// The second copy of a header with 16 KiB areas.
const SECONDARY: u64 = 16 << 10;
/// Length of the binary header, where the JSON area begins.
const BINARY: u64 = 4096;

#[test]
fn a_damaged_copy_is_recovered_from_the_good_one() {
    need!("cryptsetup");
    let damages: [(&str, u64, usize); 4] = [
        ("the first magic", 0, 8),
        ("the first JSON", BINARY + 40, 16),
        ("the second magic", SECONDARY, 8),
        ("the whole second copy", SECONDARY, SECONDARY as usize),
    ];
    for (way, a, b) in BOTH_WAYS {
        for (what, offset, len) in damages {
            eprintln!("{way}, {what} damaged");
            let v = Volume::made_by(a, &format!("--type luks2 {CHEAP_ARGON2}"), 20 << 20);
            let dump = v.dump();
            damage(&v, offset, len);
            v.opens(b, &v.first_key, true);
            // Any command that writes brings both copies into agreement.
            v.run(b, "config --label mended").ok();
            assert_agreeing_copies(&v);
            assert_eq!(v.dump().replace("mended", "(no label)").lines().nth(7), dump.lines().nth(7));
            v.opens(a, &v.first_key, true);
        }
    }
}

#[test]
fn repair_mends_a_copy_and_two_lost_copies_are_named() {
    need!("cryptsetup");
    for (way, a, b) in BOTH_WAYS {
        eprintln!("{way}");
        let v = Volume::made_by(a, &format!("--type luks2 {CHEAP_ARGON2}"), 20 << 20);
        damage(&v, BINARY + 8, 100);
        v.run(b, "repair -q").ok();
        assert_agreeing_copies(&v);
        v.opens(a, &v.first_key, true);
        damage(&v, 0, 8);
        damage(&v, SECONDARY, 8);
        for tool in [a, b] {
            let lost = read(&v.path).expect("the volume can be read");
            v.run(tool, "open --test-passphrase").arg("--key-file").arg(&v.first_key).fails(1);
            assert!(read(&v.path).expect("still there") == lost, "a refusal changed the volume");
        }
    }
}

fn damage(v: &Volume, offset: u64, len: usize) {
    let file = File::options().write(true).open(&v.path).expect("the volume can be written");
    file.write_all_at(&random(99, len), offset).expect("damage is done");
}

/// Both binary headers have their magic, the same sequence id (offset 16), and the same JSON.
fn assert_agreeing_copies(v: &Volume) {
    let bytes = read(&v.path).expect("the volume can be read");
    let (first, second) = bytes[..2 * SECONDARY as usize].split_at(SECONDARY as usize);
    assert_eq!(&first[..6], b"LUKS\xba\xbe");
    assert_eq!(&second[..6], b"SKUL\xba\xbe");
    assert_eq!(first[16..24], second[16..24], "sequence ids");
    assert!(first[BINARY as usize..] == second[BINARY as usize..], "JSON areas");
}
