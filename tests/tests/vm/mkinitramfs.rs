//! `keyway xray` on images built by Debian's own program.

use crate::need_machine;
use keyway_tests::{Scratch, debian, keyway, need, peers::peer};
use std::path::Path;

/// Images built by Debian's own program: with its default configuration, and with requested
/// modules.
#[test]
fn an_image_of_mkinitramfs() {
    need_machine!();
    need!("mkinitramfs", "unshare", "zstd");
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 20 << 20);
    let build = "-q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -c serpent-xts-plain64 -s 512";
    keyway("luksFormat").args(build).arg(&volume).stdin("x\n").ok();
    let xray = |image: &Path| keyway("xray").arg(&volume).arg("--initramfs").arg(image);

    let Some(whole) = debian::initramfs(&scratch, "whole", "dm-crypt\nxts\nserpent_generic\n") else {
        keyway_tests::skip::record(
            keyway_tests::test_name!(),
            "no user may mount a private /lib/modules here",
        );
        return;
    };
    // The release is taken from the image itself.
    let release = modules_of(&whole, "modules.builtin").first().cloned().unwrap_or_default();
    let release = release.split('/').rev().nth(1).expect("lib/modules/RELEASE/modules.builtin").to_owned();
    xray(&whole).ok().says("It has everything that this needs").says(&release).says("dm_crypt");
    let usual = debian::initramfs(&scratch, "usual", "").expect("it could before");
    let run = xray(&usual).fails(1).says("It cannot map this volume");
    // xray reports as missing exactly what is absent from Debian's own listing.
    for (module, need) in [("dm-crypt", "dm_crypt"), ("dm-mod", "dm_mod"), ("serpent_generic", "serpent")] {
        let there = !modules_of(&usual, &format!("/{module}.ko")).is_empty();
        assert_eq!(run.text().contains(&format!("MISSING {need}")), !there, "{module}: {run:?}");
        assert!(!modules_of(&whole, &format!("/{module}.ko")).is_empty(), "{module}");
    }
}

/// Files in an image whose path contains `part`, as Debian's lsinitramfs lists them.
fn modules_of(image: &Path, part: &str) -> Vec<String> {
    let listed = peer("lsinitramfs", "").arg(image).ok().text();
    listed.lines().filter(|line| line.contains(part)).map(str::to_owned).collect()
}
