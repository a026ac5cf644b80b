//! `copy --to veracrypt`: volumes and raw images become VeraCrypt volumes, which cryptsetup knows, too.

use keyway_format::tcrypt::Program;
use keyway_tests::{Run, Scratch, cryptsetup, keyway, need, random, tcrypt};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const OLD: &str = "secret";
/// A small PIM needs 20 bytes.
const NEW: &str = "correct horse battery staple";
const RESERVED: usize = 262_144;
const COPY: &str = "copy -q --to veracrypt --new-veracrypt-pim 1";

#[track_caller]
fn read(line: &str, volume: &Path) -> Vec<u8> {
    let run = keyway(&format!("read --type tcrypt --veracrypt-pim 1 {line}")).arg(volume);
    run.stdin(NEW).ok().quiet().stdout
}

fn copy(line: &str, from: &Path, to: &Path, typed: &str) -> Run {
    keyway(&format!("{COPY} {line}")).arg(from).arg(to).stdin(typed)
}

/// What cryptsetup says of both headers is what Keyway says, and the plaintext is the image.
#[test]
fn an_image_and_a_luks_volume_become_one() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    // VeraCrypt's sectors have 512 bytes.
    let (image, volume) = (scratch.file("image", random(1, 300_001)), scratch.path("old.luks"));
    keyway("build -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000").arg(&image).arg(&volume).stdin(OLD).ok();
    let mut plain = fs::read(&image).unwrap();
    plain.resize(300_032, 0);
    let from_image = scratch.path("image.hc");
    copy("--hash sha256", &image, &from_image, NEW).ok().quiet();
    assert_eq!(fs::metadata(&from_image).unwrap().len() as usize, 300_032 + RESERVED);
    assert!(read("--hash sha256", &from_image) == plain);
    for place in ["", "--tcrypt-backup"] {
        let line = format!("tcryptDump -q --veracrypt -h sha256 --veracrypt-pim 1 {place}");
        let shown = cryptsetup(&line).arg(&from_image).stdin(NEW).ok().text();
        assert!(shown.contains("Cipher chain:\taes\n"), "{shown}");
        assert_eq!(keyway(&line).arg(&from_image).stdin(NEW).ok().text(), shown);
    }
    let from_volume = scratch.path("volume.hc");
    let chain = scratch.path("chain.hc");
    copy("--cipher serpent-twofish-aes", &image, &chain, NEW).ok().quiet();
    assert!(read("--hash sha512 --cipher serpent-twofish-aes", &chain) == plain);
    let progress = keyway("copy --to veracrypt --new-veracrypt-pim 1 --progress-json --progress-frequency 1");
    let progress = progress.arg(&image).arg(scratch.path("again.hc")).stdin(NEW).ok();
    assert!(progress.errors().lines().count() > 0);
    for line in progress.errors().lines() {
        assert!(line.contains("\"device_size\":\"300032\""), "{line}");
    }
    copy("", &volume, &from_volume, &format!("{OLD}\n{NEW}\n")).ok().quiet();
    let from_volume = read("--hash sha512", &from_volume);
    // LUKS2's sectors may be larger.
    assert!(from_volume[..300_032] == plain && from_volume[300_032..].iter().all(|byte| *byte == 0));
}

#[test]
fn other_formats_key_files_and_what_is_there() {
    let scratch = Scratch::new();
    let old = scratch.file("old", tcrypt::made_around_hidden(Program::TrueCrypt, "sha512"));
    let plain = keyway("read --type tcrypt").arg(&old).stdin(OLD).ok().stdout;
    let (key, new) = (scratch.file("key", random(2, 100)), scratch.path("new.hc"));
    let line = format!("--type tcrypt --new-keyfile {}", key.display());
    copy(&line, &old, &new, &format!("{OLD}\n\n")).fails(1);
    copy(&line, &old, &new, &format!("{OLD}\n{NEW}\n")).ok().quiet();
    let with_key = format!("--key-file {}", key.display());
    assert!(read(&format!("--hash sha512 {with_key}"), &new) == plain);
    keyway("read --type tcrypt --veracrypt-pim 1 --hash sha512").arg(&new).stdin(NEW).fails(2);
    assert_eq!(fs::metadata(&new).unwrap().mode() & 0o77, fs::metadata(&old).unwrap().mode() & 0o77);

    // An existing file stays, unless that is said; a cut-off copy leaves nothing.
    let before = fs::read(&new).unwrap();
    copy(&line, &old, &new, &format!("{OLD}\n{NEW}\n")).fails(5);
    assert!(fs::read(&new).unwrap() == before);
    copy("--type tcrypt --force", &old, &new, &format!("{OLD}\n{NEW}\n")).ok();
    assert!(read("--hash sha512", &new) == plain);
}

/// With one key file less or more, nothing opens the old volume any more, or the new one.
#[test]
fn folders_of_key_files_stay_as_they_are() {
    let scratch = Scratch::new();
    let (old, folder) = (scratch.path("old.hc"), scratch.path("keys"));
    fs::create_dir(&folder).unwrap();
    let key = folder.join("key");
    fs::write(&key, random(4, 100)).unwrap();
    let shown = folder.display();
    let format = format!("tcryptFormat --veracrypt-pim 1 --quick --size 300K --key-file {shown}");
    keyway(&format).arg(&old).stdin(NEW).ok().quiet();
    let link = scratch.path("link");
    std::os::unix::fs::symlink(folder.join("other.hc"), &link).unwrap();
    let source = format!("--force --type tcrypt --veracrypt-pim 1 --hash sha512 --key-file {shown}");
    let typed = format!("{NEW}\n{NEW}\n");
    for (to, message) in [
        (&key, " is an input of this command; name another file."),
        (&folder.join("new"), " would become one of the key files in "),
        (&link, " would become one of the key files in "),
    ] {
        for format in ["veracrypt", "luks2", "raw"] {
            let run = keyway(&format!("copy -q --to {format} {source}")).arg(&old).arg(to).stdin(&typed);
            let said = run.fails(1).errors();
            assert!(said.contains(message), "{format}: {said}");
        }
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    assert_eq!(fs::read(&key).unwrap(), random(4, 100));
}

#[test]
fn what_describes_a_luks_volume_is_refused() {
    let scratch = Scratch::new();
    let (image, new) = (scratch.file("image", random(3, 300_000)), scratch.path("new.hc"));
    for (line, message) in [
        ("--label x", "With --to veracrypt, the new volume is described by --cipher, --hash, "),
        ("--sector-size 4096", "With --to veracrypt, "),
        ("--pbkdf pbkdf2", "With --to veracrypt, "),
        ("--keep-holes", "With --to veracrypt, "),
        ("--new-keyfile-size 1", "With --to veracrypt, "),
        ("--cipher aes-cbc-essiv:sha256", "Cipher: VeraCrypt makes no volumes with "),
        ("--hash sha1", "Hash: VeraCrypt makes no volumes with \"sha1\""),
        (
            "--new-veracrypt-query-pim",
            "Options --new-veracrypt-pim and --new-veracrypt-query-pim cannot be combined.",
        ),
        ("--new-keyfile .", " would become one of the key files in ."),
    ] {
        let run = copy(line, &image, &new, NEW).directory(&scratch.path(""));
        let said = run.fails(1).errors();
        assert!(said.contains(message) && said.lines().count() == 1, "{line}: {said}");
        assert!(!new.exists());
    }
    let said = keyway("copy -q --new-veracrypt-pim 1").arg(&image).arg(&new).stdin(NEW).fails(1).errors();
    assert!(said.contains("are for --to veracrypt."), "{said}");
    let empty = copy("", &scratch.file("empty", ""), &new, NEW).fails(1).errors();
    assert!(empty.contains(" is empty; there is nothing to encrypt."), "{empty}");
    let short = keyway(COPY).arg(&image).arg(&new).stdin("too short").fails(1).errors();
    assert!(short.contains("VeraCrypt takes one below 485 only with a passphrase of 20 bytes"), "{short}");
    assert!(!new.exists());
}
