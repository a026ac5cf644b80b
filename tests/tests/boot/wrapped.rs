//! Images that the distributions' own programs make, wrapped: their udev, LVM and init go on behind Keyway. Machines are
//! as installers set them up, LVM on LUKS, here over two volumes with one passphrase.

use crate::lvm::physical;
use crate::root::{self, PASSPHRASE};
use crate::roots::{encrypted, uuid};
use keyway_tests::vm::{is_prepared, prepared};
use keyway_tests::{Board, Scratch, debian, need, need_that, peers::peer, skip, test_name};
use std::fs;
use std::path::{Path, PathBuf};

/// Skips the test if no machine can be started, or a program is missing.
macro_rules! need_machine {
    ($($program:literal),*) => {
        need!("busybox", "mke2fs", "mkswap", "qemu-system-x86_64", "lvm", "unshare" $(, $program)*);
        need_that!(is_prepared(), "the virtual machine's kernel was not fetched (./dev test vm)");
    };
}

/// Scripts, and crypttab in the image.
#[test]
fn debians_own_image_goes_on_to_a_root_on_lvm() {
    need_machine!("mkinitramfs", "zstd");
    need_that!(prepared("clevis/made").exists(), "Debian's cryptsetup was not fetched (./dev test boot)");
    let scratch = Scratch::new();
    let packages = scratch.path("packages");
    peer("cp", "-a").arg(prepared("clevis")).arg(&packages).ok();
    let table = ["one", "two"].iter().zip(0..);
    let table =
        table.map(|(name, number)| format!("{name} UUID={} none luks,discard,initramfs\n", uuid(number)));
    fs::write(packages.join("etc/crypttab"), table.collect::<String>()).unwrap();
    let original = debian::initramfs_beside(&scratch, "initrd.img", CIPHERS, &packages);
    let Some(said) = booted(&scratch, original, "root=/dev/mapper/my--vg-root") else {
        return skip::record(test_name!(), NO_NAMESPACE);
    };
    assert!(said.contains("Begin: Mounting root file system"), "{said}");
    reached(&said, "one");
    assert!(!said.contains("Please unlock disk"), "{said}");
}

/// With systemd, as RHEL's installer writes the kernel's command line.
#[test]
fn dracuts_image_goes_on_to_a_root_on_lvm() {
    need_machine!("bash", "cpio", "gzip");
    need_that!(prepared("dracut/made").exists(), "Debian's dracut was not fetched (./dev test boot)");
    let scratch = Scratch::new();
    let original = debian::dracut(&scratch, "initramfs.img", DRACUTS, &prepared("dracut"));
    let line = format!(
        "root=/dev/mapper/my--vg-root rd.luks.uuid=luks-{} rd.luks.uuid=luks-{} rd.lvm.lv=my-vg/root rhgb",
        uuid(0),
        uuid(1)
    );
    let Some(said) = booted(&scratch, original, &line) else {
        return skip::record(test_name!(), NO_NAMESPACE);
    };
    assert!(said.contains("initrd-switch-root.target"), "systemd is not what started it\n{said}");
    reached(&said, &format!("luks-{}", uuid(0)));
    assert!(!said.contains("Please enter passphrase"), "{said}");
}

/// Wraps the image, and types the passphrase when asked; returns the console.
fn booted(scratch: &Scratch, original: Option<PathBuf>, line: &str) -> Option<String> {
    let (original, image) = (original?, scratch.path("image"));
    root::boot_initramfs(&image).arg(&original).arg("--modules").arg(prepared("kernel")).ok();
    let system = fs::read(root::ext4(scratch, Path::new("/bin/busybox"))).unwrap();
    let line = format!("console=ttyS0 no_timer_check panic=-1 loglevel=3 ro {line}");
    let mut board = Board::pc().kernel(&prepared("vmlinuz")).initrd(&image).append(&line);
    for (number, part) in physical(scratch, "part", &system).iter().enumerate() {
        board = board.disk(&encrypted(scratch, part, "luks2", number));
    }
    let mut console = board.args("-m 1024").start();
    console.expect("Enter passphrase for /dev/vda: ").types(&format!("{PASSPHRASE}\n"));
    Some(console.ends())
}

/// The root is lvm2's, nobody was asked twice, and udev knows the mappings: so will that of the system, whose /run is the same.
#[track_caller]
fn reached(said: &str, first: &str) {
    root::assert_reached_through(said, "/sbin/init", "/dev/mapper/my--vg-root ext4 ro");
    assert_eq!(said.matches("Enter passphrase").count(), 1, "{said}");
    let told =
        |name: &str| said.lines().find_map(|line| line.strip_prefix(&format!("{name}="))).unwrap_or_default();
    let crypt = format!("dm-uuid-CRYPT-LUKS2-{}-{first}", uuid(0).replace('-', ""));
    for link in [&format!("dm-name-{first}"), &crypt, "dm-name-my--vg-root", "system", "my--vg-root"] {
        assert!(told("LINKS").split(' ').any(|found| found == link), "{link}: {}", told("LINKS"));
    }
    let mappings = told("MAPPED").split(' ').filter(|name| *name != "control").count();
    assert_eq!((mappings >= 3, told("KNOWN")), (true, &*mappings.to_string()), "{said}");
}

const NO_NAMESPACE: &str = "no user may mount a private /lib/modules here";
/// The hook finds no cipher's modules: the volumes are not open where the image is made.
const CIPHERS: &str = "dm-crypt\nxts\naes_generic\nalgif_skcipher\nalgif_hash\n";
const DRACUTS: &str =
    "systemd systemd-initrd dracut-systemd base rootfs-block kernel-modules dm crypt lvm udev-rules fs-lib";
