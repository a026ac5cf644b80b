//! TrueCrypt volumes that tcplay made.

use super::tcplay::{Loop, create};
use keyway_format::tcrypt::Program;
use keyway_tests::{Scratch, keyway, need, need_that, random, tcrypt};
use std::fs;
use std::path::Path;

const PASSPHRASE: &str = "correct horse";
const HIDDEN: &str = "battery staple";

/// The size of the volumes' files.
const LEN: u64 = 1 << 20;

/// Where the data begins.
const DATA: u64 = 256 * 512;

#[track_caller]
fn read(volume: &Path, passphrase: &str, options: &str) -> Vec<u8> {
    keyway("read --type tcrypt").args(options).arg(volume).stdin(passphrase).ok().quiet().stdout
}

/// tcplay's own ciphers and hashes, a chain among them; written to, and shown as cryptsetup shows them.
#[test]
fn volumes_of_tcplay_are_read_and_written() {
    need!("tcplay", "losetup", "setsid");
    need_that!(Loop::is_there(), "loop devices cannot be had here");
    for (hash, cipher, chain, bits) in [
        ("whirlpool", "AES-256-XTS", "aes", 512),
        ("SHA512", "SERPENT-256-XTS,TWOFISH-256-XTS,AES-256-XTS", "serpent-twofish-aes", 1536),
        ("RIPEMD160", "TWOFISH-256-XTS", "twofish", 512),
    ] {
        let scratch = Scratch::new();
        let volume = create(&scratch, &format!("-a {hash} -b {cipher}"), &[PASSPHRASE]);
        let before = read(&volume, PASSPHRASE, "");
        assert_eq!(before.len() as u64, LEN - 2 * DATA);
        let new = random(7, 100_000);
        let source = scratch.file("new", &new);
        keyway("write --type tcrypt --offset 5000").arg(&volume).arg(&source).stdin(PASSPHRASE).ok();
        let after = read(&volume, PASSPHRASE, "--tcrypt-backup");
        assert!(after[..5000] == before[..5000] && after[105_000..] == before[105_000..], "{cipher}");
        assert!(after[5000..105_000] == new, "{cipher}");

        let shown = keyway("tcryptDump").arg(&volume).stdin(PASSPHRASE).ok().quiet();
        let name = volume.display();
        let expected = format!(
            "TCRYPT header information for {name}\nVersion:       \t5\nDriver req.:\t7.0\nSector size:\t512\n\
             MK offset:\t131072\nPBKDF2 hash:\t{}\nCipher chain:\t{chain}\nCipher mode:\txts-plain64\nMK bits:       \t{bits}\n",
            hash.to_lowercase()
        );
        assert_eq!(shown.text(), expected);
    }
}

#[test]
fn a_hidden_volume_has_its_own_passphrase() {
    need!("tcplay", "losetup", "setsid");
    need_that!(Loop::is_there(), "loop devices cannot be had here");
    let scratch = Scratch::new();
    let volume = create(
        &scratch,
        "-g -a SHA512 -b AES-256-XTS -x whirlpool -y TWOFISH-256-XTS",
        &[PASSPHRASE, HIDDEN],
    );
    let hidden = read(&volume, HIDDEN, "--tcrypt-hidden");
    assert_eq!(hidden.len(), 400 << 10);
    assert_eq!(read(&volume, HIDDEN, "--tcrypt-hidden --tcrypt-backup"), hidden);
    let outer = read(&volume, PASSPHRASE, "");
    assert_eq!(outer.len() as u64, LEN - 2 * DATA);
    for (passphrase, options) in [(HIDDEN, ""), (PASSPHRASE, "--tcrypt-hidden")] {
        let refused = keyway("read --type tcrypt --disable-veracrypt").args(options).arg(&volume);
        let refused = refused.stdin(passphrase).fails(2);
        assert_eq!(refused.errors(), "No device header detected with this passphrase.\n");
    }
}

/// Key files in any order, and an empty passphrase with them.
#[test]
fn key_files_are_mixed_in() {
    need!("tcplay", "losetup", "setsid");
    need_that!(Loop::is_there(), "loop devices cannot be had here");
    let scratch = Scratch::new();
    let (one, two) = (scratch.file("one", random(1, 3000)), scratch.file("two", "a short one"));
    let (one, two) = (one.display(), two.display());
    let volume = create(&scratch, &format!("-a SHA512 -b AES-256-XTS -k {one} -k {two}"), &[PASSPHRASE]);
    let plain = read(&volume, PASSPHRASE, &format!("-d {one} -d {two}"));
    assert_eq!(read(&volume, PASSPHRASE, &format!("-d {two} --hash sha512 -d {one} -c aes")), plain);
    let narrow = "read --type tcrypt --disable-veracrypt";
    keyway(narrow).arg("-d").args(&format!("{one}")).arg(&volume).stdin(PASSPHRASE).fails(2);
    let both = format!("tcryptDump --hash sha512 -d {one} -d {two}");
    keyway(&both).arg(&volume).stdin(PASSPHRASE).ok().quiet();
    let missing = scratch.path("missing");
    keyway(narrow).arg("-d").arg(&missing).arg(&volume).stdin(PASSPHRASE).fails(1);
}

/// By NBD, without root, and closed.
#[test]
fn it_opens_without_root() {
    need!("tcplay", "losetup", "setsid");
    need_that!(Loop::is_there(), "loop devices cannot be had here");
    let scratch = Scratch::new();
    let volume = create(&scratch, "-a SHA512 -b AES-256-XTS", &[PASSPHRASE]);
    let plain = read(&volume, PASSPHRASE, "");
    let runtime = scratch.path("run");
    fs::create_dir(&runtime).unwrap();
    let program = |line: &str| keyway(line).env("XDG_RUNTIME_DIR", &runtime);
    program("tcryptOpen --backend nbd").arg(&volume).arg("tc").stdin(PASSPHRASE).ok();
    let status = program("status tc").ok().text();
    assert!(status.contains("  type:    TCRYPT\n"), "{status}");
    assert!(status.contains("  cipher:  aes-xts-plain64\n"), "{status}");
    let busy = keyway("write --type tcrypt").arg(&volume).arg(&volume).stdin(PASSPHRASE).outcome();
    assert_ne!(busy.code, Some(0));
    // Behind it lie its backup header, and nothing finds its key again.
    let before = fs::read(&volume).unwrap();
    for line in ["resize tc", "resize --device-size 600K tc"] {
        program(line).fails(1).says("Resize is not supported for device type TCRYPT.");
    }
    program("luksSuspend tc").fails(1).says("This operation is supported only for LUKS device.");
    program("close tc").ok();
    assert!(fs::read(&volume).unwrap() == before);
    assert!(read(&volume, PASSPHRASE, "") == plain);
    program("open --type tcrypt --test-passphrase").arg(&volume).stdin(PASSPHRASE).ok().quiet();
    let wrong = program("open --type tcrypt --test-passphrase --disable-veracrypt").arg(&volume);
    wrong.stdin("wrong").fails(2).says("No device header detected with this passphrase.");
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", LEN);
    let refused = |line: &str| keyway(line).arg(&volume).stdin("x").fails(1).errors();
    assert_eq!(
        refused("read --type tcrypt --key-slot 1"),
        "keyway: --key-slot does not apply to TrueCrypt and VeraCrypt volumes.\n"
    );
    assert!(refused("read --type tcrypt --hash md5").contains("md5"));
    for (line, message) in [
        ("read --tcrypt-hidden", "--tcrypt-backup is supported only for TCRYPT device."),
        ("read --veracrypt-pim 5", "are for --type tcrypt."),
        ("read --type tcrypt --tcrypt-system --tcrypt-hidden", "cannot be combined with --tcrypt-hidden"),
        ("read --type tcrypt --skip 8", "--skip does not apply to TrueCrypt and VeraCrypt volumes."),
        ("write --type tcrypt --device-offset 512", "--device-offset does not apply"),
        ("read --type tcrypt --volume-key-file x", "--volume-key-file does not apply"),
        ("read --key-file x --key-file y", "Only one --key-file argument is allowed."),
    ] {
        let said = refused(line);
        assert!(said.contains(message) && said.lines().count() == 1, "{line}: {said}");
    }
    let short = scratch.sized("short", 100);
    let short = keyway("read --type tcrypt").arg(&short).stdin("x").fails(1).errors();
    assert!(short.contains("no room for the"), "{short}");
}

/// The PIM comes after the passphrase; what is written never stands for it. 0 is VeraCrypt's default.
#[test]
fn the_pim_is_asked_for() {
    let scratch = Scratch::new();
    let volume = scratch.file("volume", tcrypt::made(Program::VeraCrypt, "sha512", Some(2)));
    let asked = |line: &str, typed: &str| keyway(line).arg(&volume).stdin(typed).outcome();
    let line = "read --type tcrypt --hash sha512 --veracrypt-query-pim";
    let given =
        keyway("read --type tcrypt --hash sha512 --veracrypt-pim 2").arg(&volume).stdin("secret").ok();
    assert!(asked(line, "secret\n2\n").stdout == given.stdout);
    assert_eq!(asked(line, "secret\n3\n").errors(), "No device header detected with this passphrase.\n");
    for (typed, message) in [("0", "Invalid PIM value: 0."), ("two", "Invalid PIM value: parse error.")] {
        assert!(asked(line, &format!("secret\n{typed}\n")).errors().contains(message), "{typed}");
    }
    let before = fs::read(&volume).unwrap();
    let write = asked("write --type tcrypt --hash sha512 --veracrypt-query-pim", "2\ndata\n");
    assert_ne!(write.code, Some(0), "nobody can be asked");
    assert!(fs::read(&volume).unwrap() == before);

    let usual = scratch.file("usual", tcrypt::made(Program::VeraCrypt, "sha512", None));
    keyway("read --type tcrypt --hash sha512 --veracrypt-pim 0").arg(&usual).stdin("secret").ok().quiet();
}
