//! "Boot a VM from an encrypted image through Keyway": the README's lines, typed verbatim at a
//! terminal.
//!
//! The image is a whole disk, encrypted: boot sector, GRUB, a partition with an ext4 that
//! holds kernel, RAM disk and root. QEMU's firmware boots it like any disk. The system on it
//! reads, writes, deletes, discards and powers off.

use crate::need_machine;
use keyway_tests::peers::{CHEAP_LUKS2_PBKDF2, program};
use keyway_tests::timeouts;
use keyway_tests::vm::Machine;
use keyway_tests::{Scratch, Terminal, assert_same_bytes, keyway, need, need_that, peer, programs, random};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

#[test]
fn the_lines_of_the_readme_boot_it() {
    need_machine!();
    need!("grub-mkimage", "busybox", "setsid");
    need_that!(Path::new(GRUB).join("boot.img").exists(), "GRUB for BIOS is not installed (grub-pc-bin)");
    let scratch = Scratch::new();
    fs::set_permissions(scratch.root(), Permissions::from_mode(0o700)).unwrap();
    let disk = disk(&scratch);
    let (key, volume) = (scratch.file("key", PASSPHRASE), scratch.path("vm.luks"));
    keyway("build -q").args(CHEAP_LUKS2_PBKDF2).arg("--key-file").arg(&key).arg(&disk).arg(&volume).ok();
    fs::remove_file(disk).unwrap();
    let room = || fs::metadata(&volume).unwrap().blocks() * 512;
    let full = room();

    let lines = lines_of_the_readme();
    assert!(lines.contains("qemu-system-x86_64") && lines.contains(" vm.luks "), "{lines}");
    let console = scratch.path("console");
    let path = headless(&scratch, &console);
    let script = format!("set -e\nexport PATH='{}':$PATH XDG_RUNTIME_DIR=$PWD\n{lines}", path.display());
    let typed = Terminal::start(&peer("sh", "-c").arg(script).directory(scratch.root()));
    let ending = typed.expect("Enter passphrase").type_secretly(PASSPHRASE);
    let ending = ending.limit(timeouts::MACHINE).finish();
    let said = fs::read_to_string(&console).unwrap_or_default();
    assert_eq!(ending.code, Some(0), "{}\n{said}", ending.screen);
    assert!(said.contains("the root is /dev/vda1 / ext4 rw"), "{}\n{said}", ending.screen);

    // Only the encrypted image is left, and it contains the machine's changes.
    let partition = scratch.path("partition");
    let read = keyway("read --key-file").arg(&key).arg(&volume).args(&format!("--offset {PARTITION_AT}"));
    read.arg("-o").arg(&partition).ok();
    peer("e2fsck", "-fn").arg(&partition).ok();
    let file = |name: &str| peer("debugfs", "-R").arg(format!("cat {name}")).arg(&partition).ok().stdout;
    let sum = peer("sha256sum", "").stdin(original()).ok().text();
    assert_eq!(String::from_utf8_lossy(&file("/data/sum")), sum);
    assert_same_bytes("written", &file("/data/copy"), "original", &original());
    peer("debugfs", "-R").arg("ls /data").arg(&partition).ok().says("copy").lacks("superfluous");
    assert!(room() + (16 << 20) < full, "{} of {full} bytes are left: nothing was discarded", room());
}

/// The block under the section's title.
fn lines_of_the_readme() -> String {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/RECIPES.md")).unwrap();
    let section = readme.split("## Boot a VM from an encrypted image through Keyway\n").nth(1).unwrap();
    section.split("```").nth(1).unwrap().to_owned()
}

/// A directory with the programs that the lines call: this Keyway, and QEMU without a window and
/// without the host's processor.
fn headless(scratch: &Scratch, console: &Path) -> PathBuf {
    let directory = scratch.path("bin");
    fs::create_dir(&directory).unwrap();
    symlink(fs::canonicalize(program()).unwrap(), directory.join("keyway")).unwrap();
    let qemu = directory.join("qemu-system-x86_64");
    let headless =
        "-accel tcg,thread=multi -cpu max,-erms -smp 2 -display none -monitor none -net none -no-reboot";
    let found = keyway_tests::skip::find("qemu-system-x86_64").unwrap();
    let line = format!("exec '{}' \"$@\" {headless} -serial 'file:{}'", found.display(), console.display());
    programs::script(&qemu, &format!("#!/bin/sh\n{line}\n"));
    directory
}

/// A disk with GRUB behind its boot sector and one partition.
fn disk(scratch: &Scratch) -> PathBuf {
    let image = scratch.path("ext4");
    peer("mke2fs", "-q -t ext4 -E root_owner=0:0 -d").arg(root(scratch)).arg(&image).arg("128M").ok();
    let partition = fs::read(&image).unwrap();
    let mut disk = fs::read(Path::new(GRUB).join("boot.img")).unwrap();
    disk[446..].fill(0);
    // Active flag, first sector, sector count (cylinder addresses are unused), type Linux.
    disk[446] = 0x80;
    disk[450] = 0x83;
    disk[454..458].copy_from_slice(&((PARTITION_AT / 512) as u32).to_le_bytes());
    disk[458..462].copy_from_slice(&((partition.len() / 512) as u32).to_le_bytes());
    disk[510..].copy_from_slice(&[0x55, 0xaa]);
    disk.extend(grub(scratch));
    assert!(disk.len() <= PARTITION_AT, "GRUB does not fit before the partition");
    disk.resize(PARTITION_AT, 0);
    disk.extend(partition);
    fs::remove_file(image).unwrap();
    scratch.file("disk", disk)
}

fn grub(scratch: &Scratch) -> Vec<u8> {
    let script = scratch.file(
        "grub.cfg",
        "linux (hd0,msdos1)/boot/vmlinuz console=ttyS0 no_timer_check panic=-1 quiet cryptomgr.notests=1
         initrd (hd0,msdos1)/boot/initramfs
         boot\n",
    );
    let image = scratch.path("core.img");
    let make = peer("grub-mkimage", "-O i386-pc -p (hd0,msdos1)/boot/grub -d").arg(GRUB);
    let make = make.arg("-c").arg(script).arg("-o").arg(&image);
    make.args("biosdisk part_msdos ext2 linux boot").ok();
    fs::read(image).unwrap()
}

/// The system: Debian's kernel, a RAM disk that mounts the partition, busybox, and data.
fn root(scratch: &Scratch) -> PathBuf {
    let root = scratch.path("root");
    for directory in ["boot", "bin", "sbin", "data", "dev", "proc"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    let (kernel, initramfs) = Machine::new().file("init", INITRAMFS).into_boot_files();
    fs::write(root.join("boot/vmlinuz"), kernel).unwrap();
    fs::write(root.join("boot/initramfs"), initramfs).unwrap();
    fs::copy(keyway_tests::skip::find("busybox").unwrap(), root.join("bin/busybox")).unwrap();
    fs::write(root.join("sbin/init"), INIT).unwrap();
    fs::set_permissions(root.join("sbin/init"), Permissions::from_mode(0o755)).unwrap();
    fs::write(root.join("data/original"), original()).unwrap();
    fs::write(root.join("data/superfluous"), random(182, 32 << 20)).unwrap();
    root
}

fn original() -> Vec<u8> {
    random(181, 5_000_001)
}

/// Replaces the test machine's own init.
const INITRAMFS: &str = "#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
while read -r module; do insmod \"$module\" 2>/dev/null; done </modules/order
mount -t ext4 /dev/vda1 /mnt
mount -t devtmpfs dev /mnt/dev
exec switch_root /mnt /sbin/init
";

const INIT: &str = "#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
exec >/dev/ttyS0 2>&1 </dev/null
mount -t proc proc /proc
echo the root is $(grep ' / ext4' /proc/mounts)
sha256sum </data/original >/data/sum
cp /data/original /data/copy
rm /data/superfluous
sync
fstrim /
mount -o remount,ro /
poweroff -f
";

const PASSPHRASE: &str = "correct horse battery staple";
const GRUB: &str = "/usr/lib/grub/i386-pc";
/// The usual start of the first partition on current disks.
const PARTITION_AT: usize = 1 << 20;
