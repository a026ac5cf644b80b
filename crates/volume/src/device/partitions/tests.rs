//! Tables by hand, forged ones among them. The project's tests compare with sfdisk's.

use super::*;
use crate::device::storage::Memory;
use keyway_format::crc32::crc32;

fn put(disk: &mut [u8], at: u64, bytes: &[u8]) {
    disk[at as usize..][..bytes.len()].copy_from_slice(bytes);
}

/// A record at the sector `at`: type, first sector and number of sectors of each entry.
fn record(disk: &mut [u8], at: u64, sector: u64, entries: &[(u8, u32, u32)]) {
    for ((kind, first, sectors), index) in entries.iter().zip(0..) {
        let entry = at * sector + 446 + 16 * index;
        put(disk, entry + 4, &[*kind]);
        put(disk, entry + 8, &first.to_le_bytes());
        put(disk, entry + 12, &sectors.to_le_bytes());
    }
    put(disk, at * sector + 510, &[0x55, 0xaa]);
}

/// A header in the sector `at`, whose entries begin in another: numbers, first and last sectors.
fn gpt(disk: &mut [u8], at: u64, entries_at: u64, sector: u64, entries: &[(u64, u64, u64)]) {
    let mut table = vec![0; 128 * 128];
    for (number, first, last) in entries {
        let entry = (number - 1) * 128;
        put(&mut table, entry, &[1; 16]);
        put(&mut table, entry + 32, &first.to_le_bytes());
        put(&mut table, entry + 40, &last.to_le_bytes());
    }
    let mut header = vec![0; 92];
    put(&mut header, 0, b"EFI PART");
    put(&mut header, 12, &92u32.to_le_bytes());
    put(&mut header, 72, &entries_at.to_le_bytes());
    put(&mut header, 80, &128u32.to_le_bytes());
    put(&mut header, 84, &128u32.to_le_bytes());
    put(&mut header, 88, &crc32(&table).to_le_bytes());
    let sum = crc32(&header).to_le_bytes();
    put(&mut header, 16, &sum);
    put(disk, at * sector, &header);
    put(disk, entries_at * sector, &table);
}

/// Scheme, unit, and the number and bytes of each partition.
type Found = (Scheme, u64, Vec<(u32, Range<u64>)>);

fn found(disk: &[u8]) -> Option<Found> {
    let table = Partitions::of(&Memory::from(disk.to_vec())).unwrap()?;
    let all = table.all.iter().map(|partition| (partition.number, partition.bytes.clone())).collect();
    Some((table.scheme, table.sector, all))
}

#[test]
fn a_gpt_in_sectors_of_either_size_and_its_copy() {
    for sector in [512, 4096] {
        let mut disk = vec![0; 1 << 20];
        record(&mut disk, 0, 512, &[(GPT_PROTECTIVE, 1, u32::MAX)]);
        let (first, last) = ((1 << 19) / sector, (1 << 20) / sector - 1);
        gpt(&mut disk, 1, 2, sector, &[(2, first, first + 7), (7, first + 8, first + 8), (9, 1, 1 << 60)]);
        let expected =
            vec![(2, 1 << 19..(1 << 19) + 8 * sector), (7, (1 << 19) + 8 * sector..(1 << 19) + 9 * sector)];
        assert_eq!(found(&disk), Some((Scheme::Gpt, sector, expected)), "what lies outside is left out");
        // A byte of the entries changes: the copy at the end counts.
        disk[2 * sector as usize + 200] ^= 1;
        assert_eq!(found(&disk), Some((Scheme::Gpt, sector, vec![])));
        gpt(&mut disk, last, last - 40, sector, &[(1, first, first)]);
        assert_eq!(found(&disk).unwrap().2, [(1, 1 << 19..(1 << 19) + sector)]);
        // Without its protection it is the remains of a former table.
        disk[450] = 0;
        assert_eq!(found(&disk), None);
    }
}

#[test]
fn logical_partitions_are_counted_from_five() {
    let mut disk = vec![0; 1 << 20];
    record(&mut disk, 0, 512, &[(0x83, 8, 8), (0, 0, 0), (0x0f, 100, 900), (0x82, 40, 10)]);
    record(&mut disk, 100, 512, &[(0x83, 2, 50), (0x05, 60, 100)]);
    record(&mut disk, 160, 512, &[(0x83, 4, 60)]);
    let sectors = |first: u64, count: u64| first * 512..(first + count) * 512;
    let expected =
        vec![(1, sectors(8, 8)), (4, sectors(40, 10)), (5, sectors(102, 50)), (6, sectors(164, 60))];
    assert_eq!(found(&disk), Some((Scheme::Mbr, 512, expected)));
}

#[test]
fn an_mbr_counts_in_sectors_in_which_its_partitions_hold_something() {
    let mut disk = vec![0; 1 << 20];
    record(&mut disk, 0, 4096, &[(0x83, 8, 8)]);
    assert_eq!(found(&disk).unwrap().1, 512);
    put(&mut disk, 8 * 4096, b"LUKS\xba\xbe\0\x01");
    assert_eq!(found(&disk), Some((Scheme::Mbr, 4096, vec![(1, 8 * 4096..16 * 4096)])));
    let purpose = Purpose::Mbr(0x83);
    let content = Partition { number: 1, purpose, bytes: 8 * 4096..16 * 4096 }.content(&Memory::from(disk));
    assert_eq!(content.unwrap().map(|it| it.blkid), Some("crypto_LUKS"));
}

#[test]
fn a_chain_of_records_ends() {
    for next in [0, 1, 60, u32::MAX] {
        let mut disk = vec![0; 1 << 20];
        record(&mut disk, 0, 512, &[(0x05, 100, 900)]);
        record(&mut disk, 100, 512, &[(0x83, 2, 50), (0x05, 60, 100)]);
        record(&mut disk, 160, 512, &[(0x83, 4, 60), (0x05, next, 100)]);
        assert_eq!(found(&disk).unwrap().2.len(), 2, "{next}");
    }
    // A record in every sector.
    let mut disk = vec![0; 1 << 20];
    record(&mut disk, 0, 512, &[(0x05, 100, 1900)]);
    for at in 0..1800 {
        record(&mut disk, 100 + at, 512, &[(0x83, 1, 1), (0x05, at as u32 + 1, 1)]);
    }
    assert_eq!(found(&disk).unwrap().2.len(), 128);
}

#[test]
fn what_is_no_table_is_none() {
    assert_eq!(found(&[]), None);
    assert_eq!(found(&[0; 511]), None);
    let mut disk = vec![0; 4096];
    record(&mut disk, 0, 512, &[]);
    assert_eq!(found(&disk), None, "no entries");
    let mut overlapping = vec![0; 1 << 20];
    record(&mut overlapping, 0, 512, &[(0x83, 8, 8), (0x83, 15, 8)]);
    assert!(Partitions::of(&Memory::from(overlapping)).unwrap().unwrap().overlap());
}

const GPT_PROTECTIVE: u8 = crate::device::probe::GPT_PROTECTIVE;
