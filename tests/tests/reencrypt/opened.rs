//! `--encrypt DEVICE NAME`: what begins to be encrypted is open under the name, and the rest goes on in use.

use crate::online::Open;
use crate::{Fixture, PLAIN};
use keyway_tests::peers::{CHEAP_LUKS2_PBKDF2, program};
use keyway_tests::{Run, keyway, random};
use std::os::unix::fs::{PermissionsExt, symlink};

/// Plaintext that is to be opened without root.
fn plaintext(free: u64) -> Fixture {
    let f = Fixture::plaintext(free);
    std::fs::set_permissions(f.scratch.root(), std::fs::Permissions::from_mode(0o700)).unwrap();
    f
}

fn encrypt(open: &Open<'_>, options: &str) -> Run {
    let line = format!("reencrypt -q --encrypt {CHEAP_LUKS2_PBKDF2} {options}");
    open.keyway(&line).env("KEYWAY_BACKEND", "nbd")
}

#[test]
fn what_is_begun_is_open_and_goes_on_in_use() {
    let f = plaintext(32 << 20);
    let open = Open(&f);
    let begun = encrypt(&open, "--init-only --reduce-device-size 32M --key-file key device home").ok();
    assert!(f.says("online-reencrypt"), "{begun}");
    let mut client = open.client("nbd");
    assert!(client.read(0, PLAIN) == f.plain);
    client.write(5 << 20, &random(77, 4096));
    open.reencrypt("--resume-only").ok();
    assert!(!f.says("online-reencrypt"));
    let mut expected = f.plain.clone();
    expected[5 << 20..][..4096].copy_from_slice(&random(77, 4096));
    assert!(client.read(0, PLAIN) == expected);
}

/// Without --init-only all is done before the command ends; the volume stays open.
#[test]
fn all_is_done_while_it_is_open() {
    let f = plaintext(0);
    let open = Open(&f);
    encrypt(&open, "--header header --key-file key device home").ok();
    assert!(open.client("nbd").read(0, PLAIN) == f.plain);
    open.keyway("close home").ok();
    let read = keyway("read --header header --key-file key device").directory(f.scratch.root());
    assert!(read.ok().stdout == f.plain);
    assert!(std::fs::read(&f.device).unwrap() != f.plain);
}

/// The process that serves it is handed no key, and reads its own.
#[test]
fn a_key_that_can_be_read_once_changes_nothing() {
    let f = plaintext(0);
    let open = Open(&f);
    for key in ["", "--key-file -"] {
        let refused =
            encrypt(&open, &format!("--init-only --header header {key} device home")).stdin("typed\n");
        refused.fails(1).says("home is served by another process, which reads the key once more");
        assert!(std::fs::read(&f.device).unwrap() == f.plain && !f.header().exists(), "{key}");
    }
}

/// A name that is taken is refused before anything is written, and so is one that cannot be used.
#[test]
fn a_name_that_cannot_be_used_changes_nothing() {
    let f = plaintext(32 << 20);
    let open = Open(&f);
    let other = f.scratch.file("other", &f.plain);
    encrypt(&open, "--init-only --header header --key-file key other home").ok();
    for (options, code, says) in [
        ("--reduce-device-size 32M --key-file key device home", 5, "Device home already exists."),
        ("--reduce-device-size 32M --key-file key device a/b", 1, "Cannot use device a/b, name is invalid"),
        (
            "--type luks1 --reduce-device-size 32M --key-file key device new",
            1,
            "Only what is to be a LUKS2 volume",
        ),
    ] {
        let before = std::fs::read(&f.device).unwrap();
        encrypt(&open, options).fails(code).says(says);
        assert!(std::fs::read(&f.device).unwrap() == before, "{options}");
    }
    let named = open.keyway("reencrypt -q --key-file key device home").fails(1);
    named.says(
        "Only what is to be a LUKS2 volume (--encrypt) can be opened at once, as home. Nothing was written.",
    );
    assert!(std::fs::read(other).unwrap() == f.plain, "not a byte has changed so far");
}

/// A script that calls cryptsetup goes on with /dev/mapper/NAME: where it will not be there, nothing begins,
/// unless the environment says what else opens it.
#[test]
fn under_cryptsetups_name_it_is_mapped_or_as_the_environment_says() {
    let f = plaintext(32 << 20);
    let open = Open(&f);
    symlink(program(), f.scratch.path("cryptsetup")).unwrap();
    let line = format!(
        "reencrypt -q --encrypt --init-only --reduce-device-size 8M {CHEAP_LUKS2_PBKDF2} --key-file key device home"
    );
    let named = || {
        let run = Run::new(f.scratch.path("cryptsetup"), &line).directory(f.scratch.root());
        run.env("XDG_RUNTIME_DIR", f.scratch.root())
    };
    if !std::path::Path::new("/dev/mapper/control").exists() {
        let before = std::fs::read(&f.device).unwrap();
        named().fails(1).says("or KEYWAY_BACKEND=");
        assert!(std::fs::read(&f.device).unwrap() == before);
    }
    let begun = named().env("KEYWAY_BACKEND", "nbd").ok();
    begun.says("WARNING: home is open through nbd, as the environment says").lacks("is now active");
    assert!(open.client("nbd").read(0, PLAIN) == f.plain);
}
