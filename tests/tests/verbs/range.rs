//! `read` and `write`: any range, the right bytes, nothing else changed, and refusals before any
//! change.

use crate::{CHEAP, names, plaintext, volume_of};
use keyway_format::luks2::Copy;
use keyway_tests::{Scratch, cryptsetup, keyway, need, peer, random};
use keyway_volume::device::storage::File;
use keyway_volume::{Access, Header, Luks, Storage};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

#[test]
fn ranges_of_volumes_made_by_cryptsetup() {
    need!("cryptsetup");
    for options in [
        "--type luks1 --pbkdf-force-iterations 1000",
        "--type luks1 --pbkdf-force-iterations 1000 -c aes-cbc-essiv:sha256 -s 256",
        "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --sector-size 512",
        "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --sector-size 4096",
    ] {
        let scratch = Scratch::new();
        let key = scratch.file("key", "secret");
        let volume = scratch.sized("volume", 20 << 20);
        cryptsetup("luksFormat -q").args(options).arg(&volume).arg(&key).ok();
        let mut plain = plaintext(&volume, &key);
        let new = scratch.random_file("new", 1, 1_234_567);
        for offset in [0, 513, 4096, 1_000_001] {
            let write = keyway("write").arg("-d").arg(&key).arg("--offset").arg(offset.to_string());
            write.arg(&volume).arg(&new).ok().quiet();
            plain[offset..offset + 1_234_567].copy_from_slice(&random(1, 1_234_567));
            assert!(plaintext(&volume, &key) == plain, "{options}, at {offset}");
        }
        for (offset, length) in [(0, 1), (511, 2), (4095, 4098), (123_456, 1_000_000)] {
            let read = keyway("read").args(&format!("--offset {offset} --length {length} -d")).arg(&key);
            assert!(
                read.arg(&volume).ok().stdout == plain[offset..offset + length],
                "{options}, at {offset}"
            );
        }
        cryptsetup("open --test-passphrase -d").arg(&key).arg(&volume).ok();
    }
}

#[test]
fn qemu_reads_what_was_written() {
    need!("qemu-img");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let plain = random(2, 3 << 20);
    let volume = volume_of(&scratch, &plain, &key, "--type luks1");
    let write = keyway("write --offset 1MiB -d").arg(&key).arg(&volume);
    write.stdin(random(3, 70_001)).ok().quiet();
    let raw = scratch.path("raw");
    let secret = format!("secret,id=key,file={}", key.display());
    let image = format!("driver=luks,key-secret=key,file.filename={}", volume.display());
    let convert = peer("qemu-img", "convert -O raw").arg("--object").arg(secret);
    convert.arg("--image-opts").arg(image).arg(&raw).ok();
    let mut expected = plain;
    expected[1 << 20..(1 << 20) + 70_001].copy_from_slice(&random(3, 70_001));
    assert!(fs::read(&raw).unwrap() == expected);
}

#[test]
fn sizes_have_units() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let plain = random(4, 1 << 20);
    let volume = volume_of(&scratch, &plain, &key, "");
    let read = |options: &str| keyway("read -d").arg(&key).args(options).arg(&volume);
    assert!(read("--offset 8s --length 1K").ok().stdout == plain[4096..5120]);
    assert!(read("--offset 1KB --length 2KiB").ok().stdout == plain[1000..3048]);
    assert!(read("--length 0").ok().stdout.is_empty());
    read("--length 1X").fails(1).says("--length 1X: a size is needed, such as 4096, 16M or 2GiB.");
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_written() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let volume = volume_of(&scratch, &random(5, 1 << 20), &key, "");
    let before = fs::read(&volume).unwrap();
    let name = volume.display();
    let new = scratch.random_file("new", 6, 4097);
    let write = |offset: &str| keyway("write -d").arg(&key).arg("--offset").arg(offset).arg(&volume);

    write("1044480").arg(&new).fails(1).says(&format!(
        "4097 bytes at offset 1044480 do not fit: {name} holds 1048576 bytes, 4096 from there on."
    ));
    write("2M")
        .arg(&new)
        .fails(1)
        .says(&format!("Offset 2097152 is past the end of {name}, which holds 1048576 bytes."));
    write("0").arg(scratch.path("none")).fails(4).says("none does not exist.");
    write("0").arg(scratch.root()).fails(4).says("is a directory; a file, a device or a pipe is needed.");
    let read = keyway("read -d").arg(&key).args("--offset 1M --length 1").arg(&volume);
    read.fails(1).says("1 bytes at offset 1048576 do not fit");
    assert!(fs::read(&volume).unwrap() == before);

    // The length of a pipe is known only at its end: what fits is written, the rest is an error.
    let outcome = write("1044480").stdin(random(6, 4097)).fails(1);
    outcome.says(&format!("standard input is longer than the 4096 bytes that {name} has room for."));
    assert!(plaintext(&volume, &key)[1_044_480..] == random(6, 4096));
    write("1044480").stdin(random(7, 4096)).ok();
    assert!(plaintext(&volume, &key)[1_044_480..] == random(7, 4096));
}

#[test]
fn wrong_passphrases_and_wrong_files_leave_everything_alone() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let wrong = scratch.file("wrong", "not it");
    let volume = volume_of(&scratch, &random(8, 65536), &key, "");
    let before = fs::read(&volume).unwrap();
    let all = names(&scratch);
    let output = scratch.path("output");

    let read = keyway("read -d").arg(&wrong).arg(&volume).arg("-o").arg(&output);
    read.fails(2).says("No key available with this passphrase.");
    let write = keyway("write -d").arg(&wrong).arg(&volume).stdin("data");
    write.fails(2).says("No key available with this passphrase.");
    let read = keyway("read -d").arg(&key).arg(&key).arg("-o").arg(&output);
    read.fails(1).says("is not a valid LUKS device");
    let read = keyway("read -d").arg(&key).arg(scratch.path("none"));
    read.fails(4).says("none does not exist or access denied.");
    // Standard input cannot carry both.
    let write = keyway("write -d -").arg(&volume).stdin("secret");
    write
        .fails(1)
        .says("Standard input is the data, so the passphrase cannot come from it too; use --key-file.");
    assert!(fs::read(&volume).unwrap() == before);
    assert_eq!(names(&scratch), all);
}

#[test]
fn an_output_file_is_private_complete_and_never_over_another() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let plain = random(9, 300_000);
    let volume = volume_of(&scratch, &plain, &key, "--sector-size 512");
    let output = scratch.file("output", "precious");
    let read = || keyway("read -d").arg(&key).arg(&volume).arg("-o").arg(&output);

    read().fails(5).says("output already exists; --force replaces it.");
    assert_eq!(fs::read(&output).unwrap(), b"precious");
    read().arg("--force").ok().quiet();
    let bytes = fs::read(&output).unwrap();
    assert!(bytes[..300_000] == plain, "the content");
    assert!(bytes[300_000..] == [0; 32], "filled up to a whole sector");
    assert_eq!(fs::metadata(&output).unwrap().permissions().mode() & 0o777, 0o600);

    let full = keyway("read -d").arg(&key).arg(&volume).args("-o /dev/full");
    full.fails(1).says("Cannot write /dev/full at byte 0: no space is left; free some and try again.");
    let missing = keyway("read -d").arg(&key).arg(&volume).arg("-o").arg(scratch.path("no/such"));
    missing.fails(4).says("The directory of");
}

#[test]
fn a_volume_that_was_cut_off_is_an_error_with_its_place() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let volume = volume_of(&scratch, &random(10, 1 << 20), &key, "");
    let file = fs::File::options().write(true).open(&volume).unwrap();
    file.set_len((16 << 20) + 5000).unwrap();
    assert_eq!(plaintext(&volume, &key).len(), 4096, "what is not a whole sector is not there");
    file.set_len(8 << 20).unwrap();
    let outcome = keyway("read -d").arg(&key).arg(&volume).fails(1);
    outcome.says("volume is not a valid LUKS device: truncated: needs 16777216 bytes, has 8388608.");
}

#[test]
fn detached_headers_serve_too() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let data = scratch.sized("data", 1 << 20);
    let header = scratch.path("header");
    let format = cryptsetup("luksFormat -q").args(CHEAP).arg("--header").arg(&header);
    format.arg(&data).arg(&key).ok();
    let detached = |verb| keyway(verb).arg("-d").arg(&key).arg("--header").arg(&header).arg(&data);
    detached("write").stdin(random(12, 1 << 20)).ok().quiet();
    assert!(detached("read").ok().stdout == random(12, 1 << 20));
    assert!(fs::read(&data).unwrap() != random(12, 1 << 20));
}

#[test]
fn a_volume_is_not_replaced_by_its_own_plaintext() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let volume = volume_of(&scratch, &random(20, 65536), &key, "");
    let link = scratch.path("link");
    fs::hard_link(&volume, &link).unwrap();
    for output in [&volume, &link] {
        let read = keyway("read --force -d").arg(&key).arg(&volume).arg("-o").arg(output);
        read.fails(1).says("volume is an input of this command; name another file.");
        assert!(plaintext(output, &key) == random(20, 65536));
    }
    // Nor is its key.
    let read = keyway("read --force -d").arg(&key).arg(&volume).arg("-o").arg(&key);
    read.fails(1).says("key is an input of this command; name another file.");
    assert_eq!(fs::read(&key).unwrap(), b"secret");
}

/// The result could not be opened, nor its source recovered.
#[test]
fn nothing_that_is_read_is_replaced() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let seed = scratch.file("seed", random(23, 32));
    let content = random(22, 65536);
    let volume = volume_of(&scratch, &content, &key, "");
    let raw = scratch.file("raw", &content);
    let tries = [
        keyway("build -q --force -d").arg(&key).args(CHEAP).arg(&raw).arg(&key),
        keyway("build -q --force --reproducible").arg(&seed).arg("-d").arg(&key).arg(&raw).arg(&seed),
        keyway("copy -q --force --new-keyfile")
            .arg(&key)
            .args(CHEAP)
            .arg("-d")
            .arg(&key)
            .arg(&volume)
            .arg(&key),
        keyway("copy -q --force --to raw -d").arg(&key).arg(&volume).arg(&volume),
        keyway("copy -q --force --to raw -d").arg(&key).arg(&volume).arg(&key),
    ];
    for run in tries {
        run.fails(1).says("is an input of this command; name another file.");
        assert!(fs::read(&key).unwrap() == b"secret" && fs::read(&seed).unwrap() == random(23, 32));
        assert!(plaintext(&volume, &key) == content);
    }
    // The finished volume replaces its image: that is what --force means.
    keyway("build -q --force -d").arg(&key).args(CHEAP).arg(&raw).arg(&raw).ok();
    assert!(plaintext(&raw, &key) == content);
}

/// Continuing to write would extend the file again, with a gap in between.
#[test]
fn a_device_that_ends_before_its_data_is_refused() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let volume = volume_of(&scratch, &random(21, 1 << 20), &key, "");
    fix_segment_size(&volume, 1 << 20);
    assert!(plaintext(&volume, &key) == random(21, 1 << 20));
    let short = (16 << 20) + 4096;
    fs::OpenOptions::new().write(true).open(&volume).unwrap().set_len(short).unwrap();
    let line = "ends at byte 16781312, but its header describes data up to byte 17825792.";
    keyway("read -d").arg(&key).arg(&volume).fails(4).says(line);
    keyway("write --offset 8K -d").arg(&key).arg(&volume).stdin(random(22, 4096)).fails(4).says(line);
    assert_eq!(fs::metadata(&volume).unwrap().len(), short);
}

/// Gives the data segment a fixed length, in both header copies.
fn fix_segment_size(volume: &Path, bytes: u64) {
    let storage = Arc::new(File::open_rw(volume).unwrap());
    let luks = Luks::open(storage.clone(), Access::Read).unwrap();
    let Header::Luks2 { binary, metadata } = luks.header() else { panic!("not LUKS2") };
    let json = String::from_utf8(metadata.to_json()).unwrap();
    assert_eq!(json.matches(r#""size":"dynamic""#).count(), 1, "{json}");
    let json = json.replace(r#""size":"dynamic""#, &format!(r#""size":"{bytes}""#));
    for (copy, offset) in [(Copy::Primary, 0), (Copy::Secondary, binary.size.bytes().0)] {
        let copy = binary.as_copy(copy, [7; 64]).copy_to_bytes(json.as_bytes()).unwrap();
        storage.write_at(&copy, offset).unwrap();
    }
}
