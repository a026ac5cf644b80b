//! `compare`, and `build --verify`: whether a volume holds what an image holds.

use crate::{CHEAP, ext4, volume_of};
use keyway_tests::{Scratch, keyway, need, random};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

fn compare(options: &str, key: &Path, image: &Path, volume: &Path) -> keyway_tests::run::Run {
    keyway("compare").args(options).arg("-d").arg(key).arg(image).arg(volume)
}

/// Changes one byte of the volume's plaintext.
fn change(scratch: &Scratch, key: &Path, volume: &Path, at: u64) {
    let byte = keyway("read --length 1").args(&format!("--offset {at}")).arg("-d").arg(key).arg(volume).ok();
    let other = scratch.file("other", [!byte.stdout[0]]);
    keyway("write").args(&format!("--offset {at}")).arg("-d").arg(key).arg(volume).arg(&other).ok();
}

#[test]
fn a_volume_holds_what_it_was_made_from_until_a_byte_changes() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let plain = random(7, 1_000_000);
    let image = scratch.file("image", &plain);
    let volume = volume_of(&scratch, &plain, &key, "");
    let said = format!(
        "{} contains the content of {}: 976.6 KiB compared, and 448 zero bytes after it.\n",
        volume.display(),
        image.display()
    );
    assert_eq!(compare("", &key, &image, &volume).ok().text(), said);
    let piped = keyway("compare -d").arg(&key).arg("-").arg(&volume).stdin(&plain);
    piped
        .ok()
        .says("contains the content of standard input: 976.6 KiB compared, and 448 zero bytes after it.");
    // What follows is no part of the image, but no longer zeros.
    change(&scratch, &key, &volume, 1_000_000);
    compare("", &key, &image, &volume).ok().says("976.6 KiB compared; left out: 448 bytes after its end.");
    change(&scratch, &key, &volume, 1_000_000);

    let bytes_before = fs::read(&volume).unwrap();
    change(&scratch, &key, &volume, 999_999);
    change(&scratch, &key, &volume, 4095);
    let line = format!(
        "{} differs from {} in 2 bytes, the first at byte 4095.\n",
        volume.display(),
        image.display()
    );
    assert_eq!(compare("", &key, &image, &volume).fails(1).errors(), line);
    change(&scratch, &key, &volume, 999_999);
    change(&scratch, &key, &volume, 4095);
    assert!(fs::read(&volume).unwrap() == bytes_before);
    change(&scratch, &key, &volume, 0);
    compare("", &key, &image, &volume).fails(1).says("in 1 byte, the first at byte 0.");
}

#[test]
fn the_lengths_may_differ_in_one_direction() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let plain = random(8, 199_680);
    let (image, longer) = (scratch.file("image", &plain), scratch.file("longer", random(8, 300_000)));
    let roomy = volume_of(&scratch, &plain, &key, "--headroom 1M");
    compare("", &key, &image, &roomy).ok().says("195.0 KiB compared; left out: 1.0 MiB after its end.");
    let exact = volume_of(&scratch, &plain, &key, "--sector-size 512");
    compare("", &key, &longer, &exact)
        .fails(1)
        .says("is shorter than")
        .says("it has room for 199680 bytes of 300000.");
}

#[test]
fn free_space_is_left_out_whatever_the_source_stores_there() {
    need!("mke2fs");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let image = ext4(&scratch, 64);
    let volume = scratch.path("volume");
    keyway("build").args(CHEAP).arg("-d").arg(&key).arg(&image).arg(&volume).ok().says(&format!(
        "that the file system in {} marks as free were left unwritten: they read as noise. --fill encrypts them \
         too.",
        image.display()
    ));
    compare("", &key, &image, &volume).ok().says("free in its file system.");
    // A copy of the image in which nothing is a hole.
    let copy = scratch.file("copy", fs::read(&image).unwrap());
    compare("", &key, &copy, &volume).ok().says("free in its file system.");
    compare("--fill", &key, &image, &volume).fails(1).says("differs from");

    // A byte of the superblock is in use.
    change(&scratch, &key, &volume, 1024 + 0x78);
    compare("", &key, &image, &volume).fails(1).says("in 1 byte, the first at byte 1144.");
}

#[test]
fn holes_in_use_are_zeros_unless_they_were_kept() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let image = scratch.sized("image", 4 << 20);
    let file = fs::File::options().write(true).open(&image).unwrap();
    file.write_all_at(&random(9, 8192), 1 << 20).unwrap();
    for (options, equal) in
        [("", "4.0 MiB compared."), ("--keep-holes", "8.0 KiB compared; left out: 4.0 MiB in holes.")]
    {
        let volume = scratch.path("volume");
        let build = keyway("build --force").args(CHEAP).args(options).arg("-d").arg(&key);
        build.arg(&image).arg(&volume).ok();
        compare(options, &key, &image, &volume).ok().says(equal);
    }
    let volume = scratch.path("volume");
    compare("", &key, &image, &volume).fails(1).says("differs from");
    compare("--fill --keep-holes", &key, &image, &volume)
        .fails(1)
        .says("Options --fill and --keep-holes cannot be combined.");
}

#[test]
fn build_verifies_what_it_wrote() {
    need!("mke2fs");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let image = ext4(&scratch, 64);
    let volume = scratch.path("volume");
    let build = || keyway("build --verify --force -q").args(CHEAP).arg("-d").arg(&key);
    for options in ["", "--type luks1", "--fill", "--keep-holes", "--headroom 1M"] {
        let said = build().args(options).arg(&image).arg(&volume).ok();
        said.says(&format!("{} contains the content of {}: ", volume.display(), image.display()));
    }
    let before = fs::read(&volume).unwrap();
    build()
        .arg("-")
        .arg(&volume)
        .stdin("data")
        .fails(1)
        .says("standard input cannot be read twice: --verify needs a file or a device.");
    assert!(fs::read(&volume).unwrap() == before);
}
