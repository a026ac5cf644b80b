//! Volumes on arrays of md RAID, and arrays within volumes, booted by our own image without mdadm. The superblocks are those
//! that mdadm wrote (crates/boot/tests/md). In the system that starts, mdadm itself looks at the arrays.

use crate::root::{self, PASSPHRASE};
use crate::roots::{booted, encrypted, has, is_prepared, uuid};
use keyway_tests::peers::libraries;
use keyway_tests::vm::prepared;
use keyway_tests::{Scratch, need, need_that, peer};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Skips the test if no machine can be started, or mdadm was not fetched.
macro_rules! need_machine {
    () => {
        need!("busybox", "mke2fs", "qemu-system-x86_64", "ldd");
        need_that!(is_prepared(), "Debian's kernel for real machines was not fetched (./dev test boot)");
        need_that!(mdadm().exists(), "Debian's mdadm was not fetched (./dev test boot)");
    };
}

/// The superblocks of an array's members.
macro_rules! members {
    ($name:literal $($number:literal)*) => {
        [$(include_bytes!(concat!("../../../crates/boot/tests/md/", $name, "-", $number)) as &[u8]),*]
    };
}

const MIB: u64 = 1 << 20;
/// Two copies of 47 MiB, the bitmap behind the superblock.
const MIRROR: [&[u8]; 2] = members!("mirror" 0 1);
const BITMAP: &[u8] = include_bytes!("../../../crates/boot/tests/md/mirror-bitmap");
/// One parity over three members with chunks of 64 KiB.
const PARITY: [&[u8]; 3] = members!("parity" 0 1 2);
const CHUNK: usize = 64 << 10;
/// Version 0.90: two copies that begin with their devices.
const OLD: [&[u8]; 2] = members!("old" 0 1);

fn mdadm() -> PathBuf {
    prepared("mdadm/usr/sbin/mdadm")
}

/// A member: pieces at their places on a device of this size.
fn member(scratch: &Scratch, name: &str, size: u64, pieces: &[(u64, &[u8])]) -> PathBuf {
    let path = scratch.sized(name, size);
    let file = fs::File::options().write(true).open(&path).unwrap();
    for (place, bytes) in pieces {
        assert!(place + bytes.len() as u64 <= size);
        file.write_all_at(bytes, *place).unwrap();
    }
    path
}

fn mirror(scratch: &Scratch, name: &str, content: &[u8]) -> [PathBuf; 2] {
    [0, 1].map(|number| {
        let pieces = [(4096, MIRROR[number]), (8192, BITMAP), (MIB, content)];
        member(scratch, &format!("{name}-{number}"), 48 * MIB, &pieces)
    })
}

fn old(scratch: &Scratch, content: &[u8]) -> [PathBuf; 2] {
    [0, 1].map(|number| {
        let pieces = [(0, content), (44 * MIB - (64 << 10), OLD[number])];
        member(scratch, &format!("old-{number}"), 44 * MIB, &pieces)
    })
}

/// The parity of a stripe is on the last member first, the data behind it (left-symmetric, md's usual layout).
fn parity(scratch: &Scratch, content: &[u8]) -> [PathBuf; 3] {
    let mut members = [const { Vec::new() }; 3];
    for (number, stripe) in content.chunks(2 * CHUNK).enumerate() {
        let mut stripe = stripe.to_vec();
        stripe.resize(2 * CHUNK, 0);
        let (one, two) = stripe.split_at(CHUNK);
        let place = 2 - number % 3;
        members[place].extend(one.iter().zip(two).map(|(one, two)| one ^ two));
        members[(place + 1) % 3].extend_from_slice(one);
        members[(place + 2) % 3].extend_from_slice(two);
    }
    [0, 1, 2].map(|number| {
        let pieces = [(4096, PARITY[number]), (MIB, &*members[number])];
        member(scratch, &format!("parity-{number}"), 24 * MIB, &pieces)
    })
}

/// A system with mdadm, which looks at the arrays before the usual init.
fn system(scratch: &Scratch) -> PathBuf {
    let (tree, image) = (root::tree(scratch, Path::new("/bin/busybox")), scratch.path("system.ext4"));
    let own = (mdadm(), PathBuf::from("/bin/mdadm"));
    for (from, to) in libraries(&mdadm()).into_iter().map(|path| (path.clone(), path)).chain([own]) {
        let to = tree.join(to.strip_prefix("/").unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
    root::script(&tree.join("sbin/md-init"), MD_INIT);
    peer("mke2fs", "-q -t ext4 -b 4096 -L system -E root_owner=0:0 -d")
        .arg(&tree)
        .arg(&image)
        .arg("28M")
        .ok();
    image
}

/// An image with the key, and modules for these arrays.
fn initramfs(scratch: &Scratch) -> PathBuf {
    let image = scratch.path("initramfs");
    let key = scratch.file("passphrase", PASSPHRASE);
    let make = root::boot_initramfs(&image).args("--volume /dev/vda --embed-key-file").arg(key);
    make.args("--rootfstype ext4 --also raid1,raid456 --modules").arg(prepared("full/kernel")).ok();
    image
}

/// A mirror with a bitmap, three disks with parity of which the kernel refuses one, which is too small, and a mirror of 0.90, of
/// which each half looks like the volume.
#[test]
fn volumes_on_arrays_boot_without_mdadm() {
    need_machine!();
    let scratch = Scratch::new();
    let content = |image: &Path, number| fs::read(encrypted(&scratch, image, "luks2", number)).unwrap();
    let small = scratch.sized("small", MIB);
    let mut disks = mirror(&scratch, "mirror", &content(&system(&scratch), 0)).to_vec();
    disks.extend_from_slice(&parity(&scratch, &content(&small, 1))[..2]);
    disks.extend(old(&scratch, &content(&small, 2)));
    disks.push(member(&scratch, "cut", 2 * MIB, &[(4096, PARITY[2])]));
    let named = |number: usize, name: &str| format!("rd.luks.name={}={name} ", uuid(number));
    let line = [named(0, "root"), named(1, "data"), named(2, "old")].concat()
        + "rd.luks.key=/keyway/keys/root root=/dev/mapper/root init=/sbin/md-init keyway.wait=6";
    let said = booted(&initramfs(&scratch), &disks, &line).ends();
    root::assert_reached_through(&said, "/sbin/init", "/dev/mapper/root ext4 ro");
    for line in [
        "WARNING: left out of the array server:0: /dev/vdg is refused by the kernel: new_dev: Invalid \
         argument (os error 22).",
        "WARNING: the array server:0 starts degraded: member 2 of 0 to 2 is missing.",
        "MD md127 raid1 read-auto 0 6bee949e:ef9f5620:d78733c5:9285f88e",
        "MD md0 raid5 read-auto 1 95095d15:73da0a45:a74bed7b:968403e0",
        "MD md5 raid1 read-auto 0 cc64ccae:02f32f91:01f9e43d:ac30fbff",
        "NAMES 0 5 root",
        // What the volumes are on; and as in the fixtures: nothing was written to the members.
        "SLAVES md0 md127 md5",
        "EVENTS 0 1",
    ] {
        has(&said, line);
    }
    assert!(!said.contains("server:root starts") && !said.contains("is degraded"), "{said}");
}

/// What is on the disk itself has the array's UUID and name, is assembled first, and is not taken for it.
#[test]
fn an_array_within_volumes_boots_and_none_beside_them() {
    need_machine!();
    let (scratch, others) = (Scratch::new(), Scratch::new());
    let system = fs::read(root::ext4(&scratch, Path::new("/bin/busybox"))).unwrap();
    let forged = mirror(&others, "forged", &[0x55; MIB as usize]);
    let mut disks = forged.to_vec();
    for (number, part) in mirror(&scratch, "part", &system).iter().enumerate() {
        disks.push(encrypted(&scratch, part, "luks2", number));
    }
    let image = initramfs(&scratch);
    let named = |number: usize, name: &str| format!("rd.luks.name={}={name} ", uuid(number));
    let line = [named(9, "none"), named(0, "one"), named(1, "two")].concat()
        + "rd.luks.key=/keyway/keys/root rd.luks.options=nofail,x-systemd.device-timeout=1 root=/dev/md/root";
    let said = booted(&image, &disks, &line).ends();
    root::assert_reached_through(&said, "/sbin/init", "/dev/md/root ext4 ro");

    let other = encrypted(&scratch, &scratch.sized("small", MIB), "luks2", 3);
    let line = named(3, "other") + "rd.luks.key=/keyway/keys/root keyway.wait=1 root=/dev/md/root";
    let said = booted(&image, &[&forged[..], &[other]].concat(), &line).ends();
    let why =
        "the array server:root is outside the encrypted volumes, and the system starts only from inside them";
    assert!(said.contains(why) && !said.contains("REAL-INIT"), "{said}");
}

/// What the kernel has, in mdadm's words; nothing was written.
const MD_INIT: &str = "#!/bin/busybox sh
export PATH=/bin
exec </dev/console >/dev/console 2>&1
for md in md127 md0 md5; do
    uuid=$(mdadm --detail --export /dev/$md | grep MD_UUID= | cut -d= -f2)
    cd /sys/block/$md/md && echo MD $md $(cat level array_state degraded) $uuid
done
echo NAMES $(ls /dev/md)
echo SLAVES $(cd /sys/block && ls dm-0/slaves dm-1/slaves dm-2/slaves | grep ^md | busybox sort)
echo EVENTS $(for disk in vda vdf; do mdadm --examine --export /dev/$disk | grep MD_EVENTS= | cut -d= -f2; done)
exec /sbin/init
";
