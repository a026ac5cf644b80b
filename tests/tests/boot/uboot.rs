//! U-Boot itself (Debian's, for QEMU's aarch64 board) finds Keyway's boot.scr, checks and starts
//! Keyway's FIT image, and refuses it with one byte changed.

use crate::aarch64::{self, BOARD, LINE, assert_unlocks, need_aarch64, prepared};
use keyway_tests::{Board, Scratch, keyway, need_that, peer};
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const U_BOOT: &str = "/usr/lib/u-boot/qemu_arm64/u-boot.bin";
/// Where the script loads the image: above the kernel, which is at the start of memory.
const PLACE: usize = 0x4800_0000;
/// An offset in the image that is inside the kernel.
const DAMAGED: usize = 4 << 20;

#[test]
fn the_fit_image_boots_and_a_damaged_one_does_not() {
    need_aarch64!();
    need_that!(Path::new(U_BOOT).exists(), "u-boot-qemu is not installed");
    let scratch = Scratch::new();
    let files = scratch.path("boot");
    fs::create_dir(&files).unwrap();
    let byte = fit_image(&scratch, &files.join("image.itb"));
    let script = scratch.file("script", script(byte));
    keyway("boot script --arch arm64").arg(script).arg("-o").arg(files.join("boot.scr")).ok();
    let (disk, volume) = (boot_disk(&scratch, &files), aarch64::volume(&scratch));
    let mut console = board().disk(&disk).disk(&volume).start();
    console.expect("Found U-Boot script /boot.scr");
    console.expect("'kernel-1'").expect("sha256 error!").expect("Bad Data Hash").expect("DAMAGED=refused");
    for image in ["'kernel-1'", "'ramdisk-1'", "'fdt-1'"] {
        console.expect(image).expect("Verifying Hash Integrity ... sha256+ OK");
    }
    console.expect("Starting kernel ...");
    assert_unlocks(console);
}

fn board() -> Board {
    Board::new("qemu-system-aarch64", &format!("{BOARD} -bios {U_BOOT}"))
}

/// Builds a FIT image from the kernel, an initramfs that unlocks the root, and the machine's own
/// device tree. Returns the byte at [`DAMAGED`].
fn fit_image(scratch: &Scratch, out: &Path) -> u8 {
    let tree = scratch.path("virt.dtb");
    // Dumped with the boot loader: the machine then has other devices.
    let dump = format!("{BOARD} -bios {U_BOOT} -display none -M virt,dumpdtb={}", tree.display());
    peer("qemu-system-aarch64", &dump).ok();
    let made =
        keyway("boot fit --kernel").arg(prepared("Image")).arg("--ramdisk").arg(aarch64::initramfs(scratch));
    made.arg("--dtb").arg(tree).arg("-o").arg(out).ok();
    fs::read(out).unwrap()[DAMAGED]
}

/// Loads the image twice, from the device that the script came from.
fn script(byte: u8) -> String {
    let load = format!("load ${{devtype}} ${{devnum}}:${{distro_bootpart}} {PLACE:#x} image.itb");
    format!(
        "setenv bootargs {LINE}
{load}
mw.b {:#x} {:#x}
if bootm {PLACE:#x}; then true; else echo DAMAGED=refused; fi
{load}
bootm {PLACE:#x}
",
        PLACE + DAMAGED,
        !byte
    )
}

/// A disk with one ext4 partition that contains these files.
fn boot_disk(scratch: &Scratch, files: &Path) -> PathBuf {
    let path = scratch.path("boot-disk");
    let mut disk = fs::File::create(&path).unwrap();
    disk.set_len(PARTITION + FILE_SYSTEM).unwrap();
    let offset = format!("-q -t ext4 -E root_owner=0:0,offset={PARTITION} -d");
    peer("mke2fs", &offset).arg(files).arg(&path).arg(format!("{}k", FILE_SYSTEM / 1024)).ok();
    // The partition table of PCs: a bootable Linux partition with its first sector and sector
    // count; cylinder addresses are unused.
    let mut entry = [0x80, 0, 0, 0, 0x83, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    entry[8..12].copy_from_slice(&u32::try_from(PARTITION / 512).unwrap().to_le_bytes());
    entry[12..].copy_from_slice(&u32::try_from(FILE_SYSTEM / 512).unwrap().to_le_bytes());
    for (place, bytes) in [(446, &entry[..]), (510, &[0x55, 0xaa])] {
        disk.seek(SeekFrom::Start(place)).unwrap();
        disk.write_all(bytes).unwrap();
    }
    path
}

/// The offset of the partition.
const PARTITION: u64 = 1 << 20;
/// The size of the partition.
const FILE_SYSTEM: u64 = 95 << 20;
