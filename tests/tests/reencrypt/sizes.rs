//! `--device-size` of what goes on: as much of it as is asked for, and no size that it cannot have.

use crate::{Fixture, PLAIN, Tool};
use keyway_tests::{cryptsetup, keyway, need_cryptsetup_to_reencrypt};

/// Both programs do the same, byte for byte but for the keys.
#[test]
fn what_goes_on_takes_no_more_of_the_device_than_is_asked_for() {
    need_cryptsetup_to_reencrypt!();
    for tool in [keyway as Tool, cryptsetup] {
        let f = Fixture::volume();
        f.reencrypt(keyway, "--init-only").ok();
        let before = std::fs::read(&f.device).unwrap();
        for size in [PLAIN + 4096, (8 << 20) + 512] {
            let refused = f.reencrypt(tool, &format!("--device-size {}s", size / 512)).fails(1);
            refused.says("Illegal device size requested in reencryption parameters.");
            assert!(std::fs::read(&f.device).unwrap() == before, "{size}");
        }
        f.reencrypt(tool, "--device-size 8M").ok();
        assert!(!f.says("online-reencrypt"));
        let found = keyway("read --key-file").arg(&f.key).arg(&f.device).ok().stdout;
        assert!(found[..8 << 20] == f.plain[..8 << 20]);
        let after = std::fs::read(&f.device).unwrap();
        assert!(after[(16 << 20) + (8 << 20)..] == before[(16 << 20) + (8 << 20)..], "behind it");
        assert!(after[16 << 20..(16 << 20) + 4096] != before[16 << 20..(16 << 20) + 4096]);
    }
}

/// What is done already stays done: no size before its end, and no other one where the header says one.
#[test]
fn a_size_that_is_too_late_is_refused() {
    use keyway_tests::need;
    need!("prlimit");
    let f = Fixture::volume();
    f.cut_off("--hotzone-size 256K");
    let before = std::fs::read(&f.device).unwrap();
    f.reencrypt(keyway, "--resume-only --device-size 4M").fails(1).says("Illegal device size requested");
    assert!(std::fs::read(&f.device).unwrap() == before);
    f.reencrypt(keyway, "--resume-only --device-size 6M").ok();
    let found = keyway("read --key-file").arg(&f.key).arg(&f.device).ok().stdout;
    assert!(found[..6 << 20] == f.plain[..6 << 20] && found[6 << 20..] != f.plain[6 << 20..]);

    let f = Fixture::volume();
    f.reencrypt(keyway, "--init-only --device-size 8M").ok();
    f.reencrypt(keyway, "--resume-only --device-size 4M").fails(1).says("Illegal device size requested");
    f.reencrypt(keyway, "--resume-only --device-size 8M").ok();
    let found = keyway("read --key-file").arg(&f.key).arg(&f.device).ok().stdout;
    assert!(found[..8 << 20] == f.plain[..8 << 20]);
}
