//! The small program for ramdisks: its size, its abilities, and its inclusion in images.

use keyway_tests::peers::CHEAP_ARGON2;
use keyway_tests::{Run, Scratch, keyway, need_that, peer};
use std::fs;
use std::path::{Path, PathBuf};

/// The program built by `./dev build ramdisk`.
fn small() -> Option<PathBuf> {
    std::env::var_os("KEYWAY_RAMDISK").map(PathBuf::from).filter(|path| path.exists())
}

fn run(program: &Path, line: &str) -> Run {
    peer(program.to_str().unwrap(), line)
}

#[test]
fn it_is_small_and_has_what_a_boot_needs() {
    need_that!(small().is_some(), NOT_BUILT);
    let small = small().unwrap();
    let scratch = Scratch::new();
    let bytes = fs::metadata(&small).unwrap().len();
    assert!(bytes < 6 << 20, "{bytes} bytes");

    let (key, volume) = (scratch.file("key", "secret"), scratch.sized("volume", 24 << 20));
    run(&small, "luksFormat -q").args(CHEAP_ARGON2).arg(&volume).arg(&key).ok();
    run(&small, "open --test-passphrase --key-file").arg(&key).arg(&volume).ok();
    run(&small, "luksDump").arg(&volume).ok().says("argon2id");
    run(&small, "unlock --dry-run --cmdline rd.luks.name=0815=root").ok().says("root UUID=0815 none");
    run(&small, "bench").fails(1).says("bench is not in this program, a small build for ramdisks");
    run(&small, "inspect nbds://localhost/x").fails(4).says("built without the feature \"tls\"");
    run(&small, "inspect https://localhost/x").fails(4).says("built without the feature \"remote\"");
    run(&small, "--help").ok().says("unlock").lacks("xray");
}

/// If it is beside the program that builds the image, it need not be named.
#[test]
fn images_get_it_by_themselves() {
    need_that!(small().is_some(), NOT_BUILT);
    let scratch = Scratch::new();
    let image = scratch.path("image");
    keyway("boot initramfs --modules none --volume UUID=0815 -o").arg(&image).ok();
    let bytes = fs::metadata(small().unwrap()).unwrap().len();
    keyway("boot initramfs --list").arg(&image).ok().says(&format!("{bytes}")).says("keyway/keyway");
}

const NOT_BUILT: &str =
    "the program for ramdisks takes minutes to build: KEYWAY_SLOW=1 ./dev test boot does it";
