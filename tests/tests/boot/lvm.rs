//! LVM on LUKS, as installers of Debian and Ubuntu make it, and LUKS on LVM, booted by our own image. The metadata are lvm2's
//! (crates/boot/tests/lvm): the group my-vg, of which root is striped over two physical volumes and swap is on the second. In
//! the system that starts, lvm2 itself looks at the tables.

use crate::root;
use crate::roots::{booted, encrypted, has, initramfs, is_prepared, key, uuid};
use keyway_tests::peers::libraries;
use keyway_tests::{Scratch, keyway, need, need_that, peer};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Skips the test if no machine can be started, or lvm2 is missing.
macro_rules! need_machine {
    () => {
        need!("busybox", "mke2fs", "mkswap", "qemu-system-x86_64", "lvm", "dmsetup", "ldd");
        need_that!(is_prepared(), "Debian's kernel for real machines was not fetched (./dev test boot)");
    };
}

/// The metadata of both physical volumes. Their UUIDs and those of the volumes are in them.
const HEADS: [&[u8]; 2] = [
    include_bytes!("../../../crates/boot/tests/lvm/one"),
    include_bytes!("../../../crates/boot/tests/lvm/two"),
];
const SIZE: u64 = 40 << 20;
/// Where root begins on both, and swap on the second.
const ROOT: u64 = 1 << 20;
const SWAP: u64 = 25 << 20;
const STRIPE: usize = 64 << 10;
/// The metadata area of both.
const AREA: usize = 4096;

/// Two physical volumes with this in root, and a swap.
pub(crate) fn physical(scratch: &Scratch, name: &str, root: &[u8]) -> [PathBuf; 2] {
    let paths = [0, 1].map(|number| scratch.sized(&format!("{name}-{number}"), SIZE));
    let files = paths.each_ref().map(|path| fs::File::options().write(true).open(path).unwrap());
    for (file, head) in files.iter().zip(HEADS) {
        file.write_all_at(head, 0).unwrap();
    }
    assert!(root.len() <= 48 << 20);
    for (number, stripe) in root.chunks(STRIPE).enumerate() {
        let place = ROOT + (number / 2 * STRIPE) as u64;
        files[number % 2].write_all_at(stripe, place).unwrap();
    }
    let swap = scratch.sized("swap", 10 << 20);
    peer("mkswap", "-q").arg(&swap).ok();
    files[1].write_all_at(&fs::read(swap).unwrap(), SWAP).unwrap();
    paths
}

/// The first physical volume gets metadata with the next number, in which the first volume by name is of another kind.
fn with_a_thin_volume(disk: &Path) {
    let mut head = HEADS[0].to_vec();
    let number = |head: &[u8], at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap()) as usize;
    let (start, length) = (AREA + number(&head, AREA + 40), number(&head, AREA + 48));
    let mut text = String::from_utf8(head[start..start + length].to_vec()).unwrap();
    for (behind, from, to) in
        [("my-vg {", "seqno = ", "seqno = 9"), ("data-1 {", "type = \"striped\"", "type = \"thin\"   ")]
    {
        let at = text.find(behind).unwrap();
        let at = at + text[at..].find(from).unwrap();
        text.replace_range(at..at + to.len(), to);
    }
    head[start..start + length].copy_from_slice(text.as_bytes());
    let sum = checksum(&head[start..start + length]);
    head[AREA + 56..AREA + 60].copy_from_slice(&sum.to_le_bytes());
    let sum = checksum(&head[AREA + 4..AREA + 512]);
    head[AREA..AREA + 4].copy_from_slice(&sum.to_le_bytes());
    fs::File::options().write(true).open(disk).unwrap().write_all_at(&head, 0).unwrap();
}

/// LVM's: CRC-32 with another start, and not inverted at the end.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0xf597_a6cf, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}

/// A system with lvm2, which looks at the tables before the usual init.
fn system(scratch: &Scratch) -> PathBuf {
    let (tree, image) = (root::tree(scratch, Path::new("/bin/busybox")), scratch.path("system.ext4"));
    fs::create_dir_all(tree.join("etc/lvm")).unwrap();
    fs::write(tree.join("etc/lvm/lvm.conf"), LVM_CONF).unwrap();
    for program in ["lvm", "dmsetup"] {
        let path =
            peer("sh", "-c").arg(format!("PATH=$PATH:/usr/sbin:/sbin command -v {program}")).ok().text();
        let path = PathBuf::from(path.trim());
        let own = (path.clone(), PathBuf::from(format!("/bin/{program}")));
        for (from, to) in libraries(&path).into_iter().map(|path| (path.clone(), path)).chain([own]) {
            let to = tree.join(to.strip_prefix("/").unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(from, to).unwrap();
        }
    }
    root::script(&tree.join("sbin/lvm-init"), LVM_INIT);
    peer("mke2fs", "-q -t ext4 -b 4096 -L system -E root_owner=0:0 -d")
        .arg(&tree)
        .arg(&image)
        .arg("30M")
        .ok();
    image
}

#[test]
fn a_dry_run_says_which_volumes_are_activated() {
    let dry = |line: &str| {
        let text = keyway("unlock --init --dry-run --cmdline").arg(line).ok().text();
        let lines = text.lines().filter_map(|line| line.strip_prefix("# activates ")).map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    let open = "keyway.device=/dev/nowhere keyway.name=my-crypt";
    for (line, activated) in [
        (
            "root=/dev/my-vg/root resume=/dev/mapper/my--vg-swap",
            &["the logical volume my-vg/root", "the logical volume my-vg/swap"][..],
        ),
        ("root=/dev/mapper/my-crypt", &[]),
        (
            "root=/dev/mapper/root rd.lvm.vg=my-vg rd.lvm.lv=a/b",
            &["the logical volume a/b", "all volumes of the group my-vg"],
        ),
        ("root=UUID=1", &[]),
        ("root=/dev/vg/root rd.lvm=0", &[]),
        ("root=/dev/vg/root rd_NO_LVM", &[]),
    ] {
        assert_eq!(dry(&format!("{open} {line}")), activated, "{line}");
    }
    let odd =
        keyway("unlock --init --dry-run --cmdline").arg("rd.lvm.lv=root rd.lvm.vg=a/b rd.lvm.snapshot=x");
    odd.ok()
        .says("rd.lvm.lv=root: GROUP/VOLUME is needed")
        .says("rd.lvm.vg=a/b: not a valid name for a")
        .says("rd.lvm.snapshot=x: Keyway does not know");
}

/// lvm2 makes the same tables for the same volumes; the metadata on the second are damaged. Copies of the physical volumes that are not encrypted, and a file
/// system with the root's label, as whoever can write to the disk would put there, change nothing.
#[test]
fn a_root_on_lvm_in_two_volumes_boots() {
    need_machine!();
    let (scratch, others) = (Scratch::new(), Scratch::new());
    let system = fs::read(system(&scratch)).unwrap();
    let mut disks = vec![root::ext4(&others, Path::new("/bin/busybox"))];
    disks.extend(physical(&scratch, "forged", &[0x55; 1 << 20]));
    let parts = physical(&scratch, "part", &system);
    fs::File::options().write(true).open(&parts[1]).unwrap().write_all_at(b"odd", AREA as u64).unwrap();
    for (number, part) in parts.iter().enumerate() {
        disks.push(encrypted(&scratch, part, "luks2", number));
    }
    let line = format!(
        "rd.luks.name={}=one rd.luks.name={}=two rd.luks.key=/keyway/keys/root root=LABEL=system \
         resume=/dev/mapper/my--vg-swap rd.lvm.lv=my-vg/none init=/sbin/lvm-init",
        uuid(0),
        uuid(1)
    );
    let said = booted(&initramfs(&key(&scratch, "luks2"), &scratch, "ext4"), &disks, &line).ends();
    root::assert_reached_through(&said, "/sbin/init", "/dev/mapper/my--vg-root ext4 ro");
    for line in [
        "LVM my--vg-root: 0 98304 striped 2 128 254:0 2048 254:1 2048",
        "LVM my--vg-swap: 0 20480 linear 254:1 51200",
        "TABLES=lvm2's",
        "ACTIVE=my-vg/root active 48.00m",
        "ACTIVE=my-vg/swap active 10.00m",
        "ACTIVE=my-vg/data-1  8.00m",
        "keyway: rd.lvm.lv=my-vg/none: the volume group my-vg has no volume none.",
    ] {
        has(&said, line);
    }
    assert!(said.lines().any(|line| line.starts_with("RESUME=254:")), "{said}");
    let damaged = "are ignored: the checksum of the metadata area is wrong.";
    let damaged: Vec<_> = said.lines().filter(|line| line.ends_with(damaged)).collect();
    assert!(!damaged.is_empty(), "{said}");
    assert!(
        damaged.iter().all(|line| line.starts_with("WARNING: metadata of my-vg on /dev/dm-")),
        "{damaged:?}"
    );
}

/// The volume is found by its UUID on a logical volume; with the newest metadata, in a group of which not all can be activated. A root on a logical volume that is not encrypted is not taken.
#[test]
fn a_volume_on_lvm_boots_and_what_is_beside_it_does_not() {
    need_machine!();
    let scratch = Scratch::new();
    let ext4 = root::ext4(&scratch, Path::new("/bin/busybox"));
    let volume = encrypted(&scratch, &ext4, "luks2", 7);
    let image = initramfs(&key(&scratch, "luks2"), &scratch, "ext4");
    let open = format!("rd.luks.name={}=root rd.luks.key=/keyway/keys/root", uuid(7));
    let disks = physical(&scratch, "part", &fs::read(&volume).unwrap());
    with_a_thin_volume(&disks[0]);
    let line = format!("{open} root=/dev/mapper/root rd.lvm.vg=none rd.lvm.vg=my-vg");
    let said = booted(&image, &disks, &line).ends();
    root::assert_reached_through(&said, "/sbin/init", "/dev/mapper/root ext4 ro");
    let older = "WARNING: the metadata of my-vg on /dev/vdb are outdated (seqno ";
    assert!(said.lines().any(|line| line.starts_with(older)), "{said}");
    has(&said, "keyway: rd.lvm.vg=none: there is no volume group none.");
    has(&said, "MAPPED=control my--vg-root my--vg-swap root");
    has(
        &said,
        "keyway: rd.lvm.vg=my-vg: the logical volume my-vg/data-1 is thinly provisioned; keyway activates linear and striped ones.",
    );

    let mut disks = physical(&scratch, "plain", &fs::read(&ext4).unwrap()).to_vec();
    disks.push(volume);
    for (spec, why) in [
        ("/dev/my-vg/root", "the volume group my-vg is outside the encrypted volumes"),
        ("LABEL=system", "LABEL=system did not appear within"),
    ] {
        // The volume that is opened holds a system of that label.
        let open = if spec.starts_with("LABEL") {
            open.replace(&uuid(7), &uuid(8)) + " rd.luks.options=nofail"
        } else {
            open.clone()
        };
        let said = booted(&image, &disks, &format!("{open} keyway.wait=1 root={spec}")).ends();
        assert!(said.contains(why) && !said.contains("REAL-INIT"), "{said}");
    }
}

const LVM_CONF: &str =
    "devices { use_devicesfile=0 scan=[\"/dev\"] filter=[\"a|^/dev/mapper/|\", \"r|.*|\"] }
backup { backup=0 archive=0 }
activation { udev_sync=0 udev_rules=0 monitoring=0 verify_udev_operations=0 }
global { locking_dir=\"/run/lock\" event_activation=0 use_lvmpolld=0 }
";

/// What is active, before lvm2 has made each table anew and after.
const LVM_INIT: &str = "#!/bin/busybox sh
export PATH=/bin LVM_SUPPRESS_FD_WARNINGS=1
exec </dev/console >/dev/console 2>&1
busybox mkdir -p /run/lock /run/lvm
see() { (dmsetup table; dmsetup info -c --noheadings -o name,uuid) | grep ^my | busybox sort; }
see >/run/ours
busybox sed 's/^/LVM /' /run/ours
lvm lvs --noheadings --separator ' ' -o lv_full_name,lv_active,lv_size my-vg 2>/dev/null | busybox sed 's/^ */ACTIVE=/'
lvm lvchange -q -an my-vg/swap && lvm lvchange -q -ay my-vg/swap && lvm lvchange -q --refresh my-vg/root
see >/run/theirs
busybox cmp /run/ours /run/theirs && echo TABLES=lvm2\\'s
busybox rm -r /run/ours /run/theirs /run/lvm
exec /sbin/init
";
