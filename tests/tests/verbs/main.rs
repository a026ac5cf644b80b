//! Keyway's own verbs: read, write, build, copy and inspect, on volumes of the real cryptsetup and
//! file systems of the real e2fsprogs. The results are checked by cryptsetup, qemu-img, e2fsck and
//! debugfs.

mod build;
mod build_directory;
mod compare;
mod copy;
mod destructive;
mod foreign_text;
mod forged;
mod inputs;
mod inspect;
mod interrupted;
mod opal;
mod outputs;
mod planted;
mod policy;
mod range;
mod rekey;
mod repair;
mod sample;
mod seal;
mod seal_edits;
mod tried;

use keyway_tests::{Scratch, keyway, peer, random};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// PBKDF2 at its cheapest, for tests that are not about costs.
const CHEAP: &str = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";

/// A volume of `plain` under the passphrase in `key`, made by Keyway.
#[track_caller]
fn volume_of(scratch: &Scratch, plain: &[u8], key: &Path, options: &str) -> PathBuf {
    let source = scratch.file("volume-source", plain);
    let volume = scratch.path("volume");
    keyway("build --force").args(CHEAP).args(options).arg("-d").arg(key).arg(&source).arg(&volume).ok();
    fs::remove_file(source).unwrap();
    volume
}

/// The whole plaintext, by `keyway read`.
#[track_caller]
fn plaintext(volume: &Path, key: &Path) -> Vec<u8> {
    keyway("read").arg("-d").arg(key).arg(volume).ok().quiet().stdout
}

/// An ext4 file system of `mib` MiB with a file of random bytes in it, made by the real mke2fs.
#[track_caller]
fn ext4(scratch: &Scratch, mib: u64) -> PathBuf {
    let tree = scratch.path("tree");
    fs::create_dir_all(tree.join("etc")).unwrap();
    fs::write(tree.join("etc/hostname"), "keyway\n").unwrap();
    fs::write(tree.join("random"), random(11, 700_000)).unwrap();
    let image = scratch.sized("image", mib << 20);
    peer("mke2fs", "-q -F -t ext4 -d").arg(&tree).arg(&image).ok();
    image
}

/// Asserts that the real e2fsck finds no errors, and debugfs finds the files.
#[track_caller]
fn assert_sound(image: &Path) {
    peer("e2fsck", "-fn").arg(image).ok();
    let hostname = peer("debugfs", "-R").arg("cat etc/hostname").arg(image).ok();
    assert_eq!(hostname.text(), "keyway\n");
    assert!(peer("debugfs", "-R").arg("cat random").arg(image).ok().stdout == random(11, 700_000));
}

/// Bytes that a file takes on disk.
fn allocated(path: &Path) -> u64 {
    fs::metadata(path).unwrap().blocks() * 512
}

fn len(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

/// The names in the scratch directory.
fn names(scratch: &Scratch) -> Vec<String> {
    let entries = fs::read_dir(scratch.root()).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
