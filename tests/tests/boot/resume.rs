//! A machine that was suspended to disk wakes up: swap and root are volumes that Keyway opens, and what runs in the second
//! start is the process of the first.

use crate::root;
use crate::roots::{CONSOLE, encrypted, has, initramfs, is_prepared, key, uuid};
use keyway_tests::vm::prepared;
use keyway_tests::{Board, Scratch, need, need_that, peer};
use std::fs;
use std::path::{Path, PathBuf};

/// The swap is opened before the root, and nothing of the root is touched before the wake-up. The volume is named by its path,
/// and by the UUID of the swap on it.
#[test]
fn a_suspended_machine_wakes_up_from_an_encrypted_swap() {
    need!("busybox", "mke2fs", "mkswap", "qemu-system-x86_64");
    need_that!(is_prepared(), "Debian's kernel for real machines was not fetched (./dev test boot)");
    let scratch = Scratch::new();
    let disks = [
        encrypted(&scratch, &system(&scratch), "luks2", 0),
        encrypted(&scratch, &swap(&scratch), "luks2", 1),
    ];
    let image = initramfs(&key(&scratch, "luks2"), &scratch, "ext4");
    let start = |resume: &str| {
        let line = format!(
            "{CONSOLE} rd.luks.name={}=root rd.luks.name={}=swap rd.luks.key=/keyway/keys/root root=/dev/mapper/root \
             rw resume={resume} init=/sbin/sleeper",
            uuid(0),
            uuid(1)
        );
        let board = Board::pc().kernel(&prepared("full/vmlinuz")).initrd(&image).append(&line);
        disks.iter().fold(board, |board, disk| board.kept_disk(disk, None)).start().ends()
    };
    let asleep = start("/dev/mapper/swap");
    let said =
        asleep.lines().find_map(|line| line.strip_prefix("ASLEEP=")).unwrap_or_else(|| panic!("{asleep}"));
    assert!(!asleep.contains("AWAKE="), "{asleep}");
    let (awake, uuid) = (start("/dev/mapper/swap"), format!("UUID={SWAP}"));
    has(&awake, &format!("AWAKE={said}"));
    assert!(!awake.contains("BEGUN") && !awake.contains("starts anew"), "{awake}");
    has(&awake, "FILE=written before, written after");
    let again =
        awake.lines().find_map(|line| line.strip_prefix("ASLEEP=")).unwrap_or_else(|| panic!("{awake}"));
    let awake = start(&uuid);
    has(&awake, &format!("AWAKE={again}"));
    // What was taken up once is not taken up again.
    let anew = start(&uuid);
    has(&anew, "BEGUN");
    assert!(!anew.contains("AWAKE="), "{anew}");
}

fn swap(scratch: &Scratch) -> PathBuf {
    let swap = scratch.sized("swap", 256 << 20);
    peer("mkswap", "-q -U").arg(SWAP).arg(&swap).ok();
    swap
}

fn system(scratch: &Scratch) -> PathBuf {
    let (tree, image) = (root::tree(scratch, Path::new("/bin/busybox")), scratch.path("sleeper.ext4"));
    root::script(&tree.join("sbin/sleeper"), SLEEPER);
    peer("mke2fs", "-q -t ext4 -b 4096 -E root_owner=0:0 -d").arg(&tree).arg(&image).arg("24M").ok();
    let _ = fs::remove_dir_all(tree);
    image
}

const SWAP: &str = "5b0d5a3e-4f3c-4c39-9d0e-0c2b6f1a7e55";
const SLEEPER: &str = "#!/bin/busybox sh
export PATH=/bin
exec </dev/console >/dev/console 2>&1
echo BEGUN
busybox swapon /dev/mapper/swap
echo shutdown >/sys/power/disk
printf 'written before' >/file
for number in 1 2; do
    token=$number-$(busybox head -c 16 /dev/urandom | sha256sum | cut -d' ' -f1)
    echo ASLEEP=$token
    echo disk >/sys/power/state
    echo AWAKE=$token
    printf ', written after' >>/file
    echo FILE=$(cat /file)
done
poweroff -f
";
