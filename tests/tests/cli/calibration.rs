//! What is said of a key derivation's cost that is measured: to people, not to scripts.

use keyway_tests::peers::CHEAP_PBKDF2;
use keyway_tests::{Run, Scratch, Terminal, keyway, need};
use std::os::unix::fs::symlink;

const TIMED: &str = "--iter-time 50 --pbkdf-memory 1024 --pbkdf-parallel 1";
const SAID: &str = "Key derivation calibrated: ";

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.sized("volume", 32 << 20);
    scratch.file("key", "secret");
    scratch.file("next", "other");
    scratch
}

#[test]
fn a_terminal_shows_what_is_measured_and_chosen() {
    need!("setsid");
    let scratch = scratch();
    let line = format!("luksAddKey volume -d key next {TIMED}");
    keyway("luksFormat -q volume key --pbkdf pbkdf2")
        .args(CHEAP_PBKDF2)
        .directory(scratch.root())
        .ok()
        .quiet();
    let ending = Terminal::start(&keyway(&line).directory(scratch.root())).finish();
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    let (before, after) = ending.screen.split_once("\r\x1b[K").expect("the first line is replaced");
    assert_eq!(before, "Calibrating the key derivation …");
    assert!(after.starts_with(&format!("{SAID}Argon2id, 1.0 MiB, ")), "{after}");
    assert!(after.ends_with(" s here.\n") && after.contains(" passes, 1 thread: "), "{after}");
    // Nothing is measured, or nothing is wanted to be read.
    for quiet in ["--pbkdf pbkdf2 --pbkdf-force-iterations 1000", &format!("-q {TIMED}")] {
        let line = format!("luksAddKey volume -d key next {quiet}");
        let ending = Terminal::start(&keyway(&line).directory(scratch.root())).finish();
        assert_eq!((ending.code, ending.screen.as_str()), (Some(0), ""));
    }
}

#[test]
fn a_script_reads_it_with_verbose_only() {
    let scratch = scratch();
    let lines = [
        "luksFormat -q volume key",
        "luksAddKey volume -d key next",
        "luksChangeKey volume -d next key",
        "build next new.luks -d key --headroom 1M",
    ];
    for line in lines {
        keyway(line).args(TIMED).directory(scratch.root()).ok().quiet();
        let _ = std::fs::remove_file(scratch.path("new.luks"));
        if !line.contains(" -q ") && !line.contains("Change") {
            let said = keyway(line).args("-v").args(TIMED).directory(scratch.root()).ok().errors();
            assert_eq!(said.lines().filter(|line| line.starts_with(SAID)).count(), 1, "{said}");
        }
    }
    let luks1 = "luksFormat -v --type luks1 --hash sha512 --iter-time 50 volume key";
    let said = keyway(luks1).stdin("YES\n").directory(scratch.root()).ok().errors();
    assert!(said.contains(&format!("{SAID}PBKDF2 with sha512, ")), "{said}");
    assert!(said.ends_with(" iterations: 0.05 s here.\n"), "{said}");
    let link = scratch.path("cryptsetup");
    symlink(keyway_tests::peers::program(), &link).unwrap();
    Run::new(&link, "luksFormat -v -q volume key").args(TIMED).directory(scratch.root()).ok().quiet();
    let add = Run::new(&link, "luksAddKey -v volume -d key next").args(TIMED);
    add.directory(scratch.root()).ok().quiet();
}
