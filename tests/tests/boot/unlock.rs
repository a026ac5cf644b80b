//! Debian's kernel with an initramfs built by Keyway: prompts on the serial console, opens the
//! root, and reaches the real init there.

use crate::root::{self, PASSPHRASE};
use crate::uki;
use keyway_tests::console::FIRMWARE;
use keyway_tests::peers::{libraries, peer};
use keyway_tests::vm::{is_prepared, prepared};
use keyway_tests::{Board, Console, Scratch, keyway, need, need_that};
use std::fs;
use std::path::Path;

const BUSYBOX: &str = "/bin/busybox";
const UUID: &str = "0a1b2c3d-0000-4000-8000-0123456789ab";
const QUIET: &str = "console=ttyS0 no_timer_check panic=-1 quiet cryptomgr.notests=1";

/// Starts the kernel with this initramfs and these disks.
fn booted(initramfs: &Path, disks: &[&Path], line: &str) -> Console {
    let board = Board::pc().kernel(&prepared("vmlinuz")).initrd(initramfs).append(&format!("{QUIET} {line}"));
    disks.iter().fold(board, |board, disk| board.disk(disk)).start()
}

/// Skips the test if no machine can be started.
macro_rules! need_machine {
    () => {
        need!("busybox", "mke2fs", "qemu-system-x86_64");
        need_that!(is_prepared(), "the virtual machine's kernel was not fetched (./dev test vm)");
    };
}

/// An image of nothing but keyway and the kernel's modules switches to the root by itself.
#[test]
fn a_whole_image_asks_thrice_and_switches_to_the_root() {
    need_machine!();
    let scratch = Scratch::new();
    let ext4 = root::ext4(&scratch, Path::new(BUSYBOX));
    let volume = root::encrypted(&scratch, &ext4, "volume", &format!("--uuid {UUID}"));
    let image = scratch.path("image");
    root::boot_initramfs(&image)
        .args(&format!("--volume UUID={UUID} --modules"))
        .arg(prepared("kernel"))
        .ok();
    let mut console = booted(&image, &[&volume], "");
    for wrong in ["wrong", "correct horse"] {
        console.expect("Enter passphrase for /dev/vda: ").types(&format!("{wrong}\n"));
        console.expect("No key available with this passphrase.\n");
    }
    console.expect("Enter passphrase for /dev/vda: ").types(&format!("{PASSPHRASE}\n"));
    let said = console.ends();
    root::assert_reached(&said);
    assert!(!said.contains("wrong") && !said.contains("correct"), "what is typed stays unseen\n{said}");
    // The image is gone from memory: its file system was a tmpfs, which counts as shared memory.
    let left = said.lines().find_map(|line| line.strip_prefix("MEMORY=")?.parse::<u64>().ok());
    assert!(left.is_some_and(|kib| kib < 1024), "{said}");
}

/// A foreign image continues with its own /init once the root is open: here with a typed passphrase
/// and a header stored in the image. The command line names a map of the keyboard, which the image's loadkeys knows.
#[test]
fn an_image_of_others_goes_on_with_its_own_init() {
    need_machine!();
    need!("cpio", "gzip", "loadkeys", "ldd");
    let scratch = Scratch::new();
    let ext4 = root::ext4(&scratch, Path::new(BUSYBOX));
    let header = scratch.path("header");
    let volume = root::encrypted_apart(&scratch, &ext4, &header);
    with_loadkeys(&scratch.path(root::INITRAMFS_TREE));
    let (original, image) =
        (root::foreign_initramfs(&scratch, Path::new(BUSYBOX), "gzip -n"), scratch.path("image"));
    let make = root::boot_initramfs(&image).arg(&original).arg("--header").arg(&header);
    make.args("--volume /dev/vda --modules").arg(prepared("kernel")).ok();
    let mut console = booted(&image, &[&volume], "rd.vconsole.keymap=swapped");
    console.expect("Enter passphrase for /dev/vda: ").types(&format!("{PASSPHRASE}\n"));
    let said = console.ends();
    assert!(said.contains("ORIGINAL-INIT=/init\n") && said.contains("KEY-OF-Y=z\n"), "{said}");
    assert!(!said.contains("WARNING"), "{said}");
    root::assert_reached(&said);
}

/// kbd's program in an image, and a text for it, as dracut and mkinitcpio put them there.
fn with_loadkeys(tree: &Path) {
    let program = peer("sh", "-c").arg("command -v loadkeys").ok().text();
    let program = Path::new(program.trim()).to_owned();
    let own = (program.clone(), Path::new("/usr/bin/loadkeys").to_owned());
    for (from, to) in libraries(&program).into_iter().map(|path| (path.clone(), path)).chain([own]) {
        let to = tree.join(to.strip_prefix("/").unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
    let maps = tree.join("usr/share/keymaps/i386/qwertz");
    fs::create_dir_all(&maps).unwrap();
    fs::write(maps.join("swapped.map"), "keymaps 0-1\nkeycode 21 = z\nkeycode 44 = y\n").unwrap();
}

/// Which modules Adiantum needs is known from the volume's header alone; the key is in the image.
/// The kernel's command line names the root, as usual.
#[test]
fn adiantum_by_a_key_in_the_image() {
    need_machine!();
    let scratch = Scratch::new();
    let ext4 = root::ext4(&scratch, Path::new(BUSYBOX));
    let volume = root::encrypted(&scratch, &ext4, "volume", "-c xchacha12,aes-adiantum-plain64 -s 256");
    let image = scratch.path("image");
    let make = root::boot_initramfs(&image).arg("--volume").arg(&volume).arg("--embed-key-file");
    let make = make.arg(scratch.path("passphrase")).arg("--modules").arg(prepared("kernel"));
    make.ok().says("whoever can read the image can open the volume");
    // The machine uses another name for the volume.
    let said =
        booted(&image, &[&volume], "keyway.device=/dev/vda root=LABEL=system rw init=/bin/other-init").ends();
    root::assert_reached_through(&said, "/bin/other-init", "/dev/dm-0 ext4 rw");
    assert!(!said.contains("passphrase"), "nobody is asked\n{said}");
}

/// The disk is plugged in after the machine has waited for it for a while; the key is on a USB
/// stick with FAT.
#[test]
fn a_disk_that_comes_late_and_its_key_on_a_stick() {
    need_machine!();
    need!("cpio", "zstd");
    let scratch = Scratch::new();
    let ext4 = root::ext4(&scratch, Path::new(BUSYBOX));
    let volume = root::encrypted(&scratch, &ext4, "volume", &format!("--uuid {UUID}"));
    let stick = scratch.path("stick");
    fs::create_dir_all(stick.join("keys")).unwrap();
    fs::copy(scratch.path("passphrase"), stick.join("keys/root.key")).unwrap();
    let (original, image) =
        (root::foreign_initramfs(&scratch, Path::new(BUSYBOX), "zstd -q"), scratch.path("image"));
    root::boot_initramfs(&image).arg(&original).arg("--modules").arg(prepared("kernel")).ok();
    let line =
        format!("{QUIET} rd.luks.name={UUID}=root rd.luks.key=/keys/root.key:LABEL=KEYS keyway.wait=90");
    let board = Board::pc().kernel(&prepared("vmlinuz")).initrd(&image).append(&line);
    let fat =
        format!("driver=raw,file.driver=vvfat,file.fat-type=16,file.label=KEYS,file.dir={}", stick.display());
    let board = board.arg("-drive").arg(&format!("if=virtio,read-only=on,{fat}"));
    let late = format!("if=none,id=late,format=raw,snapshot=on,file={}", volume.display());
    let mut console = board.arg("-drive").arg(&late).start();
    console.expect(&format!("Waiting for UUID={UUID} (90 s at most)."));
    console.monitor("device_add virtio-blk-pci,drive=late");
    let said = console.ends();
    root::assert_reached(&said);
    assert!(!said.contains("passphrase"), "nobody is asked\n{said}");
}

#[test]
fn what_is_missing_is_said_on_the_console() {
    need_machine!();
    let scratch = Scratch::new();
    let ext4 = root::ext4(&scratch, Path::new(BUSYBOX));
    let volume = root::encrypted(&scratch, &ext4, "volume", "");
    let image = scratch.path("image");
    // Debian's kernel has NVMe built in, but not dm-crypt.
    root::boot_initramfs(&image).args("--volume /dev/nvme0n1 --modules none").ok();
    let board = Board::pc().kernel(&prepared("vmlinuz")).initrd(&image).append(QUIET);
    let disk = format!("if=none,id=disk,format=raw,snapshot=on,file={}", volume.display());
    let mut console = board.arg("-drive").arg(&disk).args("-device nvme,drive=disk,serial=1").start();
    console.expect(
        "This kernel has no dm-crypt: the module dm-crypt (dm_crypt.ko) is neither built in nor loaded;",
    );
    console.ends();

    let mut console = booted(&image, &[], "keyway.wait=3");
    console.expect("Waiting for /dev/nvme0n1 (3 s at most).");
    console.expect("root: /dev/nvme0n1 did not appear within 3 s.");
    console.ends();
}

/// One file that the firmware starts: kernel, command line and initramfs.
#[test]
fn a_unified_kernel_image_asks_and_switches_to_the_root() {
    need_machine!();
    need_that!(Path::new(uki::STUB).exists(), "systemd-boot-efi is not installed");
    need_that!(Path::new(FIRMWARE).exists(), "ovmf is not installed");
    let scratch = Scratch::new();
    let ext4 = root::ext4(&scratch, Path::new(BUSYBOX));
    let volume = root::encrypted(&scratch, &ext4, "volume", "");
    let (image, directory) = (scratch.path("image"), scratch.path("esp/EFI/BOOT"));
    fs::create_dir_all(&directory).unwrap();
    root::boot_initramfs(&image).args("--volume /dev/nvme0n1 --modules").arg(prepared("kernel")).ok();
    let make = keyway("boot uki --kernel").arg(prepared("vmlinuz")).arg("--ramdisk").arg(&image);
    make.arg("--cmdline").arg(QUIET).arg("-o").arg(directory.join("BOOTX64.EFI")).ok();
    let mut console = Board::pc()
        .firmware(&scratch, &scratch.path("esp"))
        .arg("-drive")
        .arg(&format!("if=none,id=disk,format=raw,snapshot=on,file={}", volume.display()))
        .args("-device nvme,drive=disk,serial=1")
        .start();
    for _ in 0..3 {
        console.expect("Enter passphrase for /dev/nvme0n1: ").types("wrong\n");
        console.expect("No key available with this passphrase.\n");
    }
    // Then it waits, and prompts again.
    console.expect("The next attempt is possible in 2 s.\n");
    console.expect("Enter passphrase for /dev/nvme0n1: ").types(&format!("{PASSPHRASE}\n"));
    root::assert_reached(&console.ends());
}
