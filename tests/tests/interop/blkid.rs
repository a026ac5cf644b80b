//! What the signature table reports for real images and for the samples, compared with `blkid -p`;
//! and what both programs' luksFormat reports about the data it overwrites.

#[path = "../../../crates/volume/src/device/probe/samples.rs"]
mod samples;

use keyway_tests::{Scratch, keyway, need, peer, skip, test_name};
use keyway_volume::Storage;
use keyway_volume::device::probe::{Identity, Kind, Reach, identity, probe, probe_range};
use keyway_volume::device::storage::{File, Memory};
use samples::{Accepted, SAMPLES};
use std::collections::HashMap;
use std::path::Path;

/// A program with its arguments, where IMAGE is a file of the given size in MiB and TREE a
/// directory; its input; and blkid's name for its result.
struct Maker {
    line: &'static str,
    input: &'static str,
    mib: u64,
    name: &'static str,
}

const fn maker(line: &'static str, mib: u64, name: &'static str) -> Maker {
    Maker { line, input: "", mib, name }
}

const MAKERS: &[Maker] = &[
    maker("mke2fs -q -t ext2 -L label IMAGE", 8, "ext2"),
    maker("mke2fs -q -t ext3 IMAGE", 8, "ext3"),
    maker("mke2fs -q -t ext4 -L label IMAGE", 8, "ext4"),
    maker("mke2fs -q -t ext4 -b 4096 -O ^has_journal IMAGE", 8, "ext4"),
    maker("mke2fs -q -t ext2 -O has_journal,metadata_csum IMAGE", 8, "ext4"),
    maker("mke2fs -q -O journal_dev IMAGE", 8, "jbd"),
    maker("mkfs.xfs -q -L label IMAGE", 300, "xfs"),
    maker("mkfs.xfs -q -m crc=0 -s size=4096 IMAGE", 300, "xfs"),
    maker("mkfs.btrfs -q -L label IMAGE", 110, "btrfs"),
    maker("mkfs.vfat -F 12 -n LABEL IMAGE", 2, "vfat"),
    maker("mkfs.vfat -F 16 -n LABEL IMAGE", 32, "vfat"),
    maker("mkfs.vfat -F 32 -n LABEL IMAGE", 64, "vfat"),
    maker("mkfs.vfat -F 32 -S 4096 IMAGE", 300, "vfat"),
    maker("mkntfs -q -F -Q IMAGE", 8, "ntfs"),
    maker("mkfs.exfat IMAGE", 8, "exfat"),
    maker("mkfs.f2fs -q -l label IMAGE", 64, "f2fs"),
    maker("mkfs.nilfs2 -q IMAGE", 130, "nilfs2"),
    maker("mkfs.jfs -q IMAGE", 16, "jfs"),
    maker("mkreiserfs -q -f -f IMAGE", 40, "reiserfs"),
    maker("mkreiserfs -q -f -f --format 3.5 IMAGE", 40, "reiserfs"),
    maker("mkfs.minix -1 IMAGE", 8, "minix"),
    maker("mkfs.minix -2 IMAGE", 8, "minix"),
    maker("mkfs.minix -3 IMAGE", 8, "minix"),
    maker("mkfs.bfs IMAGE", 8, "bfs"),
    maker("mkfs.cramfs TREE IMAGE", 0, "cramfs"),
    maker("mkfs.erofs IMAGE TREE", 0, "erofs"),
    maker("mksquashfs TREE IMAGE -quiet -no-progress -noappend", 0, "squashfs"),
    maker("genisoimage -quiet -V label -o IMAGE TREE", 0, "iso9660"),
    maker("genisoimage -quiet -udf -o IMAGE TREE", 0, "udf"),
    maker("mkudffs -b 512 IMAGE", 8, "udf"),
    maker("mkudffs -b 4096 IMAGE", 8, "udf"),
    maker("mkswap -q -L label IMAGE", 1, "swap"),
    maker("mkswap -q -p 16384 IMAGE", 1, "swap"),
    maker("mkswap -q -p 65536 IMAGE", 1, "swap"),
    maker("make-bcache -B IMAGE", 8, "bcache"),
    maker("make-bcache -C IMAGE", 128, "bcache"),
    maker("veritysetup format IMAGE IMAGE --hash-offset 8388608 --data-blocks 2048", 16, ""),
    maker(
        "cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 IMAGE TREE/key",
        8,
        "crypto_LUKS",
    ),
    maker(
        "cryptsetup luksFormat -q --label label --pbkdf pbkdf2 --pbkdf-force-iterations 1000 IMAGE TREE/key",
        32,
        "crypto_LUKS",
    ),
    Maker { line: "sfdisk -q IMAGE", input: "label: dos\n,,L\n", mib: 8, name: "dos" },
    Maker { line: "sfdisk -q IMAGE", input: "label: gpt\n,,L\n", mib: 8, name: "gpt" },
    Maker { line: "sfdisk -q IMAGE", input: "label: sun\n,,L\n", mib: 8, name: "sun" },
    Maker { line: "sfdisk -q IMAGE", input: "label: sgi\n,,L\n", mib: 8, name: "sgi" },
];

#[test]
fn real_images_are_what_blkid_says() {
    need!("blkid");
    let scratch = Scratch::new();
    for maker in MAKERS {
        let Some(image) = make(&scratch, maker) else { continue };
        let blkid = Blkid::of(&image);
        let storage = File::open(&image).unwrap();
        let ours = Named::of(&storage);
        eprintln!("{}: {ours:?}", maker.line);
        assert_eq!(ours.content.or(ours.table).unwrap_or(""), maker.name, "{}", maker.line);
        blkid.assert_says(&ours, maker.line);
        let Some(Identity { uuid, label }) = identity(&storage).unwrap() else { continue };
        assert_eq!(uuid, blkid.value("UUID"), "{}", maker.line);
        assert_eq!(label, blkid.value("LABEL"), "{}", maker.line);
    }
}

/// Each line of a maker runs one program; if it is missing there is no image.
fn make(scratch: &Scratch, maker: &Maker) -> Option<std::path::PathBuf> {
    let (program, arguments) = maker.line.split_once(' ').unwrap();
    if skip::find(program).is_none() {
        skip::record(test_name!(), &format!("{program} is not installed"));
        return None;
    }
    let (image, tree) = (scratch.path("image"), scratch.path("tree"));
    let _ = std::fs::remove_file(&image);
    std::fs::create_dir_all(&tree).unwrap();
    std::fs::write(tree.join("key"), b"secret").unwrap();
    if maker.mib > 0 {
        scratch.sized("image", maker.mib << 20);
    }
    let of = |path: &Path| path.to_str().unwrap().to_owned();
    let arguments = arguments.replace("IMAGE", &of(&image)).replace("TREE", &of(&tree));
    peer(program, &arguments).stdin(maker.input).ok();
    Some(image)
}

#[test]
fn samples_are_what_blkid_says() {
    need!("blkid");
    let scratch = Scratch::new();
    let is_reference = peer("blkid", "--version").ok().text().contains("libblkid 2.38");
    let mut agreed = 0;
    for sample in SAMPLES {
        let image = scratch.sized("sample", sample.len);
        let storage = File::open_rw(&image).unwrap();
        sample.writes.iter().for_each(|(at, bytes)| storage.write_at(bytes, *at).unwrap());
        let (blkid, ours) = (Blkid::of(&image), Named::of(&storage));
        std::fs::remove_file(&image).unwrap();
        let what = format!("{} {:x?}", sample.name, sample.writes);
        if sample.accepted == Accepted::More || (blkid.is_silent() && !is_reference) {
            continue;
        }
        blkid.assert_says(&ours, &what);
        agreed += 1;
    }
    assert!(agreed > SAMPLES.len() / 2, "{agreed}");
}

#[test]
fn both_luks_formats_warn_of_the_same_and_leave_nothing_else() {
    need!("blkid", "cryptsetup", "mke2fs", "mkswap");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let cheap = "luksFormat --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file";
    let md =
        |len: u64| [&b"\xfc\x4e\x2b\xa9\x01"[..], &[0; 139], &((len - 8192) / 512).to_le_bytes()].concat();
    let len = 32 << 20;
    let (raid, lvm) = (md(len), SAMPLES.iter().find(|sample| sample.name.starts_with("LVM2")).unwrap());
    let mbr: &[u8] = &[&[0, 0, 0, 0, 0x83, 0, 0, 0, 1, 0, 0, 0, 9][..], &[0; 51], &[0x55, 0xaa]].concat();
    for (maker, writes) in [
        ("mke2fs -q -t ext4", &[][..]),
        ("mke2fs -q -t ext3", &[(510, &[0x55, 0xaa][..])]),
        ("mke2fs -q -t ext2", &[(len - 8192, &raid[..])]),
        ("mkswap -q", &[]),
        ("true", &[(446, mbr)]),
        ("true", lvm.writes),
        ("true", &[(len - 1024, b"Intel Raid ISM Cfg Sig. 1.3.00"), (8192 - 10, b"SWAP-SPACE")]),
        ("true", &[(8192 - 10, b"S1SUSPEND"), (65536, b"ReIsEr4"), (32768, b"\x01CD001\x01")]),
    ] {
        let image = scratch.sized("image", len);
        peer(maker.split(' ').next().unwrap(), maker.split_once(' ').map_or("", |(_, line)| line))
            .arg(&image)
            .ok();
        let storage = File::open_rw(&image).unwrap();
        writes.iter().for_each(|(at, bytes)| storage.write_at(bytes, *at).unwrap());
        drop(storage);
        let before = scratch.copy(&image, "before");
        let warnings = |text: String| {
            let mut lines: Vec<_> =
                text.lines().filter(|line| line.starts_with("WARNING")).map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let theirs = warnings(peer("cryptsetup", cheap).arg(&key).arg(&image).ok().text());
        assert!(!theirs.is_empty(), "{maker} {writes:x?}");
        std::fs::copy(&before, &image).unwrap();
        let ours = warnings(keyway(cheap).arg(&key).arg(&image).ok().text());
        assert_eq!(ours, theirs, "{maker} {writes:x?}");
        let left = Named::of(&File::open(&image).unwrap());
        assert_eq!((left.content, left.table), (Some("crypto_LUKS"), None), "{maker} {writes:x?}");
        assert_eq!(Blkid::of(&image).value("TYPE"), "crypto_LUKS", "{maker} {writes:x?}");
    }
}

/// The start of the content gives the same answer, for file systems that Linux mounts.
#[test]
fn the_start_is_enough_for_file_systems() {
    for sample in SAMPLES {
        let storage = Memory::zeroed(sample.len as usize);
        let fits = sample.writes.iter().all(|(at, bytes)| at + bytes.len() as u64 <= 72 << 10);
        sample.writes.iter().for_each(|(at, bytes)| storage.write_at(bytes, *at).unwrap());
        let found = probe_range(&storage, 0..sample.len, Reach::Start).unwrap();
        assert!(!fits || found[0].signature.name == sample.name, "{}", sample.name);
    }
}

/// The first result, under blkid's name.
#[derive(Debug)]
struct Named {
    content: Option<&'static str>,
    table: Option<&'static str>,
}

impl Named {
    fn of(storage: &dyn Storage) -> Self {
        let found = probe(storage).unwrap();
        let first = |is_table: bool| {
            let mut kinds = found.iter().map(|found| found.signature);
            kinds.find(|it| (it.kind == Kind::PartitionTable) == is_table).map(|it| it.blkid)
        };
        Self { content: first(false), table: first(true) }
    }
}

/// What `blkid -p` prints.
struct Blkid(HashMap<String, String>);

impl Blkid {
    fn of(image: &Path) -> Self {
        let text = peer("blkid", "-p -o export").arg(image).outcome().text();
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        Self(pairs.map(|(key, value)| (key.to_owned(), value.replace('\\', ""))).collect())
    }

    fn value(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    fn is_silent(&self) -> bool {
        self.value("TYPE").is_empty() && self.value("PTTYPE").is_empty()
    }

    #[track_caller]
    fn assert_says(&self, ours: &Named, what: &str) {
        assert_eq!(ours.content.unwrap_or(""), self.value("TYPE"), "{what}");
        // libblkid 2.38 also takes exFAT's boot sector for a partition table, and looks for none on
        // a RAID member.
        if ours.content != Some("exfat") && !self.value("TYPE").ends_with("_member") {
            assert_eq!(ours.table.unwrap_or(""), self.value("PTTYPE"), "{what}");
        }
    }
}
