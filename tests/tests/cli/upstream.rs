//! What cryptsetup's own test suite (of 2.8.8) found in Keyway.

use crate::in_cryptsetups_place::{Beside, CHEAP};
use keyway_tests::{Run, cryptsetup, keyway, need};

/// Since 2.8.2, cryptsetup refuses a label that is too long; before, it cut it silently. Keyway refuses it, and cuts it in the
/// place of Debian 12's, with a message.
#[test]
fn a_label_that_is_too_long_is_cut_as_cryptsetup_cuts_it() {
    need!("cryptsetup");
    let beside = Beside::new();
    beside.scratch.file("key", "secret");
    let (long, fits) = ("n".repeat(60), "n".repeat(47));
    let make = format!("luksFormat -q {CHEAP} --label {long} --subsystem s{long} volume key");
    let change = format!("config --label l{long} --subsystem {fits} volume");
    let names = || -> Vec<String> {
        let dump = cryptsetup("luksDump volume").directory(beside.scratch.root()).ok().text();
        let rows = dump.lines().filter(|line| line.starts_with("Label:") || line.starts_with("Subsystem:"));
        rows.map(str::to_owned).collect()
    };
    let as_debian_12 = |line: &str| beside.named(line).env("CRYPTSETUP_COMPAT", "2.6");
    for line in [&make, &change] {
        let said = |name, len| {
            format!("WARNING: --{name} has {len} bytes: the first 47 are taken, as many as fit.\n")
        };
        let errors = match line == &make {
            true => said("label", 60) + &said("subsystem", 61),
            false => said("label", 61),
        };
        beside.scratch.sized("volume", 20 << 20);
        cryptsetup(&make).directory(beside.scratch.root()).ok();
        cryptsetup(line).directory(beside.scratch.root()).ok();
        let theirs = names();
        assert_eq!(theirs.len(), 2, "{theirs:?}");
        beside.scratch.sized("volume", 20 << 20);
        as_debian_12(&make).ok();
        assert_eq!(as_debian_12(line).ok().errors(), errors, "{line}");
        assert_eq!(names(), theirs, "{line}");
        let before = std::fs::read(beside.scratch.path("volume")).unwrap();
        let len = if line == &make { 60 } else { 61 };
        for run in [keyway(line).directory(beside.scratch.root()), beside.named(line)] {
            let refused = run.fails(1).errors();
            assert!(
                refused.ends_with(&format!("--label: {len} bytes, at most 47 fit.\n")),
                "{line}: {refused}"
            );
            assert!(std::fs::read(beside.scratch.path("volume")).unwrap() == before, "{line}");
        }
    }
    // Between characters.
    let umlauts = "ä".repeat(30);
    as_debian_12(&format!("config --label {umlauts} volume")).ok().says("the first 46 are taken");
    assert!(names()[0].ends_with(&"ä".repeat(23)), "{:?}", names());
}

/// What follows a command's operands is ignored, as cryptsetup ignores it, even when it names the volume once more
/// (cryptsetup's own tests call `luksConvertKey DEVICE … DEVICE`).
#[test]
fn operands_that_cryptsetup_ignores_are_no_inputs() {
    need!("cryptsetup");
    let beside = Beside::new();
    beside.scratch.file("key", "secret");
    for run in
        [&(|line: &str| cryptsetup(line).directory(beside.scratch.root())) as &dyn Fn(&str) -> Run, &|line| {
            beside.named(line)
        }]
    {
        beside.scratch.sized("volume", 20 << 20);
        run(&format!("luksFormat -q {CHEAP} volume key")).ok();
        run(&format!("luksConvertKey -q {CHEAP} -d key volume --keyslot-cipher aes-cbc-plain64 --keyslot-key-size 128 volume")).ok();
        let dump = cryptsetup("luksDump volume").directory(beside.scratch.root()).ok().text();
        assert!(dump.contains("Cipher:     aes-cbc-plain64\n"), "{dump}");
    }
    let line = "luksConvertKey -q -d key volume volume";
    keyway(line).directory(beside.scratch.root()).fails(1).says("unexpected operand \"volume\"");
}
