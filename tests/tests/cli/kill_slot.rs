//! The proof that luksKillSlot, luksRemoveKey and erase require before they remove keyslots, and
//! what they remove then.

use keyway_tests::peers::CHEAP_PBKDF2;
use keyway_tests::{Run, Scratch, Terminal, keyway, need};
use std::fs;
use std::sync::OnceLock;

/// A LUKS1 volume "volume" with the passphrases "first" in slot 0 and "eighth" in slot 7; both are
/// in files of the same names.
fn two_keys() -> Scratch {
    static VOLUME: OnceLock<Vec<u8>> = OnceLock::new();
    let scratch = Scratch::new();
    for name in ["first", "eighth", "wrong"] {
        scratch.file(name, name);
    }
    let bytes = VOLUME.get_or_init(|| {
        scratch.sized("volume", 3 << 20);
        run(&scratch, "luksFormat -q --type luks1 volume first").args(CHEAP_PBKDF2).ok();
        run(&scratch, "luksAddKey -q -d first -S 7 volume eighth").args(CHEAP_PBKDF2).ok();
        fs::read(scratch.path("volume")).unwrap()
    });
    scratch.file("volume", bytes);
    scratch
}

fn run(scratch: &Scratch, line: &str) -> Run {
    keyway(line).directory(scratch.root())
}

/// The passphrases that open the volume.
fn opening(scratch: &Scratch) -> Vec<&'static str> {
    let opens =
        |name: &&str| run(scratch, "open --test-passphrase volume -d").arg(name).outcome().code == Some(0);
    ["first", "eighth"].into_iter().filter(opens).collect()
}

/// Asserts that the run exits with this code, says this, and changes no byte.
fn refuses(scratch: &Scratch, run: Run, code: i32, why: &str) {
    let before = fs::read(scratch.path("volume")).unwrap();
    run.fails(code).says(why);
    assert!(fs::read(scratch.path("volume")).unwrap() == before, "{why}");
}

#[test]
fn a_slot_is_killed_with_a_passphrase_that_stays() {
    let scratch = two_keys();
    let no_key = "No key available with this passphrase.";
    for line in ["luksKillSlot -q volume 7", "luksKillSlot volume 7"] {
        refuses(&scratch, run(&scratch, line).stdin("eighth"), 2, no_key);
        refuses(&scratch, run(&scratch, line).arg("--key-file=eighth"), 2, no_key);
        refuses(&scratch, run(&scratch, line).arg("--key-file=wrong"), 2, no_key);
    }
    for (line, why) in [
        ("x", "Key slot is invalid: x is not a number."),
        ("3", "Keyslot 3 is not active."),
        ("8", "Keyslot 8 is not active."),
    ] {
        refuses(&scratch, run(&scratch, "luksKillSlot -q -d first volume").arg(line), 1, why);
    }
    run(&scratch, "luksKillSlot volume 7 -d first").ok();
    assert_eq!(opening(&scratch), ["first"]);
    // The last keyslot is removed with its own passphrase.
    refuses(&scratch, run(&scratch, "luksKillSlot volume 0 -d eighth"), 2, no_key);
    refuses(&scratch, run(&scratch, "luksKillSlot -q volume 0").stdin("eighth"), 2, no_key);
    run(&scratch, "luksKillSlot volume 0 -d first").ok().lacks("Are you sure?");
    assert_eq!(opening(&scratch), [""; 0]);
}

/// An empty standard input counts as an answer, as in cryptsetup; a missing key file does not.
#[test]
fn a_key_that_cannot_be_read_kills_nothing() {
    let scratch = two_keys();
    for line in ["luksKillSlot volume 7 -d missing", "luksKillSlot -q volume 7 -d missing"] {
        refuses(&scratch, run(&scratch, line), 1, "Failed to open key file missing");
    }
    run(&scratch, "luksKillSlot -q volume 7").stdin("").ok();
    assert_eq!(opening(&scratch), ["first"]);
}

#[test]
fn a_slot_is_killed_on_a_terminal() {
    need!("setsid");
    let scratch = two_keys();
    let terminal = |line: &str| Terminal::start(&run(&scratch, line));
    let prompt = "Enter any remaining passphrase: ";
    let ending = terminal("luksKillSlot volume 0").expect(prompt).type_secretly("first").finish();
    assert_eq!((ending.code, opening(&scratch)), (Some(2), vec!["first", "eighth"]), "{}", ending.screen);
    let ending = terminal("luksKillSlot -q volume 0 -d wrong").finish();
    assert_eq!((ending.code, opening(&scratch)), (Some(2), vec!["first", "eighth"]), "{}", ending.screen);
    let ending = terminal("luksKillSlot volume 0").expect(prompt).type_secretly("eighth").finish();
    assert_eq!((ending.code, opening(&scratch)), (Some(0), vec!["eighth"]), "{}", ending.screen);
    let ending =
        terminal("luksKillSlot volume 7").expect("This is the last keyslot.").type_line("no").finish();
    assert_eq!((ending.code, opening(&scratch)), (Some(2), vec!["eighth"]), "{}", ending.screen);
    let ending = terminal("luksRemoveKey volume -d eighth")
        .expect("This is the last keyslot.")
        .type_line("no")
        .finish();
    assert_eq!((ending.code, opening(&scratch)), (Some(2), vec!["eighth"]), "{}", ending.screen);
    // There are no prompts in batch mode.
    let ending = terminal("luksKillSlot -q volume 7").finish();
    assert_eq!((ending.code, opening(&scratch)), (Some(0), vec![]), "{}", ending.screen);
}

#[test]
fn a_passphrase_is_removed_and_nothing_else() {
    let scratch = two_keys();
    refuses(
        &scratch,
        run(&scratch, "luksRemoveKey volume -d wrong"),
        2,
        "No key available with this passphrase.",
    );
    let note = "Option --key-file takes precedence over specified key file argument.";
    run(&scratch, "luksRemoveKey volume first -d eighth").ok().says(note).lacks("This is the last keyslot.");
    assert_eq!(opening(&scratch), ["first"]);
    let scratch = two_keys();
    run(&scratch, "luksRemoveKey volume first").ok().lacks(note);
    assert_eq!(opening(&scratch), ["eighth"]);
    let scratch = two_keys();
    run(&scratch, "luksRemoveKey volume -d first").ok().lacks(note);
    assert_eq!(opening(&scratch), ["eighth"]);
    refuses(&scratch, run(&scratch, "erase --hw-opal-factory-reset volume"), 1, "nothing was changed");
    let scratch = two_keys();
    run(&scratch, "erase -q volume").ok();
    assert_eq!(opening(&scratch), [""; 0]);
}
