//! `open`, `close`, `status`, `resize`, `luksSuspend` and `luksResume` as far as no mapping is
//! needed: refusals with cryptsetup's message and exit code, and names of mappings that do not
//! exist.

use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{Scratch, cryptsetup, keyway, need};

/// Command lines that both programs refuse with the same message before they open a device.
const REFUSED_ALIKE: &[&str] = &[
    "open volume",
    "luksOpen volume",
    "open --type plain volume",
    "open --type nosuch volume name",
    "open --persistent --test-passphrase volume",
    "luksOpen --refresh --test-passphrase volume",
    "open --unbound volume name",
    "open --offset 8 volume name",
    "open --skip 3 volume name",
    "open --sector-size 4096 volume name",
    "open --iv-large-sectors volume name",
    "open --tcrypt-hidden volume name",
    "open --size 8 --device-size 4096 volume name",
    "open --type plain --device-size 100 volume name",
    "open --type luks1 volume name",
    "close --deferred --cancel-deferred name",
    "resize --size 1 --device-size 4M name",
    "resize --device-size 100 name",
];

#[test]
fn what_does_not_go_together_is_refused_in_the_same_words() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    scratch.sized("volume", 32 << 20);
    scratch.file("key", "secret");
    cryptsetup("luksFormat -q --type luks2")
        .args(CHEAP_LUKS2_PBKDF2)
        .args("volume key")
        .directory(scratch.root())
        .ok();
    for line in REFUSED_ALIKE {
        let ours = keyway(line).directory(scratch.root()).outcome();
        let theirs = cryptsetup(line).directory(scratch.root()).outcome();
        // cryptsetup first prints its usage and its path, Keyway its name.
        let said = theirs.errors();
        let said = said.lines().last().unwrap_or_default().rsplit("cryptsetup: ").next().unwrap_or_default();
        // Where the name is missing, Keyway adds its usage.
        let said = match said.strip_suffix(" mapped name as arguments.") {
            Some(start) => {
                format!("{start} mapped name as arguments; usage: keyway open [OPTION...] DEVICE NAME")
            }
            None => said.to_owned(),
        };
        assert_eq!(ours.errors().trim_end().trim_start_matches("keyway: "), said, "{line}\n{theirs}");
        assert_eq!(ours.code, theirs.code, "{line}");
        assert_eq!(ours.text(), "", "{line}");
    }
}

#[test]
fn nothing_is_open_under_a_name_that_nobody_gave() {
    const NAME: &str = "keyway-test-nobody";
    for line in ["close", "luksClose", "remove --deferred", "resize --size 100", "luksSuspend", "luksResume"]
    {
        let outcome = keyway(line).arg(NAME).fails(4).says(&format!("Device {NAME} is not active."));
        assert_eq!(outcome.text(), "", "{outcome}");
    }
    keyway("refresh").arg(NAME).fails(4).says(&format!("Device {NAME} is not active."));
    keyway("open --refresh").arg(NAME).fails(4).says(&format!("Device {NAME} is not active."));
    let inactive = keyway("status").arg(NAME).fails(4).quiet();
    assert_eq!(inactive.text(), format!("/dev/mapper/{NAME} is inactive.\n"));
    let inactive = keyway("status /nowhere/volume").fails(4).quiet();
    assert_eq!(inactive.text(), "/nowhere/volume is inactive.\n");
}
