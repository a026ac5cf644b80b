//! A header whose sequence id cannot grow: Keyway's edits begin the ids again, and cryptsetup reads, edits
//! and opens what comes of it.

use crate::volume::Volume;
use keyway_format::luks2::Copy;
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{cryptsetup, keyway, need};
use keyway_volume::device::storage::File;
use keyway_volume::{Access, Header, Luks, Storage};
use std::sync::Arc;

/// With the highest id in both copies, or in one.
fn at_the_end(copies: &[Copy]) -> Volume {
    let v = Volume::made_by(cryptsetup, CHEAP_LUKS2_PBKDF2, 18 << 20);
    let storage: Arc<dyn Storage> = Arc::new(File::open_rw(&v.path).unwrap());
    let luks = Luks::open(Arc::clone(&storage), Access::Probe).unwrap();
    let Header::Luks2 { binary, metadata } = luks.header() else { panic!("not LUKS2") };
    let mut binary = binary.clone();
    binary.set_sequence_id(u64::MAX);
    for copy in copies {
        let offset = if *copy == Copy::Primary { 0 } else { binary.size.bytes().0 };
        let bytes = binary.as_copy(*copy, [9; 64]).copy_to_bytes(&metadata.to_json()).unwrap();
        storage.write_at(&bytes, offset).unwrap();
    }
    v
}

const EITHER: [&[Copy]; 3] = [&[Copy::Primary, Copy::Secondary], &[Copy::Primary], &[Copy::Secondary]];

#[test]
fn cryptsetup_opens_what_was_edited_at_the_highest_id() {
    need!("cryptsetup");
    for copies in EITHER {
        let v = at_the_end(copies);
        v.run(keyway, "config --label begun-again").ok();
        let dump = v.dump();
        assert!(dump.contains("Epoch:         \t1\n") && dump.contains("begun-again"), "{dump}");
        v.opens(cryptsetup, &v.first_key, true);
        v.run(cryptsetup, "config --label theirs").ok();
        let dump = v.dump();
        assert!(dump.contains("Epoch:         \t2\n") && dump.contains("theirs"), "{dump}");
        v.opens(keyway, &v.first_key, true);
    }
}

#[test]
fn erase_at_the_highest_id_leaves_no_key_for_either() {
    need!("cryptsetup");
    for copies in EITHER {
        let v = at_the_end(copies);
        v.run(keyway, "-v erase -q").ok().says("Key slot 0 removed.");
        let dump = v.dump();
        assert!(dump.contains("Epoch:         \t1\n") && !dump.contains("0: luks2"), "{dump}");
        for tool in [cryptsetup, keyway] {
            v.run(tool, "open --test-passphrase -d").arg(&v.first_key).fails(1);
        }
        let v = at_the_end(copies);
        v.run(keyway, "luksKillSlot -q").arg("0").ok();
        assert!(!v.dump().contains("0: luks2"));
    }
}
