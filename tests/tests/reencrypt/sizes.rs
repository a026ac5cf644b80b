//! `--device-size` of what goes on: as much of it as is asked for, and no size that it cannot have.

use crate::session::Open;
use crate::{Fixture, PLAIN, Tool};
use keyway_tests::{cryptsetup, keyway, need_cryptsetup_to_reencrypt};

/// What Keyway adds.
const RANGE: &str = "It can have 4096 to 16777216 bytes, in multiples of 4096. Nothing was changed.";

/// Both programs do the same, byte for byte but for the keys.
#[test]
fn what_goes_on_takes_no_more_of_the_device_than_is_asked_for() {
    need_cryptsetup_to_reencrypt!();
    for (tool, range) in [(keyway as Tool, RANGE), (cryptsetup, "")] {
        let f = Fixture::volume();
        f.reencrypt(keyway, "--init-only").ok();
        let before = std::fs::read(&f.device).unwrap();
        for size in [PLAIN + 4096, (8 << 20) + 512] {
            let refused = f.reencrypt(tool, &format!("--device-size {}s", size / 512)).fails(1);
            refused.says("Illegal device size requested in reencryption parameters.").says(range);
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

/// What is open goes on with its own size, and so does LUKS1: another one is refused before a key is asked for.
#[test]
fn what_cannot_be_limited_on_the_way_says_so() {
    let f = Fixture::volume();
    let open = Open::new(&f, "nbd");
    open.reencrypt("--init-only --device-size 8M").ok();
    let before = std::fs::read(&f.device).unwrap();
    let refused =
        open.keyway("reencrypt -q --active-name home --resume-only --device-size 4M").stdin("").fails(1);
    refused.says(
        "home is open: it goes on with the size that it was begun with, not with --device-size 4194304. Nothing was \
         changed.",
    );
    assert!(std::fs::read(&f.device).unwrap() == before);
    // Opened anew it has that size, and the line that began goes on.
    open.keyway("close home").ok();
    let open = Open::new(&f, "nbd");
    open.reencrypt("--device-size 8M").ok();
    assert!(!f.says("online-reencrypt"));

    let f = Fixture::plaintext(0);
    let format = keyway("luksFormat -q --type luks1 --pbkdf-force-iterations 1000");
    format.arg(&f.device).arg(&f.key).ok();
    let line = |options: &str| {
        let run =
            keyway("reencrypt -q --pbkdf-force-iterations 1000").args(options).directory(f.scratch.root());
        run.arg(&f.device)
    };
    line("--init-only --device-size 8M --key-file key").ok();
    let before = std::fs::read(&f.device).unwrap();
    line("--device-size 4M").stdin("").fails(1).says(
        "is a LUKS1 volume: it goes on with the size that it was begun with, not with --device-size 4194304. Nothing was \
         changed.",
    );
    assert!(std::fs::read(&f.device).unwrap() == before);
    line("--device-size 8M --key-file key").ok();
}

/// Whoever gives data up on the way is asked; called as cryptsetup it goes on, as cryptsetup does.
#[test]
fn a_smaller_size_on_the_way_is_asked_for() {
    use keyway_tests::{Terminal, need};
    need!("setsid");
    let f = Fixture::volume();
    f.reencrypt(keyway, "--init-only").ok();
    let before = std::fs::read(&f.device).unwrap();
    let line =
        keyway("reencrypt --resume-only --force-offline-reencrypt --device-size 8M --key-file").arg(&f.key);
    let line = line.arg(&f.device).directory(f.scratch.root());
    let asked = Terminal::start(&line)
        .expect("This gives up all data behind byte 8388608 of the volume on")
        .expect("capital letters")
        .type_line("no");
    let ending = asked.finish();
    assert_eq!(ending.code, Some(1), "{}", ending.screen);
    assert!(ending.screen.contains("Operation aborted."), "{}", ending.screen);
    assert!(std::fs::read(&f.device).unwrap() == before);
    // All of it is nothing that is given up.
    let all =
        keyway("reencrypt --resume-only --force-offline-reencrypt --device-size 16M --key-file").arg(&f.key);
    let ending = Terminal::start(&all.arg(&f.device).directory(f.scratch.root())).finish();
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    f.reads(false);
}
