//! The same on aarch64, all of it emulated: Debian's kernel for it, a static keyway, and an
//! initramfs that contains only keyway and modules.

use crate::root::{self, PASSPHRASE};
use keyway_tests::{Board, Console, Scratch, vm};
use std::path::PathBuf;

/// The machine: every extension that QEMU supports, with pointer authentication that is fast to
/// emulate.
pub(crate) const BOARD: &str =
    "-M virt -cpu max,pauth-impdef=on -accel tcg,thread=multi -m 512 -smp 2 -nic none";
/// The kernel's command line.
pub(crate) const LINE: &str = "console=ttyAMA0 panic=-1 quiet cryptomgr.notests=1";
/// The volume's UUID, by which the image finds it: the order of disks is not fixed.
const UUID: &str = "5eedf00d-0000-4000-8000-00000000a64a";

/// Returns from the test, recording it as skipped, if no such machine is available.
macro_rules! need_aarch64 {
    () => {
        keyway_tests::need!("qemu-system-aarch64", "mke2fs");
        keyway_tests::need_that!(
            crate::aarch64::prepared("Image").exists(),
            "Debian's aarch64 kernel was not fetched (./dev test boot)"
        );
        keyway_tests::need_that!(
            crate::aarch64::program().exists(),
            "there is no keyway for aarch64 (./dev build aarch64)"
        );
    };
}
pub(crate) use need_aarch64;

/// A file that `tests/vm/prepare-aarch64` created.
pub(crate) fn prepared(name: &str) -> PathBuf {
    vm::prepared("aarch64").join(name)
}

/// The static program for the machine.
pub(crate) fn program() -> PathBuf {
    let named = std::env::var_os("KEYWAY_AARCH64").map(PathBuf::from);
    named.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../target/keyway-aarch64").into())
}

/// A root file system with the machine's busybox, encrypted.
pub(crate) fn volume(scratch: &Scratch) -> PathBuf {
    let image = root::ext4(scratch, &prepared("busybox"));
    root::encrypted(scratch, &image, "volume", &format!("--uuid {UUID}"))
}

/// A complete initramfs that unlocks it.
pub(crate) fn initramfs(scratch: &Scratch) -> PathBuf {
    let image = scratch.path("initramfs");
    let made = root::boot_initramfs_with(&program(), &image).arg("--modules").arg(prepared("kernel"));
    made.arg("--compress").arg("gzip").arg("--volume").arg(format!("UUID={UUID}")).ok();
    image
}

/// Answers the prompt, first with a wrong passphrase; waits for the end.
#[track_caller]
pub(crate) fn assert_unlocks(mut console: Console) {
    for (typed, answer) in [("wrong", "No key available with this passphrase."), (PASSPHRASE, "REAL-INIT=")] {
        console.expect("Enter passphrase for ").types(&format!("{typed}\n")).expect(answer);
    }
    root::assert_reached(&console.ends());
}

#[test]
fn a_typed_passphrase_reaches_the_real_init() {
    need_aarch64!();
    let scratch = Scratch::new();
    let volume = volume(&scratch);
    let board = Board::new("qemu-system-aarch64", BOARD).kernel(&prepared("Image"));
    assert_unlocks(board.initrd(&initramfs(&scratch)).append(LINE).disk(&volume).start());
}
