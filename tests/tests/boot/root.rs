//! The system that machines here boot into: a root file system with busybox and an init that
//! reports where it runs, as ext4 and encrypted.

use keyway_tests::peers::{CHEAP_ARGON2, program};
use keyway_tests::{Run, Scratch, keyway, peer, random};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Where the files of the root file system are, before an image is made of them.
pub(crate) const TREE: &str = "root-tree";
/// Where the files of a foreign initramfs are; what is there before goes into it, too.
pub(crate) const INITRAMFS_TREE: &str = "initramfs-tree";
/// The passphrase of the volume.
pub(crate) const PASSPHRASE: &str = "correct horse battery staple";

/// A root file system of this busybox (static, of the machine's architecture), as an image of ext4.
pub(crate) fn ext4(scratch: &Scratch, busybox: &Path) -> PathBuf {
    let (tree, image) = (tree(scratch, busybox), scratch.path("root.ext4"));
    peer("mke2fs", "-q -t ext4 -b 4096 -L system -E root_owner=0:0 -d")
        .arg(&tree)
        .arg(&image)
        .arg("24M")
        .ok();
    image
}

/// The files of that root file system, in a directory.
pub(crate) fn tree(scratch: &Scratch, busybox: &Path) -> PathBuf {
    let tree = scratch.path(TREE);
    for directory in ["bin", "sbin", "dev", "proc", "sys", "run", "etc", "mnt"] {
        fs::create_dir_all(tree.join(directory)).unwrap();
    }
    fs::copy(busybox, tree.join("bin/busybox")).unwrap();
    for applet in ["awk", "cat", "cut", "grep", "ls", "mount", "poweroff", "ps", "sha256sum", "umount"] {
        symlink("busybox", tree.join("bin").join(applet)).unwrap();
    }
    script(&tree.join("sbin/init"), INIT);
    symlink("../sbin/init", tree.join("bin/other-init")).unwrap();
    script(&tree.join("sbin/mount-all"), MOUNT_ALL);
    script(&tree.join("sbin/fill"), FILL);
    // systemd switches to no root without it.
    fs::write(tree.join("etc/os-release"), "ID=test\n").unwrap();
    fs::write(tree.join("data"), data()).unwrap();
    tree
}

/// This image encrypted with LUKS2, [`PASSPHRASE`] and Argon2id; `options` are those of `keyway
/// build`.
pub(crate) fn encrypted(scratch: &Scratch, image: &Path, name: &str, options: &str) -> PathBuf {
    let (key, volume) = (scratch.file("passphrase", PASSPHRASE), scratch.path(name));
    keyway("build -q --type luks2 --key-file")
        .arg(key)
        .args(CHEAP_ARGON2)
        .args(options)
        .arg(image)
        .arg(&volume)
        .ok();
    volume
}

/// The same with a detached header in the file `header`.
pub(crate) fn encrypted_apart(scratch: &Scratch, image: &Path, header: &Path) -> PathBuf {
    let (key, volume) = (scratch.file("passphrase", PASSPHRASE), scratch.copy(image, "volume-apart"));
    let format = keyway("luksFormat -q --type luks2").args(CHEAP_ARGON2).arg("--header").arg(header);
    format.arg(&volume).arg(&key).ok();
    keyway("write --key-file").arg(&key).arg("--header").arg(header).arg(&volume).arg(image).ok();
    volume
}

/// An executable script.
pub(crate) fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A foreign initramfs: busybox, an /init that switches to /dev/mapper/root, and nothing that could
/// open the volume. Compressed by `packer` ("gzip -n").
pub(crate) fn foreign_initramfs(scratch: &Scratch, busybox: &Path, packer: &str) -> PathBuf {
    let tree = scratch.path(INITRAMFS_TREE);
    for directory in ["bin", "dev", "proc", "sys", "run", "mnt"] {
        fs::create_dir_all(tree.join(directory)).unwrap();
    }
    fs::copy(busybox, tree.join("bin/busybox")).unwrap();
    script(&tree.join("init"), FOREIGN_INIT);
    let line = format!("find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 | {packer} >../initramfs");
    peer("sh", "-c").arg(line).directory(&tree).ok();
    scratch.path("initramfs")
}

/// `keyway boot initramfs`, with the program under test in the image: the small one if it was
/// built.
pub(crate) fn boot_initramfs(out: &Path) -> Run {
    let inside = std::env::var_os("KEYWAY_RAMDISK").map_or_else(program, PathBuf::from);
    boot_initramfs_with(&inside, out)
}

/// The same with this program in the image.
pub(crate) fn boot_initramfs_with(program: &Path, out: &Path) -> Run {
    keyway("boot initramfs --program").arg(program).arg("-o").arg(out)
}

/// Asserts that a console shows the real init, on the decrypted file system, with nothing of Keyway
/// left in memory.
#[track_caller]
pub(crate) fn assert_reached(console: &str) {
    assert_reached_through(console, "/sbin/init", "/dev/mapper/root ext4 ro");
}

/// The same for another init and another way to mount the root.
#[track_caller]
pub(crate) fn assert_reached_through(console: &str, init: &str, mount: &str) {
    let sum = data_sum();
    for line in
        [format!("REAL-INIT={init} 1"), format!("ROOT={mount}"), format!("DATA={sum}"), "LEFT=nothing".into()]
    {
        assert!(console.lines().any(|said| said == line), "{line} is missing in\n{console}");
    }
    assert!(!console.contains(PASSPHRASE), "the passphrase is on the console\n{console}");
}

/// The SHA-256 of the file `data` in the root file system.
pub(crate) fn data_sum() -> String {
    let sum = peer("sha256sum", "").stdin(data()).ok().text();
    sum.split_whitespace().next().unwrap_or_default().to_owned()
}

fn data() -> Vec<u8> {
    random(611, 3_000_001)
}

/// The memory of an initramfs is "Shmem" while root= is not on the kernel's command line (its file
/// system is a tmpfs then).
const INIT: &str = "#!/bin/busybox sh
export PATH=/bin
[ -e /proc/self ] || mount -t proc proc /proc
[ -e /dev/null ] || mount -t devtmpfs dev /dev
exec </dev/console >/dev/console 2>&1
echo REAL-INIT=$0 $$
echo ROOT=$(awk '$2 == \"/\" { print $1, $3, substr($4, 1, 2) }' /proc/mounts)
echo OPTIONS=$(awk '$2 == \"/\" { print $4 }' /proc/mounts)
echo RESUME=$(cat /sys/power/resume)
echo MAPPED=$(ls /dev/mapper)
echo LINKS=$(ls /dev/disk/by-id /dev/disk/by-label /dev/mapper 2>/dev/null)
echo KNOWN=$(cat /run/udev/data/b25* 2>/dev/null | grep -c DM_UDEV_PRIMARY_SOURCE_FLAG=1)
echo WRITTEN=$(echo yes 2>/dev/null >/written && cat /written)
echo DATA=$(sha256sum </data | cut -d' ' -f1)
echo LEFT=$(ls -d /keyway /run/keyway* /run/cryptsetup/* 2>/dev/null || echo nothing)
echo MEMORY=$(awk '$1 == \"Shmem:\" { print $2 }' /proc/meminfo)
echo PROCESSES=$(ps -o comm | grep -c keyway)
poweroff -f
";

/// Mounts every other volume, whose name begins with its file system's, with the modules that the image
/// has loaded.
const MOUNT_ALL: &str = "#!/bin/busybox sh
export PATH=/bin
exec </dev/console >/dev/console 2>&1
for name in $(ls /dev/mapper | grep -v -e control -e root); do
    mount -t ${name%%-*} -o ro /dev/mapper/$name /mnt
    echo MOUNTED $name=$(sha256sum </mnt/data | cut -d' ' -f1)
    umount /mnt
done
mount -t overlay -o lowerdir=/etc:/bin overlay /mnt && echo OVERLAY=$(ls /mnt/busybox)
poweroff -f
";

/// Copies the system to btrfs over two volumes.
const FILL: &str = "#!/bin/busybox sh
export PATH=/bin
exec </dev/console >/dev/console 2>&1
mount -t btrfs -o device=/dev/mapper/two /dev/mapper/one /mnt && cd /mnt &&
    busybox cp -a /bin /sbin /data . && busybox mkdir dev proc sys run etc mnt && cd / && umount /mnt && echo FILLED=yes
poweroff -f
";

const FOREIGN_INIT: &str = "#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
echo ORIGINAL-INIT=$(ls -d /keyway /keyway/* /init 2>/dev/null)
# In the first table, behind a word and the list of tables, two bytes a key.
echo KEY-OF-Y=$(dumpkmap 2>/dev/null | dd bs=1 skip=$((7 + 256 + 2 * 21)) count=1 2>/dev/null)
mount -o ro /dev/mapper/root /mnt && exec switch_root /mnt /sbin/init
poweroff -f
";
