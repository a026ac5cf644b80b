//! GRUB's cryptodisk: lists and reads the files of an ext4 inside volumes created by Keyway, LUKS1
//! and LUKS2 with PBKDF2. (GRUB 2.06 to 2.12 have no Argon2.)

use keyway_tests::{Run, Scratch, assert_same_bytes, keyway, need, peer, random};
use std::fs::{create_dir, read};
use std::path::Path;

#[test]
fn grub_reads_files_of_luks1() {
    need!("grub-fstest", "mke2fs");
    reads_files("--type luks1 --pbkdf-force-iterations 1000 -c aes-xts-plain64 -s 512 -h sha256");
    reads_files("--type luks1 --pbkdf-force-iterations 1000 -c aes-cbc-essiv:sha256 -s 256 -h sha512");
    reads_files("--type luks1 --pbkdf-force-iterations 1000 -c aes-cbc-plain64 -s 128 -h sha1");
}

#[test]
fn grub_reads_files_of_luks2() {
    need!("grub-fstest", "mke2fs");
    let cheap = "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000";
    reads_files(&format!("{cheap} -h sha256 --sector-size 512"));
    reads_files(&format!("{cheap} -h sha512 --sector-size 4096"));
    reads_files(&format!(
        "{cheap} -c aes-cbc-essiv:sha256 -s 256 --sector-size 512 --luks2-metadata-size 64k"
    ));
}

fn reads_files(options: &str) {
    eprintln!("{options}");
    let scratch = Scratch::new();
    let kernel = random(41, 700_001);
    let files = scratch.path("files");
    create_dir(&files).and_then(|()| create_dir(files.join("boot"))).unwrap();
    std::fs::write(files.join("boot/vmlinuz"), &kernel).unwrap();
    std::fs::write(files.join("grub.cfg"), "set timeout=0\n").unwrap();
    let image = scratch.path("ext4");
    peer("mke2fs", "-q -t ext4 -b 4096 -d").arg(&files).arg(&image).arg("12M").ok();
    let key = scratch.file("key", "correct horse battery staple");
    let volume = scratch.path("volume.luks");
    keyway("build").args(options).arg("--key-file").arg(&key).arg(&image).arg(&volume).ok();

    grub(&volume).args("ls (crypto0)/").ok().says("grub.cfg").says("boot/");
    let copied = scratch.path("copied");
    grub(&volume).args("cp (crypto0)/boot/vmlinuz").arg(&copied).ok();
    assert_same_bytes("read by GRUB", &read(&copied).unwrap(), "original", &kernel);
    grub(&volume).args("cmp (crypto0)/grub.cfg").arg(files.join("grub.cfg")).ok();
}

/// The passphrase comes from a prompt; GRUB wants the image by its absolute path.
fn grub(volume: &Path) -> Run {
    peer("grub-fstest", "-C").arg(volume).stdin("correct horse battery staple\n")
}
