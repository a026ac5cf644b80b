//! Where cryptsetup goes by the command line and not by the header: how much of a volume key file is
//! read, and which keyslot a changed key of LUKS1 gets. The installed cryptsetup answers beside.

use keyway_tests::run::Run;
use keyway_tests::{Scratch, cryptsetup, keyway, need};
use std::path::Path;

const CHEAP: &str = "--pbkdf-force-iterations 1000";

#[test]
fn the_key_size_says_how_much_of_a_volume_key_file_is_read() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let (file, volume) = (scratch.file("vk", [0x5a; 32]), scratch.sized("volume", 16 << 20));
    let format = |run: Run, bits: &str| {
        run.args("-q --type luks1").args(CHEAP).args(bits).arg("--volume-key-file").arg(&file).arg(&volume)
    };
    let short = format!("Cannot read 64 bytes from keyfile {}.", file.display());
    format(keyway("luksFormat"), "-s 512").stdin("pw").fails(1).says(&short);
    format(cryptsetup("luksFormat"), "-s 512").stdin("pw").fails(1).says(&short);
    format(keyway("luksFormat"), "-s 256").stdin("pw").ok();
    let open = |run: Run, bits: &str| run.args(bits).arg("--volume-key-file").arg(&file).arg(&volume);
    let test = "open --test-passphrase";
    // As cryptsetup since 2.7; before, it went by the header here.
    open(keyway(test), "-s 512").fails(1).says(&short);
    open(keyway(test), "-s 128").fails(2).says("Volume key does not match the volume.");
    open(keyway(test), "-s 256").ok();
    open(keyway(test), "").ok();
}

#[test]
fn a_changed_key_of_luks1_stays_only_in_a_keyslot_that_is_named() {
    need!("cryptsetup");
    let slots = |volume: &Path| {
        let dump = cryptsetup("luksDump").arg(volume).ok().text();
        let used = dump.lines().filter(|line| line.ends_with(": ENABLED"));
        used.map(str::to_owned).collect::<Vec<_>>()
    };
    for change in [keyway as fn(&str) -> Run, cryptsetup] {
        let scratch = Scratch::new();
        let volume = scratch.sized("volume", 16 << 20);
        keyway("luksFormat -q --type luks1").args(CHEAP).arg(&volume).stdin("one").ok();
        change("luksChangeKey -q -S 0").args(CHEAP).arg(&volume).stdin("one\ntwo\n").ok();
        assert_eq!(slots(&volume), ["Key Slot 0: ENABLED"]);
        change("luksChangeKey -q").args(CHEAP).arg(&volume).stdin("two\nthree\n").ok();
        assert_eq!(slots(&volume), ["Key Slot 1: ENABLED"]);
        keyway("open --test-passphrase").arg(&volume).stdin("three\n").ok();
    }
}
