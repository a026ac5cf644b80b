//! `build` of a directory.

use keyway_tests::{Scratch, keyway, need, peer, random};
use std::fs;

/// Until `build` can do it itself, it says the lines that do, and they work.
#[test]
fn a_directory_is_refused_with_the_line_that_makes_an_image() {
    need!("mke2fs", "e2fsck", "sh");
    let scratch = Scratch::new();
    let folder = scratch.path("my rootfs/deep");
    fs::create_dir_all(&folder).unwrap();
    // More files than a small file system has inodes by default, and one that fills blocks.
    for number in 0..3000 {
        fs::write(folder.join(format!("{number}")), "x").unwrap();
    }
    fs::write(folder.join("large"), random(1, 9_000_001)).unwrap();
    let program = fs::canonicalize(keyway_tests::peers::program()).unwrap();
    let key = scratch.file("key", "secret");
    let refused = keyway("build").arg("my rootfs/").arg("out.luks").directory(scratch.root()).fails(4);
    let refused = refused.says("my rootfs/ is a directory; an image, a device or a pipe is needed.");
    let said = refused.errors();
    let line = said.split("Make an image of it first: ").nth(1).expect("a line").trim().trim_end_matches('.');
    assert!(line.starts_with("mke2fs -q -t ext4 -d 'my rootfs/' 'my rootfs.ext4' "), "{line}");
    let cheap = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";
    let script = format!(
        "PATH=$PATH:/usr/sbin; keyway() {{ '{}' \"$@\" --key-file key {cheap}; }}; {line}",
        program.display()
    );
    peer("sh", "-c").arg(script).directory(scratch.root()).ok();
    let image = scratch.path("image");
    keyway("read --key-file").arg(&key).arg(scratch.path("out.luks")).arg("-o").arg(&image).ok();
    peer("e2fsck", "-fn").arg(&image).ok();
    keyway("build")
        .arg(scratch.root())
        .arg(scratch.path("x"))
        .fails(4)
        .says(" is a directory; ")
        .says("mke2fs");
}
