//! Volumes without `--type`: what each verb says of them. (None is opened by its signature: whoever writes to the disk could
//! have put it there.)

use keyway_tests::bitlk::Bitlk;
use keyway_tests::fvault2::Fvault2;
use keyway_tests::{Run, Scratch, bitlk, cryptsetup, fvault2, keyway, need, random};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Verbs of one volume.
const VERBS: &[&str] = &[
    "open --test-passphrase",
    "read",
    "inspect",
    "serve",
    "luksDump",
    "luksUUID",
    "isLuks -v",
    "luksAddKey",
    "reencrypt",
    "repair",
    "passport",
    "xray",
];

fn made(scratch: &Scratch) -> [(PathBuf, &'static str, &'static str); 2] {
    [
        (scratch.file("windows", Bitlk::default().make(&vec![0; bitlk::LEN])), "BitLocker", "bitlk"),
        (scratch.file("mac", Fvault2::default().make(&vec![0; fvault2::LEN])), "FileVault", "fvault2"),
    ]
}

fn hint(name: &str, kind: &str) -> String {
    format!(
        "It is a {name} volume: --type {kind} opens it (read, copy, write, compare, serve, mount, open, passport), and {kind}Dump shows what \
         it is.\n"
    )
}

fn not_luks(volume: &Path) -> String {
    format!("Device {} is not a valid LUKS device.\n", volume.display())
}

#[test]
fn each_verb_names_the_type_of_a_volume_with_a_signature() {
    let scratch = Scratch::new();
    let (runtime, to) = (directory(&scratch), scratch.path("to"));
    for (volume, name, kind) in made(&scratch) {
        let expected = not_luks(&volume) + &hint(name, kind);
        let run = |line: &str| keyway(line).env("XDG_RUNTIME_DIR", &runtime).stdin("x");
        for verb in VERBS {
            let said = run(verb).arg(&volume).fails(1).errors();
            assert!(said.starts_with(&expected), "{verb}: {said}");
        }
        let said = run("open --backend nbd").arg(&volume).arg("name").fails(1).errors();
        assert_eq!(said, expected);
        let said = run("compare").arg(&volume).arg(&volume).fails(1).errors();
        assert_eq!(said, expected);
        let said = run("copy --to raw").arg(&volume).arg(&to).fails(1).errors();
        let raw = "is not a LUKS volume, and --to raw would only copy it; use cp.\n";
        assert_eq!(said, format!("{} {raw}{}", volume.display(), hint(name, kind)));
        let cheap = "copy -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000";
        let said = run(cheap).arg(&volume).arg(scratch.path(kind)).ok().errors();
        let warning = format!("WARNING: {} is copied as it is, encrypted. ", volume.display());
        assert_eq!(said, warning + &hint(name, kind));
    }
}

/// cryptsetup asks for the type, too: its first line, and its exit code.
#[test]
fn called_as_cryptsetup_the_first_line_is_cryptsetups() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let link = scratch.path("cryptsetup");
    symlink(keyway_tests::peers::program(), &link).unwrap();
    for (volume, ..) in made(&scratch) {
        for line in ["open --test-passphrase", "luksDump", "luksUUID"] {
            let theirs = cryptsetup(line).arg(&volume).stdin("x").fails(1).errors();
            let ours = Run::new(&link, line).arg(&volume).stdin("x").fails(1).errors();
            assert_eq!(ours.lines().next(), theirs.lines().next(), "{line}");
        }
    }
}

#[test]
fn inspect_and_passport_say_what_is_known_of_a_device_without_a_header() {
    let scratch = Scratch::new();
    let mut ext4 = vec![0; 1 << 16];
    ext4[1080..1082].copy_from_slice(b"\x53\xef");
    ext4[1024 + 0x60] = 0x40;
    for (content, expected) in [
        (
            random(9, 1 << 20),
            "It has no signature, and is random from the first byte: a TrueCrypt or VeraCrypt volume (--type tcrypt), plain \
             dm-crypt (--type plain), the data of a detached header (--header), or noise. Only its key can tell.\n",
        ),
        (vec![0; 1 << 20], "It has no known signature, and begins with zeros.\n"),
        (b"It was a dark and stormy night. ".repeat(1000), "It has no known signature.\n"),
        (ext4, "It has the signature of: ext4.\n"),
    ] {
        let device = scratch.file("device", content);
        for line in ["inspect", "inspect --json", "passport"] {
            let said = keyway(line).arg(&device).fails(1);
            assert_eq!(said.errors(), not_luks(&device) + expected, "{line}");
            assert!(said.stdout.is_empty());
        }
    }
}

fn directory(scratch: &Scratch) -> PathBuf {
    let runtime = scratch.path("run");
    fs::create_dir(&runtime).unwrap();
    runtime
}
