//! `--encrypt DEVICE NAME`: what begins to be encrypted is open under the name, and the rest goes on in use.

use crate::session::Open;
use crate::{Fixture, PLAIN};
use keyway_tests::peers::{CHEAP_LUKS2_PBKDF2, program};
use keyway_tests::{Run, keyway, need, random};
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

/// What the new volume is to be like is no option of its opening.
#[test]
fn each_option_of_a_new_volume_goes_with_a_name() {
    for options in [
        "--sector-size 4096",
        "--device-size 8M",
        "--cipher aes-xts-plain64 --key-size 256",
        "--hash sha512",
        "--resilience journal",
        "--resilience checksum --reduce-device-size 32M",
        "--offset 8192 --reduce-device-size 32M",
    ] {
        let moves = options.contains("--reduce-device-size");
        let f = plaintext(if moves { 32 << 20 } else { 0 });
        let open = Open(&f);
        let header = if moves { "" } else { "--header header" };
        encrypt(&open, &format!("{options} {header} --key-file key device home")).ok();
        let len = if options.contains("--device-size") { 8 << 20 } else { PLAIN };
        assert!(open.client("nbd").read(0, len) == f.plain[..len], "{options}");
        open.keyway("close home").ok();
        let read = keyway(&format!("read {header} --key-file key device")).directory(f.scratch.root());
        assert!(read.ok().stdout[..len] == f.plain[..len], "{options}");
    }
}

/// A size that no sector ends at is none, with a name and without.
#[test]
fn a_size_that_is_no_multiple_of_a_sector_changes_nothing() {
    let f = plaintext(0);
    let open = Open(&f);
    for name in ["", "home"] {
        let refused =
            encrypt(&open, &format!("--device-size 1000 --header header --key-file key device {name}"));
        refused.fails(1).says("Device size must be multiple of 512 bytes sector.");
        assert!(std::fs::read(&f.device).unwrap() == f.plain && !f.header().exists(), "{name}");
    }
}

/// The process that serves it is handed no key, and reads its own.
#[test]
fn a_key_that_can_be_read_once_changes_nothing() {
    let f = plaintext(0);
    let open = Open(&f);
    for key in ["", "--key-file -"] {
        let refused =
            encrypt(&open, &format!("--init-only --header header {key} device home")).stdin("typed\n");
        refused.fails(1).says("home is served by another process, which must read the key again");
        assert!(std::fs::read(&f.device).unwrap() == f.plain && !f.header().exists(), "{key}");
    }
    need!("mkfifo");
    Run::new("mkfifo", "").arg(f.scratch.path("fifo")).ok();
    for (key, is) in [
        ("--key-file fifo", "fifo, which is no regular file,"),
        ("--key-file /dev/stdin", "/dev/stdin"),
        ("--key-file /dev/fd/0", "/dev/fd/0"),
        ("--key-file key --volume-key-file fifo", "fifo, which is no regular file,"),
    ] {
        let refused = encrypt(&open, &format!("--init-only --header header {key} device home"));
        refused.stdin("typed\n").fails(1).says(&format!(
            "home is served by another process, which must read the key again: {is} can be read only once."
        ));
        assert!(std::fs::read(&f.device).unwrap() == f.plain && !f.header().exists(), "{key}");
    }
}

/// A key in the kernel's keyring can be read any number of times: this one is not there.
#[test]
fn a_key_in_the_keyring_needs_no_terminal() {
    let f = plaintext(0);
    let open = Open(&f);
    let key = "--key-description keyway-test-that-nobody-has";
    let refused = encrypt(&open, &format!("--init-only --header header {key} device home")).stdin("");
    refused.fails(1).lacks("must read the key again").says("keyway-test-that-nobody-has");
    assert!(std::fs::read(&f.device).unwrap() == f.plain && !f.header().exists());
}

/// The file system is not looked at once the volume is in use.
#[test]
fn a_name_and_unused_blocks_exclude_each_other() {
    let f = plaintext(0);
    let open = Open(&f);
    for options in ["--skip-unused", "--skip-unused --discard-unused", "--skip-unused --resume-only"] {
        let refused = encrypt(&open, &format!("{options} --header header --key-file key device home"));
        refused.fails(1).says(
            "Option --skip-unused needs a file system that nobody uses: it cannot be combined with a name (home). Nothing \
             was written.",
        );
        assert!(std::fs::read(&f.device).unwrap() == f.plain && !f.header().exists(), "{options}");
    }
}

/// The line that begins is no line that goes on: it would open nothing.
#[test]
fn a_name_is_refused_where_something_is_under_way() {
    let f = plaintext(32 << 20);
    let open = Open(&f);
    encrypt(&open, "--init-only --reduce-device-size 32M --key-file key device").ok();
    let before = std::fs::read(&f.device).unwrap();
    for options in ["--reduce-device-size 32M", "--resume-only", "--init-only --reduce-device-size 32M"] {
        let refused = encrypt(&open, &format!("{options} --key-file key device home")).fails(1);
        refused
            .says("The reencryption of device has begun already: home would not be opened. Nothing was changed.")
            .says(
                "\"keyway open device home\" opens it, and \"keyway reencrypt --resume-only --active-name \
                 home\" then resumes in use.",
            );
        assert!(std::fs::read(&f.device).unwrap() == before, "{options}");
    }
    open.keyway("open --key-file key device home").env("KEYWAY_BACKEND", "nbd").ok();
    open.reencrypt("--resume-only").ok();
    assert!(open.client("nbd").read(0, PLAIN) == f.plain && !f.says("online-reencrypt"));

    // A LUKS1 volume that is made is not opened either.
    let f = plaintext(32 << 20);
    let luks1 = keyway("reencrypt -q --encrypt --type luks1 --pbkdf-force-iterations 1000 --init-only");
    luks1.args("--reduce-device-size 8M --key-file key device").directory(f.scratch.root()).ok();
    let before = std::fs::read(&f.device).unwrap();
    let refused = encrypt(&Open(&f), "--reduce-device-size 8M --key-file key device home").fails(1);
    refused.says("has begun already: home would not be opened");
    assert!(std::fs::read(&f.device).unwrap() == before);
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
            "Only --encrypt to LUKS2 can open",
        ),
    ] {
        let before = std::fs::read(&f.device).unwrap();
        encrypt(&open, options).fails(code).says(says);
        assert!(std::fs::read(&f.device).unwrap() == before, "{options}");
    }
    let named = open.keyway("reencrypt -q --key-file key device home").fails(1);
    named.says("Only --encrypt to LUKS2 can open the volume at once, as home. Nothing was written.");
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
