//! Holes compared with free ranges; partition tables. The project's tests check real file systems,
//! with dumpe2fs.

use super::*;
use crate::device::storage::Memory;

#[test]
fn a_single_hole_is_zeros_like_any_other() {
    let image = Memory::zeroed(1 << 20);
    let view = Unneeded::of(&image).unwrap();
    assert_eq!(view.next_data(0).unwrap(), Some(0..1 << 20));
}

#[test]
fn unrecognised_content_keeps_no_hole() {
    let image = Memory::zeroed(1 << 20);
    image.write_at(&[1; 8192], 65536).unwrap();
    let view = Unneeded::of(&image).unwrap();
    assert_eq!(view.free(), []);
    assert_eq!(view.next_data(0).unwrap(), Some(0..1 << 20));
}

#[test]
fn only_holes_that_are_free_are_stepped_over() {
    // Data in 16384..32768. Free: 8192..20480 (its end is data) and
    // 65536..81920; the rest is in use.
    let image = Memory::zeroed(131_072);
    image.write_at(&[1; 16384], 16384).unwrap();
    let view = Unneeded { image: &image, free: vec![8192..20480, 65536..81920] };
    let next = |at| view.next_data(at).unwrap();
    assert_eq!(next(0), Some(0..8192));
    assert_eq!(next(4096), Some(4096..8192));
    assert_eq!(next(8192), Some(16384..65536));
    assert_eq!(next(10000), Some(16384..65536));
    assert_eq!(next(18000), Some(18000..65536), "data is data, free or not");
    assert_eq!(next(65536), Some(81920..131_072));
    assert_eq!(next(131_072), None);
}

#[test]
fn what_is_used_ends_where_free_space_begins_whatever_is_stored() {
    let image = Memory::from(vec![1; 131_072]);
    let view = Unneeded { image: &image, free: vec![8192..20480, 20480..24576, 65536..131_072] };
    let next = |at| view.used().next_data(at).unwrap();
    assert_eq!(next(0), Some(0..8192));
    assert_eq!(next(8192), Some(24576..65536));
    assert_eq!(next(24575), Some(24576..65536));
    assert_eq!(next(30000), Some(30000..65536));
    assert_eq!((next(65536), next(131_072)), (None, None));
}

#[test]
fn free_space_at_the_end_is_the_last() {
    let image = Memory::zeroed(65536);
    image.write_at(&[1; 4096], 0).unwrap();
    let view = Unneeded { image: &image, free: std::iter::once(32768..65536).collect() };
    assert_eq!(view.next_data(0).unwrap(), Some(0..32768));
    assert_eq!(view.next_data(32768).unwrap(), None);
}

#[test]
fn partitions_of_an_mbr() {
    let image = Memory::zeroed(1 << 20);
    image.write_at(&[0x55, 0xaa], 510).unwrap();
    assert_eq!(partitions::extents(&image).unwrap(), None, "a boot sector without a table");
    entry(&image, 0, 0x83, 64, 128);
    entry(&image, 2, 0x0c, 512, 1536);
    assert_eq!(partitions::extents(&image).unwrap(), Some(vec![32768..98304, 262_144..1 << 20]));
    entry(&image, 1, 0x83, 100, 10);
    assert_eq!(partitions::extents(&image).unwrap(), Some(vec![]), "overlapping partitions belong to nobody");
    entry(&image, 1, 0x83, 256, 100_000);
    assert_eq!(
        partitions::extents(&image).unwrap(),
        Some(vec![32768..98304, 262_144..1 << 20]),
        "one that leaves the image is left out"
    );
}

#[test]
fn a_gpt_whose_checksums_are_wrong_frees_nothing() {
    let image = Memory::zeroed(1 << 20);
    image.write_at(&[0x55, 0xaa], 510).unwrap();
    entry(&image, 0, 0xee, 1, 2047);
    assert_eq!(partitions::extents(&image).unwrap(), None);
    image.write_at(b"EFI PART", 512).unwrap();
    assert_eq!(partitions::extents(&image).unwrap(), Some(vec![]));
}

fn entry(image: &Memory, index: u64, kind: u8, first: u32, sectors: u32) {
    let mut entry = [0; 16];
    entry[4] = kind;
    entry[8..12].copy_from_slice(&first.to_le_bytes());
    entry[12..].copy_from_slice(&sectors.to_le_bytes());
    image.write_at(&entry, 446 + index * 16).unwrap();
}

/// 33 MiB of group descriptors are claimed, on an image that holds nothing else.
#[test]
fn a_superblock_that_claims_descriptors_without_end_frees_nothing() {
    let image = Memory::zeroed(264 << 20);
    let mut superblock = [0; 1024];
    let fields: [(usize, u32); 6] = [
        (0x04, 264 << 10),  // blocks of 1 KiB
        (0x14, 1),          // the first of them
        (0x20, 8),          // blocks a group
        (0x38, 0x1_ef53),   // magic, clean
        (0x60, 0x80),       // 64bit
        (0xfc, 1024 << 16), // bytes a descriptor
    ];
    for (at, value) in fields {
        superblock[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
    }
    image.write_at(&superblock, 1024).unwrap();
    assert_eq!(ext::free_space(&image, 0..image.len()).unwrap(), []);
}
