//! What is said of a key derivation's cost that is measured: to people, not to scripts.

use keyway_tests::peers::CHEAP_PBKDF2;
use keyway_tests::{Run, Scratch, Terminal, keyway, need};
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};

/// So short that any machine's cost for it is cheap to guess.
const TIMED: &str = "--iter-time 1 --pbkdf-memory 1024 --pbkdf-parallel 1";
const SAID: &str = "Key derivation calibrated: ";
const CHEAP: &str = "WARNING: Argon2id, ";

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
    assert!(after.starts_with(&format!("{SAID}Argon2id, ")), "{after}");
    let (line, warning) = after.split_once('\n').unwrap();
    assert!(line.contains(" passes, 1 thread: ") && line.contains(" s here, "), "{line}");
    assert!(line.contains(" s in cryptsetup, ") && line.ends_with(" s in GRUB 2.14."), "{line}");
    assert!(warning.starts_with(CHEAP), "{warning}");
    // Nothing is measured, or nothing is wanted to be read but what is cheap to guess.
    for (quiet, lines) in [("--pbkdf pbkdf2 --pbkdf-force-iterations 1000", 0), (&format!("-q {TIMED}"), 1)] {
        let line = format!("luksAddKey volume -d key next {quiet}");
        let ending = Terminal::start(&keyway(&line).directory(scratch.root())).finish();
        assert_eq!((ending.code, ending.screen.lines().count()), (Some(0), lines), "{}", ending.screen);
        assert!(ending.screen.lines().all(|line| line.starts_with(CHEAP)), "{}", ending.screen);
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
        let said = keyway(line).args(TIMED).directory(scratch.root()).ok().errors();
        assert!(said.starts_with(CHEAP) && said.lines().count() == 1, "{line}: {said}");
        let _ = std::fs::remove_file(scratch.path("new.luks"));
        if !line.contains(" -q ") && !line.contains("Change") {
            let said = keyway(line).args("-v").args(TIMED).directory(scratch.root()).ok().errors();
            assert_eq!(said.lines().filter(|line| line.starts_with(SAID)).count(), 1, "{said}");
        }
    }
    let link = scratch.path("cryptsetup");
    symlink(keyway_tests::peers::program(), &link).unwrap();
    Run::new(&link, "luksFormat -v -q volume key").args(TIMED).directory(scratch.root()).ok().quiet();
    let add = Run::new(&link, "luksAddKey -v volume -d key next").args(TIMED);
    add.directory(scratch.root()).ok().quiet();
}

/// Loops beside the program, until this is dropped.
struct Loops(Vec<Child>);

impl Loops {
    fn start() -> Self {
        let one = || Command::new("yes").stdout(Stdio::null()).spawn().unwrap();
        Self((0..3).map(|_| one()).collect())
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Whatever was measured: the time that was asked for is the one of the program that it was asked for,
/// cryptsetup unless another is named.
#[test]
fn the_time_asked_for_holds_for_who_opens() {
    need!("yes");
    let scratch = scratch();
    let _loops = Loops::start();
    let luks1 = "luksFormat -v --type luks1 --hash sha512 --iter-time 400 volume key";
    for (of, place) in [
        ("", "in cryptsetup"),
        ("--iter-time-for linux", "in cryptsetup"),
        ("--iter-time-for keyway", "here"),
        ("--iter-time-for grub-2.12", "in GRUB 2.12"),
        ("--iter-time-for grub-2.06", "in GRUB 2.06"),
        ("--iter-time-for grub-ubuntu-22.04", "in GRUB 2.06"),
        ("--iter-time-for pi4", "on a Raspberry Pi 4"),
    ] {
        let said = keyway(luks1).args(of).stdin("YES\n").directory(scratch.root()).ok().errors();
        let line = said.lines().find_map(|line| line.strip_prefix(SAID)).expect(&said);
        assert!(
            line.starts_with("PBKDF2 with sha512, ") && line.contains(&format!("0.40 s {place}")),
            "{line}"
        );
        for each in [" s here", " s in cryptsetup", " s in GRUB 2.12", " s in GRUB 2.14"] {
            assert!(line.contains(each), "{line}");
        }
    }
    // GRUB does not read this cipher.
    let other = keyway(luks1).args("-c aes-hctr2-plain64 -s 256").stdin("YES\n").directory(scratch.root());
    let said = other.ok().errors();
    assert!(said.contains("0.40 s in cryptsetup") && !said.contains("GRUB"), "{said}");
    // A Raspberry Pi 4 makes 233,224 iterations of a block of SHA-256 a second: published, not measured.
    keyway("luksFormat -q --type luks1 --iter-time 4000 --iter-time-for pi4 volume key")
        .directory(scratch.root())
        .ok()
        .says("WARNING: PBKDF2 with sha256, 466,448 iterations is cheap to guess: at least 600,000 iterations are");
    keyway("luksDump volume").directory(scratch.root()).ok().says("466448");
}

#[test]
fn who_cannot_open_it_is_refused_and_nothing_is_changed() {
    let scratch = scratch();
    let before = std::fs::read(scratch.path("volume")).unwrap();
    let refused = |line: &str| keyway(line).directory(scratch.root()).fails(1).errors();
    assert_eq!(
        refused("luksFormat -q volume key --iter-time-for abacus"),
        "keyway: --iter-time-for abacus: there are keyway, cryptsetup, grub-2.06, grub-2.12, grub-2.14, grub-2.14-accel, pi3, pi4, grub-debian-12, \
         grub-debian-13, grub-debian-14, grub-fedora, grub-rhel-10, grub-tumbleweed, grub-ubuntu-22.04, grub-ubuntu-24.04, grub-ubuntu-26.04.\n"
    );
    let forced = "luksFormat -q volume key --iter-time-for pi4 --pbkdf-force-iterations 4";
    assert!(refused(forced).contains("omit --pbkdf-force-iterations"));
    let argon2 = refused("luksFormat -q volume key --iter-time-for grub-2.12");
    assert!(argon2.contains("Argon2 is missing in GRUB 2.12, or was never timed."), "{argon2}");
    let debian = refused("luksFormat -q volume key --iter-time-for grub-debian-13");
    assert!(debian.contains("Argon2 is missing in GRUB 2.12, or was never timed."), "{debian}");
    // What signed images do not open, however their names are typed.
    for (asked, said) in [
        (
            "GRUB-Ubuntu-26.04",
            "grub-ubuntu-26.04: Ubuntu 26.04's GRUB does not open such a volume: its signed image has no luks2",
        ),
        (
            "grub-tumbleweed --hash ripemd160",
            "grub-tumbleweed: openSUSE Tumbleweed's GRUB does not open such a volume: its signed image has no \
             gcry_rmd160, and so no hash \"ripemd160\"",
        ),
        (
            "grub-tumbleweed --type luks1 --cipher serpent-xts-plain64 --key-size 512",
            "grub-tumbleweed: openSUSE Tumbleweed's GRUB does not open such a volume: its signed image has no \
             gcry_serpent, and so no cipher \"serpent\"",
        ),
        (
            "grub-debian-14 --hash whirlpool",
            "grub-debian-14: Debian 14 (testing)'s GRUB does not open such a volume: the hash \"whirlpool\" stops it",
        ),
        (
            "grub-debian-14 --hash blake2b-512",
            "grub-debian-14: Debian 14 (testing)'s GRUB does not open such a volume: it has no hash \"blake2b-512\"",
        ),
    ] {
        assert_eq!(
            refused(&format!("luksFormat -q volume key --iter-time-for {asked}")),
            format!("--iter-time-for {said}.\n")
        );
    }
    let sha3 = "luksFormat -q volume key --iter-time-for grub-2.12 --pbkdf pbkdf2 --hash sha3-256";
    assert!(refused(sha3).contains("PBKDF2 with sha3-256 is missing in GRUB 2.12"));
    let link = scratch.path("cryptsetup");
    symlink(keyway_tests::peers::program(), &link).unwrap();
    let unknown = Run::new(&link, "luksFormat -q volume key --iter-time-for pi4").directory(scratch.root());
    unknown.fails(1).says("--iter-time-for: unknown option");
    assert!(before == std::fs::read(scratch.path("volume")).unwrap());
}
