//! Which verb takes which options, and what `boot check` says of an image without modules.

use keyway_tests::{Scratch, keyway};

/// A kernel that has everything built in needs no modules: the image is judged by what it holds.
#[test]
fn an_image_without_modules_says_so() {
    let scratch = Scratch::new();
    let (volume, image) = (scratch.sized("volume", 32 << 20), scratch.path("image"));
    keyway("luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000").arg(&volume).stdin("secret").ok();
    keyway("boot initramfs --modules none --volume /dev/sda2 -o").arg(&image).ok();
    keyway("boot check --loader initramfs --image")
        .arg(&image)
        .arg(&volume)
        .ok()
        .says("image  for an unknown kernel\n")
        .says("unknown dm_crypt")
        .says("ok      keyway\n")
        .says("It holds no kernel modules: its kernel must have all of this built in.");
}

#[test]
fn an_option_of_another_verb_is_refused() {
    for (line, refused) in [
        ("boot check disk.img other.img", "boot check takes one file: unexpected operand other.img."),
        ("boot initramfs one two -o image", "boot initramfs takes one file: unexpected operand two."),
        (
            "boot initramfs --modules none --arch arm64 -o image",
            "boot initramfs takes no --arch, which is for boot fit, boot script. An initramfs is for the architecture of its programs: --program FILE names a keyway for another one.",
        ),
        (
            "boot check --list disk.img",
            "boot check takes no --list, which is for boot initramfs, boot fit, boot script, boot uki.",
        ),
        (
            "boot script --kernel k text -o image",
            "boot script takes no --kernel, which is for boot initramfs, boot fit, boot uki, boot check.",
        ),
        ("boot uki --volume /dev/sda2 -o image", "boot uki takes no --volume, which is for boot initramfs."),
        ("boot fit --loader grub -o image", "boot fit takes no --loader, which is for boot check."),
    ] {
        let scratch = Scratch::new();
        keyway(line).directory(scratch.root()).fails(1).says(refused);
        assert!(!scratch.path("image").exists(), "{line}");
    }
}
