//! Nothing can be started: the reason stays on the screen, and the user may try again.

use crate::root::{self, PASSPHRASE};
use keyway_tests::vm::{is_prepared, prepared};
use keyway_tests::{Board, Scratch, need, need_that};
use std::path::Path;

const UUID: &str = "0a1b2c3d-0000-4000-8000-0123456789ab";
const ABSENT: &str = "99999999-0000-4000-8000-0123456789ab";

/// The disk with the root is plugged in after the first try; a machine that reboots after a panic reboots then, with the
/// reason as its last line, on the other console as well.
#[test]
fn the_reason_stays_and_enter_tries_again() {
    need!("busybox", "mke2fs", "qemu-system-x86_64");
    need_that!(is_prepared(), "the virtual machine's kernel was not fetched (./dev test vm)");
    let scratch = Scratch::new();
    let ext4 = root::ext4(&scratch, Path::new("/bin/busybox"));
    let volume = root::encrypted(&scratch, &ext4, "volume", &format!("--uuid {UUID} --label root-disk"));
    let other =
        root::encrypted(&scratch, &ext4, "other", &format!("--uuid {}", UUID.replace("0123", "4567")));
    let image = scratch.path("image");
    let make = root::boot_initramfs(&image).args(&format!("--volume UUID={UUID} --modules"));
    make.arg(prepared("kernel")).args("--rootfstype ext4 --keymap none").ok();

    let board = Board::pc().kernel(&prepared("vmlinuz")).initrd(&image);
    let board = board.append("console=ttyS0 no_timer_check quiet cryptomgr.notests=1 keyway.wait=1");
    let late = format!("if=none,id=late,format=raw,snapshot=on,file={}", volume.display());
    let mut console = board.disk(&other).arg("-drive").arg(&late).start();
    let reason = format!("root: UUID={UUID} did not appear within 1 s.\n");
    for _ in 0..2 {
        console.expect(&reason).expect("These devices are there:\n");
        console
            .expect("  /dev/vda          40.0 MiB  crypto_LUKS  UUID=0a1b2c3d-0000-4000-8000-4567456789ab\n");
        console.expect("Enter: try again. r: reboot. o: power off.\n").types("\n");
    }
    console.expect("Enter: try again.").monitor("device_add virtio-blk-pci,drive=late").types("x\n");
    // A second may be too short for the kernel to find it.
    let mut tries = 0;
    while console.expect_one(&["Enter passphrase for /dev/vdb: ", "Enter: try again."]) == 1 {
        tries += 1;
        assert!(tries < 60, "the disk was never found");
        console.types("\n");
    }
    console.types(&format!("{PASSPHRASE}\n"));
    root::assert_reached(&console.ends());

    let board = Board::pc().kernel(&prepared("vmlinuz")).initrd(&image);
    let line = format!(
        "console=ttyS0 no_timer_check panic=2 quiet cryptomgr.notests=1 keyway.wait=1 keyway.device=UUID={ABSENT}"
    );
    let said = board.append(&line).start().ends();
    let reason = format!("root: UUID={ABSENT} did not appear within 1 s.");
    let mut last = said.trim_end().lines().rev();
    assert!(last.next().is_some_and(|line| line.ends_with("] reboot: Restarting system")), "{said}");
    assert_eq!(last.next(), Some(&*reason), "{said}");
    assert!(
        said.contains("The kernel has found no block device: a driver may be missing in the image.\n"),
        "{said}"
    );
    assert!(said.contains(&format!("] keyway: {reason}\n")), "not in the kernel's log\n{said}");
    assert!(!said.contains("Kernel panic"), "{said}");
}

/// What root= should have said.
#[test]
fn a_root_that_cannot_be_mounted_is_named_as_what_it_is() {
    need!("busybox", "mke2fs", "qemu-system-x86_64");
    need_that!(is_prepared(), "the virtual machine's kernel was not fetched (./dev test vm)");
    let scratch = Scratch::new();
    let ext4 = root::ext4(&scratch, Path::new("/bin/busybox"));
    let volume = root::encrypted(&scratch, &ext4, "volume", "");
    let image = scratch.path("image");
    let make = root::boot_initramfs(&image).arg("--modules").arg(prepared("kernel"));
    make.args("--rootfstype ext4 --keymap none").ok();
    for (root, reason) in [
        (
            "/dev/vda",
            "; it is a LUKS volume: rd.luks.name=UUID=NAME or \
             keyway.device= opens it, and root=/dev/mapper/NAME is what it holds.",
        ),
        (
            "zfs:AUTO",
            "root=zfs:AUTO is ZFS, whose pools its own tools import; an image of Keyway alone mounts only a \
             device: name one with root=, or wrap the distribution's own image.",
        ),
    ] {
        let line =
            format!("console=ttyS0 no_timer_check panic=-1 quiet cryptomgr.notests=1 root={root} rootwait");
        let board = Board::pc().kernel(&prepared("vmlinuz")).initrd(&image).append(&line).disk(&volume);
        let said = board.start().ends();
        assert!(said.lines().any(|line| line.ends_with(reason)), "{reason}\n{said}");
    }
}
