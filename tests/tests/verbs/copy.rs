//! `copy`: between raw and LUKS, and from key to key.

use crate::{CHEAP, allocated, assert_sound, ext4, len, names, plaintext, volume_of};
use keyway_tests::{Scratch, cryptsetup, keyway, need, random};
use std::fs;

#[test]
fn a_new_key_and_a_new_cipher_for_the_same_plaintext() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let (old, new) = (scratch.file("old-key", "old"), scratch.file("new-key", "new"));
    let source = scratch.sized("source", 20 << 20);
    let format =
        cryptsetup("luksFormat -q --type luks1 --pbkdf-force-iterations 1000 -c aes-cbc-essiv:sha256 -s 256");
    format.arg(&source).arg(&old).ok();
    keyway("write -d").arg(&old).arg(&source).stdin(random(1, 18 << 20)).ok();
    let before = fs::read(&source).unwrap();

    for (options, header) in [("", 16 << 20), ("--to luks1", 2 << 20), ("--sector-size 512 -s 256", 16 << 20)]
    {
        let copy = scratch.path("copy");
        let run = keyway("copy --force").args(CHEAP).args(options).arg("-d").arg(&old).arg("--new-keyfile");
        run.arg(&new).arg(&source).arg(&copy).ok().quiet();
        assert_eq!(len(&copy), header + (18 << 20), "{options}");
        cryptsetup("open --test-passphrase -d").arg(&new).arg(&copy).ok();
        cryptsetup("open --test-passphrase -d").arg(&old).arg(&copy).fails(2);
        assert!(plaintext(&copy, &new) == random(1, 18 << 20), "{options}");
    }
    assert!(fs::read(&source).unwrap() == before);

    // Without key files: two lines of standard input.
    let run = keyway("copy --force").args(CHEAP).arg(&source).arg(scratch.path("copy"));
    run.stdin("old\nnew\n").ok().quiet();
    cryptsetup("open --test-passphrase").arg(scratch.path("copy")).stdin("new").ok();
}

#[test]
fn a_volume_is_not_replaced_by_its_copy() {
    let scratch = Scratch::new();
    let (old, new) = (scratch.file("old-key", "old"), scratch.file("new-key", "new"));
    let volume = volume_of(&scratch, &random(2, 1 << 20), &old, "");
    let run = keyway("copy --force").args(CHEAP).arg("-d").arg(&old).arg("--new-keyfile").arg(&new);
    let before = fs::read(&volume).unwrap();
    run.arg(&volume).arg(&volume).fails(1).says("is an input of this command; name another file.");
    assert!(fs::read(&volume).unwrap() == before);
}

#[test]
fn raw_to_luks_and_back_with_holes() {
    need!("mke2fs");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let image = ext4(&scratch, 128);
    let (volume, again, back) = (scratch.path("volume"), scratch.path("again"), scratch.path("back"));
    keyway("copy").args(CHEAP).arg("-d").arg(&key).arg(&image).arg(&volume).ok().quiet();
    let run = keyway("copy").args(CHEAP).arg("-d").arg(&key).arg("--new-keyfile").arg(&key);
    run.arg(&volume).arg(&again).ok().quiet();
    assert!(allocated(&again) < 64 << 20, "holes of the volume stay holes");
    keyway("copy --to raw -d").arg(&key).arg(&again).arg(&back).ok().quiet();
    assert!(fs::read(&back).unwrap() == fs::read(&image).unwrap());
    assert!(allocated(&back) < 64 << 20, "and are holes of the raw copy");
    assert_sound(&back);

    let seen = scratch.path("seen");
    keyway("copy --to raw --fill -d").arg(&key).arg(&again).arg(&seen).ok().quiet();
    assert!(fs::read(&seen).unwrap() == plaintext(&again, &key), "as the kernel sees it");
    assert_sound(&seen);
}

#[test]
fn a_detached_header_is_the_sources() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let (data, header, copy) = (scratch.sized("data", 1 << 20), scratch.path("header"), scratch.path("copy"));
    let format = cryptsetup("luksFormat -q").args(CHEAP).arg("--header").arg(&header);
    format.arg(&data).arg(&key).ok();
    let detached =
        |verb| keyway(verb).args(CHEAP).arg("-d").arg(&key).arg("--header").arg(&header).arg(&data);
    keyway("write -d").arg(&key).arg("--header").arg(&header).arg(&data).stdin(random(6, 1 << 20)).ok();
    detached("copy").arg("--new-keyfile").arg(&key).arg(&copy).ok();
    assert!(plaintext(&copy, &key) == random(6, 1 << 20));
    assert_eq!(len(&copy), (16 << 20) + (1 << 20));
}

#[test]
fn an_image_may_be_smaller_than_a_header() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let (raw, volume) = (scratch.random_file("raw", 5, 1000), scratch.path("volume"));
    keyway("copy").args(CHEAP).arg("-d").arg(&key).arg(&raw).arg(&volume).ok();
    assert!(plaintext(&volume, &key)[..1000] == random(5, 1000));
}

#[test]
fn refusals_change_nothing() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let raw = scratch.random_file("raw", 3, 65536);
    let volume = volume_of(&scratch, &random(4, 65536), &key, "");
    // A LUKS2 header whose checksums are wrong is not encrypted again as an image.
    let damaged = scratch.copy(&volume, "damaged");
    let mut bytes = fs::read(&damaged).unwrap();
    for copy in [0, 16384] {
        bytes[copy + 5000] ^= 1;
    }
    fs::write(&damaged, &bytes).unwrap();
    let before = names(&scratch);
    let copy = |options: &str| keyway("copy -d").arg(&key).args(CHEAP).args(options);

    copy("--to raw").arg(&raw).arg(scratch.path("out")).fails(1).says("raw is not a LUKS volume");
    copy("").arg(&damaged).arg(scratch.path("out")).fails(1).says("damaged is not a valid LUKS device");
    copy("--to luks3")
        .arg(&raw)
        .arg(scratch.path("out"))
        .fails(1)
        .says("one of luks2, luks1, veracrypt, raw is needed.");
    copy("").arg(&raw).arg(&volume).fails(5).says("volume already exists; --force replaces it.");
    copy("").arg(scratch.path("none")).arg(scratch.path("out")).fails(4).says("none does not exist");
    assert_eq!(names(&scratch), before);
    assert!(plaintext(&volume, &key) == random(4, 65536));
}
