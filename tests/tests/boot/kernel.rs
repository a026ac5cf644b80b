//! The kernel itself unpacks the images that Keyway built: originals in every compression format,
//! with a program that runs before their own init. busybox stands in for the program here: its
//! `init` runs first and runs /etc/init.d/rcS.

use keyway_tests::timeouts;
use keyway_tests::vm::{is_prepared, prepared};
use keyway_tests::{Scratch, keyway, need, need_that, peer};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The original's own init, which has a second name.
const ORIGINAL: &str = "#!/bin/busybox sh
echo ORIGINAL=reached
/bin/busybox poweroff -f
";

/// The program's script instead: it looks around, then executes the original init.
const FIRST: &str = "#!/bin/busybox sh
exec >/dev/console 2>&1
/bin/busybox grep -q ORIGINAL= /bin/same && echo SAME=kept
echo INIT=$(/bin/busybox readlink /init)
echo CONFIG=$(/bin/busybox tail -n 1 /keyway/unlock.conf)
/bin/busybox mv /keyway/original-init /init
exec /init
";

fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A root with busybox and these two scripts, packed by the real cpio.
fn original(scratch: &Scratch) {
    let root = scratch.path("root");
    fs::create_dir_all(root.join("etc/init.d")).unwrap();
    fs::create_dir_all(root.join("bin")).unwrap();
    fs::create_dir_all(root.join("dev")).unwrap();
    fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
    script(&root.join("etc/init.d/rcS"), FIRST);
    script(&root.join("init"), ORIGINAL);
    fs::hard_link(root.join("init"), root.join("bin/same")).unwrap();
    let line = "find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 >../plain";
    peer("sh", "-c").arg(line).directory(&root).ok();
}

/// The console output of the kernel and its programs until power-off.
#[track_caller]
fn booted(initramfs: &Path) -> String {
    let qemu = peer(
        "qemu-system-x86_64",
        "-accel tcg,thread=multi -cpu max,-erms -m 512 -nodefaults -display none -no-reboot",
    );
    let qemu = qemu
        .args("-serial stdio -append")
        .arg("console=ttyS0 no_timer_check panic=-1 quiet")
        .arg("-kernel")
        .arg(prepared("vmlinuz"));
    qemu.arg("-initrd").arg(initramfs).limit(timeouts::MACHINE).ok().text()
}

#[test]
fn the_kernel_unpacks_both_and_the_original_init_is_reached() {
    need!("cpio", "zstd", "xz", "lz4", "bzip2", "gzip", "busybox", "qemu-system-x86_64");
    need_that!(is_prepared(), "the virtual machine's kernel was not fetched (./dev test vm)");
    let scratch = Scratch::new();
    original(&scratch);
    for (packer, options) in [
        ("cat", "--compress gzip"),
        ("gzip -n", ""),
        ("zstd -q", ""),
        ("xz --check=crc32", ""),
        ("lzma", ""),
        ("lz4 -l", "--compress none"),
        ("lz4 -l", "--compress gzip"),
        ("bzip2", ""),
    ] {
        let line = format!("{packer} <plain >image");
        peer("sh", "-c").arg(line).directory(scratch.root()).ok();
        let made = scratch.path("made");
        keyway("boot initramfs --force --program /bin/busybox --volume UUID=0815 -o")
            .arg(&made)
            .arg(scratch.path("image"))
            .args(options)
            .ok();
        let console = booted(&made);
        for line in ["SAME=kept", "INIT=/keyway/keyway", "CONFIG=root UUID=0815 none", "ORIGINAL=reached"] {
            assert!(console.contains(line), "{packer} {options}: {line} is missing in\n{console}");
        }
    }
}
