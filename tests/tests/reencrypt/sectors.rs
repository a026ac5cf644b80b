//! Larger encryption sectors around file systems of the real mke2fs: what could not be mounted any more is refused, as
//! cryptsetup refuses it where it looks, and nothing is written.

use crate::Fixture;
use crate::session::Open;
use keyway_tests::peers::{CHEAP_LUKS2_PBKDF2, program};
use keyway_tests::{Run, cryptsetup, keyway, need, peer};
use std::os::unix::fs::symlink;

/// The device holds an ext4 file system with blocks of so many bytes.
fn plain(block: u32) -> Fixture {
    let f = Fixture::plaintext(32 << 20);
    peer("mke2fs", &format!("-q -F -t ext4 -b {block}")).arg(&f.device).arg("16M").ok();
    symlink(program(), f.scratch.path("cryptsetup")).unwrap();
    f
}

/// The same in a volume with sectors of 512 bytes.
fn volume(block: u32) -> Fixture {
    let made = plain(block);
    let image = made.scratch.path("image");
    std::fs::rename(&made.device, &image).unwrap();
    let build = keyway("build -q --fill --sector-size 512").args(CHEAP_LUKS2_PBKDF2);
    build.arg("--key-file").arg(&made.key).arg(image).arg(&made.device).ok();
    made
}

/// Keyway under cryptsetup's name.
fn named(f: &Fixture, line: &str) -> Run {
    Run::new(f.scratch.path("cryptsetup"), line).directory(f.scratch.root())
}

fn too_small(place: &str) -> String {
    format!(
        "{place} holds ext4 with blocks of 1024 bytes, which cannot be mounted from sectors of 4096: use --sector-size \
         1024, or omit it. Nothing was changed."
    )
}

/// Neither the device has changed, nor is there a file that was not there.
#[track_caller]
fn unchanged(f: &Fixture, refused: impl FnOnce()) {
    let files = || {
        let mut files: Vec<_> =
            std::fs::read_dir(f.scratch.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        files.sort();
        files
    };
    let before = (files(), std::fs::read(&f.device).unwrap());
    refused();
    assert!((files(), std::fs::read(&f.device).unwrap()) == before, "something was written");
}

#[test]
fn a_closed_volume_keeps_sectors_that_its_file_system_can_be_mounted_from() {
    need!("mke2fs");
    let f = volume(1024);
    let refusal = too_small(&f.device.display().to_string());
    unchanged(&f, || drop(f.reencrypt(keyway, "--sector-size 4096").fails(1).says(&refusal)));
    unchanged(&f, || drop(f.reencrypt(keyway, "--init-only --sector-size 4096").fails(1).says(&refusal)));
    f.reencrypt(keyway, "--sector-size 1024").ok();
    assert!(f.dump().contains("\"sector_size\":1024"));
    let f = volume(4096);
    f.reencrypt(keyway, "--sector-size 4096").ok();
    assert!(f.dump().contains("\"sector_size\":4096"));
}

/// cryptsetup refuses larger sectors of what is closed; forced, it takes them without a look.
#[test]
fn under_cryptsetups_name_a_closed_volume_has_to_be_forced() {
    need!("mke2fs", "cryptsetup");
    let f = volume(1024);
    let line = |force: &str| {
        format!("reencrypt -q {force} --sector-size 4096 {CHEAP_LUKS2_PBKDF2} --key-file key device")
    };
    let theirs = |force: &str| cryptsetup(&line(force)).directory(f.scratch.root());
    for sector in ["--init-only", ""] {
        let line = line(sector);
        unchanged(&f, || {
            let refused = named(&f, &line).fails(1);
            refused.says("Encryption sector size increase on offline device is not supported.");
        });
        theirs(sector).fails(1);
    }
    named(&f, &line("--force-offline-reencrypt --init-only")).ok();
    assert!(f.dump().contains("\"sector_size\":4096"));
}

/// With plaintext, cryptsetup looks, forced or not: one text, one exit code.
#[test]
fn plaintext_is_not_encrypted_in_sectors_larger_than_its_blocks() {
    need!("mke2fs", "cryptsetup");
    let f = plain(1024);
    let refusal = too_small("device");
    for options in
        ["--header", "--init-only --header", "--reduce-device-size 8M", "--init-only --reduce-device-size 8M"]
    {
        let header = if options.ends_with("--header") { " header" } else { "" };
        let line = format!(
            "reencrypt -q --encrypt --force-offline-reencrypt --sector-size 4096 {CHEAP_LUKS2_PBKDF2} --key-file key \
             {options}{header} device"
        );
        unchanged(&f, || drop(keyway(&line).directory(f.scratch.root()).fails(1).says(&refusal)));
        unchanged(&f, || {
            let theirs = cryptsetup(&line).directory(f.scratch.root()).fails(1);
            let ours = named(&f, &line).fails(1);
            assert_eq!(ours.errors().trim_start_matches("cryptsetup: "), theirs.errors(), "{options}");
            assert!(theirs.errors().contains("(block size: 1024 bytes)"), "{theirs}");
        });
    }
    f.reencrypt(keyway, "--encrypt --sector-size 1024 --reduce-device-size 32M").ok();
    let f = plain(4096);
    f.reencrypt(keyway, "--encrypt --sector-size 4096 --header").ok();
}

/// A session does not mind; the kernel would, at the next opening.
#[test]
fn a_volume_in_a_session_keeps_sectors_that_its_file_system_can_be_mounted_from() {
    need!("mke2fs");
    let f = volume(1024);
    let refusal = too_small(&f.device.display().to_string());
    let open = Open::new(&f, "nbd");
    open.reencrypt("--sector-size 4096").fails(1).says(&refusal);
    assert!(!f.says("online-reencrypt"));
    open.reencrypt("--sector-size 1024").ok();
    drop(open);
    let f = volume(4096);
    let open = Open::new(&f, "nbd");
    open.reencrypt("--sector-size 4096").ok();
    assert!(f.dump().contains("\"sector_size\":4096"));
}
