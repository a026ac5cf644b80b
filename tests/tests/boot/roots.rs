//! Roots of the file systems that Linux machines have, in encrypted volumes, under Debian's kernel for
//! real machines: it has nearly everything as a module, ext4 and crc32c included.

use crate::root::{self, PASSPHRASE};
use keyway_tests::peers::CHEAP_ARGON2;
use keyway_tests::skip::is_slow;
use keyway_tests::vm::prepared;
use keyway_tests::{Board, Console, Scratch, keyway, need, need_that, peer, random};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Skips the test if no machine can be started, or a file system's tools are missing.
macro_rules! need_machine {
    ($($program:literal),*) => {
        need!("busybox", "mke2fs", "qemu-system-x86_64" $(, $program)*);
        need_that!(is_prepared(), "Debian's kernel for real machines was not fetched (./dev test boot)");
    };
}

/// A file system that a root may have: its name, and what makes an image of a tree.
struct Kind {
    /// What mount(2) calls it, and more after a dash.
    name: &'static str,
    /// The size of an empty image first; none for what grows by itself.
    size: u64,
    /// A line of a shell, with `$tree` and `$image`.
    make: &'static str,
}

const BTRFS: &str = "mkfs.btrfs -q -m single --rootdir $tree --csum";
const KINDS: &[Kind] = &[
    Kind { name: "btrfs-crc32c", size: 120 << 20, make: "crc32c" },
    Kind { name: "btrfs-xxhash", size: 120 << 20, make: "xxhash" },
    Kind { name: "btrfs-sha256", size: 120 << 20, make: "sha256" },
    Kind { name: "btrfs-blake2", size: 120 << 20, make: "blake2" },
    Kind { name: "xfs", size: 300 << 20, make: "mkfs.xfs -q -p $tree.proto $image" },
    Kind { name: "f2fs", size: 200 << 20, make: "mkfs.f2fs -q $image && sload.f2fs -f $tree $image" },
    Kind { name: "squashfs", size: 0, make: "mksquashfs $tree $image -all-root -quiet -no-progress" },
    Kind { name: "ext4", size: 48 << 20, make: "mke2fs -q -t ext4 -d $tree $image" },
    Kind { name: "erofs", size: 0, make: "mkfs.erofs --all-root $image $tree" },
];

impl Kind {
    fn named(name: &str) -> &'static Self {
        KINDS.iter().find(|kind| kind.name == name).unwrap()
    }

    fn module(&self) -> &'static str {
        self.name.split('-').next().unwrap()
    }

    /// An image of this tree.
    fn image(&self, scratch: &Scratch, tree: &Path) -> PathBuf {
        let image = scratch.path(self.name);
        if self.size > 0 {
            fs::File::create(&image).unwrap().set_len(self.size).unwrap();
        }
        let (tree, made) = (tree.display(), image.display());
        fs::write(format!("{tree}.proto"), prototype(Path::new(&tree.to_string()))).unwrap();
        let make = match self.module() {
            "btrfs" => format!("{BTRFS} {} $image", self.make),
            _ => self.make.to_owned(),
        };
        peer("sh", "-c")
            .arg(format!("tree={tree} image={made}; {make} >$image.log 2>&1 || {{ cat $image.log; false; }}"))
            .ok();
        image
    }
}

/// A tree as mkfs.xfs takes it (mkfs.xfs(8), -p).
fn prototype(tree: &Path) -> String {
    fn add(text: &mut String, folder: &Path) {
        let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            match (path.is_symlink(), path.is_dir()) {
                (true, _) => writeln!(text, "{name} l--777 0 0 {}", fs::read_link(&path).unwrap().display()),
                (_, false) => writeln!(text, "{name} ---755 0 0 {}", path.display()),
                (_, true) => {
                    writeln!(text, "{name} d--755 0 0").unwrap();
                    add(text, &path);
                    writeln!(text, "$")
                }
            }
            .unwrap();
        }
    }
    let mut text = "/\n0 0\nd--755 0 0\n".to_owned();
    add(&mut text, tree);
    text + "$\n"
}

/// A file system's image as a volume of this format ("luks1", "luks2", "plain"), with [`key`], and a UUID
/// that ends in `number`.
pub(crate) fn encrypted(scratch: &Scratch, image: &Path, format: &str, number: usize) -> PathBuf {
    let volume = scratch.path(&format!("volume-{number}"));
    if format == "plain" {
        fs::copy(image, &volume).unwrap();
        let write = keyway("write --type plain").args(PLAIN).arg("--key-file").arg(key(scratch, format));
        write.arg(&volume).arg(image).ok();
        return volume;
    }
    let build = keyway("build -q --key-file").arg(key(scratch, format)).args("--type").arg(format);
    let build = match format {
        "luks1" => build.args("--pbkdf-force-iterations 1000"),
        _ => build.args(CHEAP_ARGON2),
    };
    build.args("--uuid").arg(uuid(number)).arg(image).arg(&volume).ok();
    volume
}

/// A passphrase in a file; a plain volume's key is as long as its cipher's.
pub(crate) fn key(scratch: &Scratch, format: &str) -> PathBuf {
    match format {
        "plain" => scratch.file("key", random(7, 64)),
        _ => scratch.file("passphrase", PASSPHRASE),
    }
}

pub(crate) fn uuid(number: usize) -> String {
    format!("0a1b2c3d-0000-4000-8000-{number:012x}")
}

/// An image with the key, and modules for these file systems.
pub(crate) fn initramfs(key: &Path, scratch: &Scratch, kinds: &str) -> PathBuf {
    let image = scratch.path("initramfs");
    let make = root::boot_initramfs(&image).args("--volume /dev/vda --embed-key-file").arg(key);
    make.args("--rootfstype").arg(kinds).arg("--modules").arg(prepared("full/kernel")).ok();
    image
}

pub(crate) fn booted(initramfs: &Path, disks: &[PathBuf], line: &str) -> Console {
    let line = format!("{CONSOLE} {line}");
    let board = Board::pc().kernel(&prepared("full/vmlinuz")).initrd(initramfs).append(&line);
    disks.iter().fold(board, |board, disk| board.disk(disk)).start()
}

pub(crate) fn is_prepared() -> bool {
    prepared("full/vmlinuz").exists()
}

/// A machine with the root in a volume of this format, and this command line, reaches its init; returns its
/// console.
#[track_caller]
fn boots(name: &str, format: &str, line: &str, mount: &str) -> String {
    boots_beside(name, format, line, mount, |_| Vec::new())
}

/// The same with more disks.
#[track_caller]
fn boots_beside(
    name: &str,
    format: &str,
    line: &str,
    mount: &str,
    beside: impl FnOnce(&Scratch) -> Vec<PathBuf>,
) -> String {
    let (kind, scratch) = (Kind::named(name), Scratch::new());
    let tree = root::tree(&scratch, Path::new("/bin/busybox"));
    let mut disks = vec![encrypted(&scratch, &kind.image(&scratch, &tree), format, 0)];
    disks.extend(beside(&scratch));
    // What can be written to has no need of an overlay, unless it is named.
    let kinds = if kind.name == "ext4" { "ext4,overlay" } else { kind.module() };
    let said = booted(&initramfs(&key(&scratch, format), &scratch, kinds), &disks, line).ends();
    assert!(!said.contains("cannot be loaded"), "a module out of order, or without its hardware\n{said}");
    root::assert_reached_through(&said, "/sbin/init", mount);
    said
}

#[track_caller]
pub(crate) fn has(said: &str, line: &str) {
    assert!(said.lines().any(|said| said == line), "{line} is missing in\n{said}");
}

/// Of the options some are flags of mount(2), which the file system itself would refuse.
#[test]
fn a_root_of_btrfs_boots() {
    need_machine!("mkfs.btrfs");
    let line = "rootfstype=xfs,btrfs rootflags=noatime,nodev,compress=zstd:1,subvol=/,x-systemd.growfs";
    let said = boots("btrfs-blake2", "luks2", line, "/dev/mapper/root btrfs ro");
    let options = said.lines().find_map(|line| line.strip_prefix("OPTIONS=")).unwrap_or_default();
    assert!(options.starts_with("ro,nodev,noatime,compress=zstd:1,"), "{said}");
}

/// The volume to resume from is opened before the root, and the kernel is told its number.
#[test]
fn a_root_of_xfs_boots_after_a_look_at_an_encrypted_swap() {
    need_machine!("mkfs.xfs", "mkswap");
    let line = format!(
        "rd.luks.name={}=root rd.luks.name={}=swap rd.luks.key=/keyway/keys/root root=/dev/mapper/root rw \
         resume=/dev/mapper/swap rootwait",
        uuid(0),
        uuid(1)
    );
    let said = boots_beside("xfs", "luks1", &line, "/dev/mapper/root xfs rw", |scratch| {
        let swap = scratch.sized("swap", 16 << 20);
        peer("mkswap", "-q").arg(&swap).ok();
        vec![encrypted(scratch, &swap, "luks2", 1)]
    });
    has(&said, "RESUME=254:0");
}

/// As live systems and appliances have it: the root cannot be written to, and what is written stays in memory.
#[test]
fn a_root_of_squashfs_boots_under_an_overlay() {
    need_machine!("mksquashfs");
    let line = format!("keyway.device=/dev/vda {PLAIN_AT_BOOT} systemd.volatile=overlay");
    let said = boots("squashfs", "plain", &line, "overlay overlay rw");
    has(&said, "WRITTEN=yes");
}

/// A root over two volumes, each of which is told to btrfs before one is mounted. One machine fills it,
/// another boots from it.
#[test]
fn a_root_of_btrfs_over_two_volumes_boots() {
    need_machine!("mkfs.btrfs");
    need_that!(is_slow(), "two machines, one after the other: KEYWAY_SLOW=1 ./dev test boot starts them");
    let scratch = Scratch::new();
    let ext4 = root::ext4(&scratch, Path::new("/bin/busybox"));
    let parts = ["one", "two"].map(|name| scratch.sized(name, 200 << 20));
    peer("mkfs.btrfs", "-q -d raid1 -m raid1").arg(&parts[0]).arg(&parts[1]).ok();
    let parts = [encrypted(&scratch, &parts[0], "luks2", 1), encrypted(&scratch, &parts[1], "luks1", 2)];
    let system = encrypted(&scratch, &ext4, "luks2", 0);
    let image = initramfs(&key(&scratch, "luks2"), &scratch, "ext4,btrfs");
    let named = |names: &[(usize, &str)]| {
        let named = names.iter().map(|(number, name)| format!("rd.luks.name={}={name} ", uuid(*number)));
        named.collect::<String>() + "rd.luks.key=/keyway/keys/root root=/dev/mapper/root"
    };
    let line = format!("{CONSOLE} {} init=/sbin/fill", named(&[(0, "root"), (1, "one"), (2, "two")]));
    let board = Board::pc().kernel(&prepared("full/vmlinuz")).initrd(&image).append(&line).disk(&system);
    let filled = board.kept_disk(&parts[0], None).kept_disk(&parts[1], None).start().ends();
    has(&filled, "FILLED=yes");
    let said = booted(&image, &parts, &named(&[(1, "root"), (2, "other")])).ends();
    root::assert_reached_through(&said, "/sbin/init", "/dev/mapper/root btrfs ro");
}

/// The rest of the list, each as a root, on each format.
#[test]
fn every_other_root_boots() {
    need_machine!("mkfs.btrfs", "mkfs.xfs", "mkfs.f2fs", "sload.f2fs", "mksquashfs", "mkfs.erofs");
    need_that!(is_slow(), "it takes minutes: KEYWAY_SLOW=1 ./dev test boot does it");
    let plain = format!("keyway.device=/dev/vda {PLAIN_AT_BOOT}");
    for (name, format, line, mount) in [
        ("ext4", "luks1", "", "/dev/mapper/root ext4 ro"),
        ("ext4", "plain", &*plain, "/dev/mapper/root ext4 ro"),
        ("ext4", "luks2", "rw overlayroot=tmpfs:recurse=0", "overlay overlay rw"),
        ("btrfs-crc32c", "plain", &plain, "/dev/mapper/root btrfs ro"),
        ("btrfs-xxhash", "luks1", "rw", "/dev/mapper/root btrfs rw"),
        ("btrfs-sha256", "luks2", "rootflags=rw", "/dev/mapper/root btrfs rw"),
        ("xfs", "luks2", "rootflags=uquota,noatime", "/dev/mapper/root xfs ro"),
        ("f2fs", "luks1", "rootfstype=f2fs", "/dev/mapper/root f2fs ro"),
        ("f2fs", "luks2", "rw", "/dev/mapper/root f2fs rw"),
        ("squashfs", "luks2", "rootfstype=squashfs", "/dev/mapper/root squashfs ro"),
        ("erofs", "luks1", "", "/dev/mapper/root erofs ro"),
        ("erofs", "luks2", "overlayroot=tmpfs", "overlay overlay rw"),
    ] {
        eprintln!("{name} {format} {line}");
        boots(name, format, line, mount);
    }
}

/// One machine opens a volume of every file system, and mounts each: all modules are there, in order, and
/// what they ask for by name.
#[test]
fn every_file_system_of_a_root_mounts() {
    need_machine!("mkfs.btrfs", "mkfs.xfs", "mkfs.f2fs", "sload.f2fs", "mksquashfs", "mkfs.erofs");
    let scratch = Scratch::new();
    let ext4 = root::ext4(&scratch, Path::new("/bin/busybox"));
    let tree = scratch.path(root::TREE);
    let mut disks = vec![root::encrypted(&scratch, &ext4, "volume", &format!("--uuid {}", uuid(99)))];
    let mut line = format!(
        "rd.luks.name={}=root root=/dev/mapper/root init=/sbin/mount-all rd.luks.key=/keyway/keys/root",
        uuid(99)
    );
    for (number, kind) in KINDS.iter().enumerate() {
        let format = ["luks2", "luks1"][number % 2];
        disks.push(encrypted(&scratch, &kind.image(&scratch, &tree), format, number));
        write!(line, " rd.luks.name={}={}", uuid(number), kind.name).unwrap();
    }
    let kinds = "ext4,btrfs,xfs,f2fs,squashfs,erofs";
    let said = booted(&initramfs(&key(&scratch, "luks2"), &scratch, kinds), &disks, &line).ends();
    let sum = root::data_sum();
    for kind in KINDS {
        let line = format!("MOUNTED {}={sum}", kind.name);
        assert!(said.lines().any(|said| said == line), "{line}\n{said}");
    }
    assert!(said.contains("OVERLAY=/mnt/busybox") && !said.contains("cannot be loaded"), "{said}");
}

/// A module that the root needs and that the tree lacks is named, and no image is made.
#[test]
fn what_a_root_lacks_is_said_when_the_image_is_made() {
    need!("busybox", "cp");
    need_that!(is_prepared(), "Debian's kernel for real machines was not fetched (./dev test boot)");
    let scratch = Scratch::new();
    let (tree, out) = (scratch.path("tree"), scratch.path("out"));
    peer("cp", "-al").arg(prepared("full/kernel")).arg(&tree).ok();
    let release = fs::read_dir(tree.join("lib/modules")).unwrap().next().unwrap().unwrap().path();
    let make = |kinds: &str| {
        keyway("boot initramfs --program /bin/busybox --force --modules")
            .arg(&tree)
            .arg("-o")
            .arg(&out)
            .args("--rootfstype")
            .arg(kinds)
    };
    for (kind, file, lacks) in [
        ("ext4", "fs/ext4/ext4", "lack ext4 for the root's file system, ext4 (--rootfstype)"),
        ("ext3", "fs/jbd2/jbd2", "lack jbd2, on which ext4 depends,"),
        ("xfs", "fs/xfs/xfs", "lack xfs for"),
        ("xfs", "lib/libcrc32c", "lack libcrc32c, on which xfs depends,"),
        ("btrfs", "fs/btrfs/btrfs", "lack btrfs for"),
        ("btrfs", "crypto/blake2b_generic", "lack blake2b-256, which btrfs asks for,"),
        ("btrfs", "crypto/xxhash_generic", "lack xxhash64, which btrfs asks for,"),
        ("f2fs", "fs/f2fs/f2fs", "lack f2fs for"),
        ("squashfs", "fs/squashfs/squashfs", "lack squashfs for"),
        ("erofs,ext4", "fs/erofs/erofs", "lack erofs for"),
    ] {
        let file = release.join("kernel").join(format!("{file}.ko"));
        let content = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        make(kind).fails(4).says(lacks).says("such an image would not boot");
        fs::write(&file, content).unwrap();
        make(kind).ok();
    }
    for (kind, name) in [("zfs", "ZFS"), ("nfs", "on a network"), ("bcache", "bcache")] {
        let refused = make(kind).fails(1);
        refused.says(&format!("The root is {name}")).says("Wrap the distribution's image");
    }
    make("linux_raid_member")
        .fails(1)
        .says("linux_raid_member is not a file system, but marks a part of md RAID: --rootfstype takes");
    make("bcachefs").fails(4).says("lack bcachefs for the root's file system");
    // What the machine of the modules says counts as well.
    fs::create_dir(tree.join("etc")).unwrap();
    fs::write(tree.join("etc/fstab"), "UUID=1 / bcachefs defaults 0 0\n").unwrap();
    let found =
        keyway("boot initramfs --program /bin/busybox --force --modules").arg(&tree).arg("-o").arg(&out);
    found.fails(4).says("etc/fstab says so");
}

/// Firmware comes from the tree of the modules, unpacked; what that lacks is named.
#[test]
fn firmware_that_modules_name_is_taken_along_or_named() {
    need!("busybox", "cp", "xz");
    need_that!(is_prepared(), "Debian's kernel for real machines was not fetched (./dev test boot)");
    let scratch = Scratch::new();
    let (tree, out) = (scratch.path("tree"), scratch.path("out"));
    peer("cp", "-al").arg(prepared("full/kernel")).arg(&tree).ok();
    fs::create_dir(tree.join("lib/firmware")).unwrap();
    let firmware = random(9, 10_000);
    fs::write(tree.join("lib/firmware/qat_895xcc.bin"), &firmware).unwrap();
    peer("xz", "--check=crc32").arg(tree.join("lib/firmware/qat_895xcc.bin")).ok();
    let make =
        keyway("boot initramfs --program /bin/busybox --rootfstype ext4 --also qat_dh895xcc --modules");
    let made = make.arg(&tree).arg("-o").arg(&out).ok();
    made.says("lacks: qat_895xcc_mmp.bin (qat_dh895xcc.ko). A device that needs it will not work at boot.");
    let list = keyway("boot initramfs --list").arg(&out).ok();
    let taken = list.text();
    let taken = taken.lines().find(|line| line.ends_with(" keyway/firmware/qat_895xcc.bin")).unwrap();
    assert!(taken.contains(" 10000 "), "{taken}");
}

pub(crate) const CONSOLE: &str = "console=ttyS0 no_timer_check panic=-1 quiet cryptomgr.notests=1";
/// `keyway build`'s and crypttab's words for the same.
const PLAIN: &str = "--cipher aes-xts-plain64 --key-size 512";
const PLAIN_AT_BOOT: &str =
    "keyway.key=/keyway/keys/root keyway.options=plain,cipher=aes-xts-plain64,size=512";
