//! `keyway xray` on images that Debian's own program makes.

use crate::need_machine;
use keyway_tests::vm::prepared;
use keyway_tests::{Scratch, keyway, need, peers::peer};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Debian's own program makes the images: as it is set up when it is installed, and with modules that were asked for.
#[test]
fn an_image_of_mkinitramfs() {
    need_machine!();
    need!("mkinitramfs", "unshare", "zstd");
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 20 << 20);
    let build = "-q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -c serpent-xts-plain64 -s 512";
    keyway("luksFormat").args(build).arg(&volume).stdin("x\n").ok();
    let xray = |image: &Path| keyway("xray").arg(&volume).arg("--initramfs").arg(image);

    let Some(whole) = mkinitramfs(&scratch, "whole", "dm-crypt\nxts\nserpent_generic\n") else {
        keyway_tests::skip::record(
            keyway_tests::test_name!(),
            "no user may mount a private /lib/modules here",
        );
        return;
    };
    // The release is in the image's own words.
    let release = modules_of(&whole, "modules.builtin").first().cloned().unwrap_or_default();
    let release = release.split('/').rev().nth(1).expect("lib/modules/RELEASE/modules.builtin").to_owned();
    xray(&whole).ok().says("It has all that this needs").says(&release).says("dm_crypt");
    let usual = mkinitramfs(&scratch, "usual", "").expect("it could before");
    let run = xray(&usual).fails(1).says("It cannot map this volume");
    // What xray misses is what is not there, by Debian's own listing.
    for (module, need) in [("dm-crypt", "dm_crypt"), ("dm-mod", "dm_mod"), ("serpent_generic", "serpent")] {
        let there = !modules_of(&usual, &format!("/{module}.ko")).is_empty();
        assert_eq!(run.text().contains(&format!("MISSING {need}")), !there, "{module}: {run:?}");
        assert!(!modules_of(&whole, &format!("/{module}.ko")).is_empty(), "{module}");
    }
}

/// An image of Debian's kernel, with these modules beside those that it takes by itself. mkinitramfs looks for the kernel where systems
/// have theirs: it runs as the root of a namespace of its own, where an overlay puts it there. `None` where nobody may do that.
fn mkinitramfs(scratch: &Scratch, name: &str, modules: &str) -> Option<PathBuf> {
    let (image, work) = (scratch.path(name), scratch.path(&format!("{name}.work")));
    for directory in ["upper", "inner", "config/conf.d", "config/hooks", "config/scripts"] {
        fs::create_dir_all(work.join(directory)).expect("a directory");
    }
    fs::write(work.join("config/modules"), modules).expect("a file");
    let mount = "lib=$(readlink -f /lib)
        mount -t overlay keyway -o lowerdir=$lib,upperdir=$1/upper,workdir=$1/inner $lib
        mkdir -p $lib/modules
        mount --bind $2/lib/modules $lib/modules
        mount --bind $2/boot /boot";
    let make = "cp /etc/initramfs-tools/initramfs.conf $1/config/
        mkinitramfs -d $1/config -o $3 $(ls $2/lib/modules)";
    let run = |script: &str| {
        let unshare = peer("unshare", "--map-root-user --mount sh -euc").arg(script).arg("sh");
        unshare.arg(&work).arg(prepared("kernel")).arg(&image)
    };
    if run(mount).outcome().code != Some(0) {
        return None;
    }
    // The overlay's files are another's when it is mounted again.
    for directory in ["upper", "inner"] {
        peer("rm", "-rf").arg(work.join(directory)).ok();
        fs::create_dir(work.join(directory)).expect("a directory");
    }
    run(&format!("{mount}\n{make}")).limit(Duration::from_secs(300)).ok();
    Some(image)
}

/// Files in an image whose path holds `part`, as Debian's lsinitramfs lists them.
fn modules_of(image: &Path, part: &str) -> Vec<String> {
    let listed = peer("lsinitramfs", "").arg(image).ok().text();
    listed.lines().filter(|line| line.contains(part)).map(str::to_owned).collect()
}
