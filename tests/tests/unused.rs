//! What `keyway_volume::Unneeded` considers free, compared with `dumpe2fs` on file systems of the
//! real `mke2fs`.

use keyway_tests::{Scratch, need, peer};
use keyway_volume::device::storage::File;
use keyway_volume::{Storage, Unneeded};
use std::ops::Range;
use std::path::Path;

#[test]
fn the_free_blocks_of_ext_file_systems_are_those_that_dumpe2fs_lists() {
    need!("mke2fs");
    need!("dumpe2fs");
    let scratch = Scratch::new();
    let tree = scratch.path("tree");
    std::fs::create_dir_all(&tree).unwrap();
    for (seed, len) in [(1, 700), (2, 70_000), (3, 5 << 20)] {
        std::fs::write(tree.join(format!("file{seed}")), keyway_tests::random(seed, len)).unwrap();
    }
    let image = scratch.path("image");
    for (options, mib) in [
        ("-t ext4", 64),
        ("-t ext4", 1500),
        ("-t ext4 -b 1024", 200),
        ("-t ext4 -O ^flex_bg,^64bit", 700),
        ("-t ext4 -O ^metadata_csum,uninit_bg", 700),
        ("-t ext4 -O ^has_journal,^resize_inode -G 4", 900),
        ("-t ext3", 300),
        ("-t ext2 -b 4096 -g 8192", 130),
        ("-t ext2 -O ^sparse_super,^resize_inode", 500),
    ] {
        let _ = std::fs::remove_file(&image);
        scratch.sized("image", mib << 20);
        peer("mke2fs", &format!("-q -F {options} -d")).arg(&tree).arg(&image).ok();
        let storage = File::open(&image).unwrap();
        let ours = Unneeded::of(&storage).unwrap().free().to_vec();
        let theirs = free_by_dumpe2fs(&image);
        assert!(!theirs.is_empty(), "{options}: dumpe2fs lists free blocks");
        assert_eq!(ours, theirs, "mke2fs {options}, {mib} MiB");
    }
}

#[test]
fn a_file_system_that_is_not_clean_or_not_understood_has_no_free_space() {
    need!("mke2fs");
    need!("debugfs");
    let scratch = Scratch::new();
    let image = scratch.sized("image", 64 << 20);
    for (options, spoil) in [
        ("-t ext4", "set_super_value state 0"),
        ("-t ext4", "set_super_value feature_incompat 0x2c6"),
        ("-t ext4 -O bigalloc", "show_super_stats"),
        ("-t ext4 -O meta_bg,^resize_inode", "show_super_stats"),
    ] {
        peer("mke2fs", &format!("-q -F {options}")).arg(&image).ok();
        peer("debugfs", "-w -R").arg(spoil).arg(&image).ok();
        let storage = File::open(&image).unwrap();
        let view = Unneeded::of(&storage).unwrap();
        assert_eq!(view.free(), [], "{options}, {spoil}");
    }
}

#[test]
fn beside_another_signature_nothing_is_free() {
    need!("mke2fs");
    let scratch = Scratch::new();
    let image = scratch.sized("image", 64 << 20);
    peer("mke2fs", "-q -F -t ext4").arg(&image).ok();
    let storage = File::open_rw(&image).unwrap();
    let is_empty = || Unneeded::of(&storage).unwrap().free().is_empty();
    assert!(!is_empty());
    storage.write_at(&[0x55, 0xaa], 510).unwrap();
    assert!(!is_empty(), "a boot mark is no other file system");
    storage.write_at(b"Intel Raid ISM Cfg Sig. ", (64 << 20) - 1024).unwrap();
    assert!(is_empty());
}

/// Byte ranges from the lines "  Free blocks: 12-34, 56", adjacent ranges merged.
fn free_by_dumpe2fs(image: &Path) -> Vec<Range<u64>> {
    let dump = peer("dumpe2fs", "").arg(image).ok().text();
    let field = |name: &str| dump.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let block: u64 = field("Block size:").unwrap().parse().unwrap();
    let lists = dump.lines().filter_map(|line| line.strip_prefix("  Free blocks: "));
    let mut free: Vec<Range<u64>> = Vec::new();
    for item in lists.flat_map(|list| list.split(", ")).filter(|item| !item.is_empty()) {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let (first, last): (u64, u64) = (first.parse().unwrap(), last.parse().unwrap());
        let bytes = first * block..(last + 1) * block;
        match free.last_mut() {
            Some(before) if before.end == bytes.start => before.end = bytes.end,
            _ => free.push(bytes),
        }
    }
    free
}
