//! luksDump in unusual states, line for line, and what both programs report for files that are not
//! volumes.

use crate::volume::{BOTH_WAYS, Volume};
use keyway_tests::peers::{CHEAP_ARGON2, CHEAP_PBKDF2};
use keyway_tests::{Scratch, assert_same_lines, cryptsetup, keyway, need};

#[test]
fn the_volume_key_is_printed_alike() {
    need!("cryptsetup");
    for kind in [format!("--type luks1 {CHEAP_PBKDF2}"), format!("--type luks2 {CHEAP_ARGON2}")] {
        let v = Volume::made_by(cryptsetup, &kind, 20 << 20);
        let dumps = BOTH_WAYS.map(|(_, tool, _)| {
            v.run(tool, "luksDump -q --dump-volume-key").arg("--key-file").arg(&v.first_key).ok().text()
        });
        assert_same_lines("keyway", &dumps[0], "cryptsetup", &dumps[1]);
    }
}

#[test]
fn what_is_no_volume_is_refused_alike() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let no_volumes = [
        scratch.random_file("random", 5, 1 << 20),
        scratch.sized("zeros", 1 << 20),
        scratch.file("short", "LUKS\u{ba}\u{be}"),
        scratch.path("absent"),
    ];
    for file in &no_volumes {
        for command in ["isLuks", "luksDump", "luksUUID", "open --test-passphrase"] {
            let theirs = cryptsetup(command).arg(file).stdin("secret").outcome();
            let ours = keyway(command).arg(file).stdin("secret").outcome();
            assert_eq!(ours.code, theirs.code, "{ours}\n{theirs}");
            assert_ne!(ours.code, Some(0), "{ours}");
        }
    }
}
