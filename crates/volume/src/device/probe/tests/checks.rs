//! When a mark is not a signature, and which of several formats it belongs to.

use super::*;

/// Sample `number` of a row, with one byte changed.
fn changed(name: &str, number: usize, at: u64, value: u8) -> Memory {
    let sample = SAMPLES.iter().filter(|sample| sample.name == name).nth(number).unwrap();
    let storage = made(sample);
    let mut byte = [0];
    storage.read_at(&mut byte, at).unwrap();
    assert_ne!(byte, [value], "{name}: nothing changed at {at}");
    storage.write_at(&[value], at).unwrap();
    storage
}

#[test]
fn one_wrong_byte_of_what_a_check_reads_makes_it_none() {
    const END: u64 = 2 << 20;
    for (name, number, at, value) in [
        // The size in KiB: more than there is before the superblock; also in the other byte order.
        ("Linux RAID member", 0, END - (64 << 10) + 33, 0x08),
        ("Linux RAID member", 1, END - (64 << 10) + 33, 0x01),
        // The version, and the number of each copy's own sector.
        ("Linux RAID member", 2, END - 4096 + 4, 2),
        ("Linux RAID member", 2, END - 4096 + 144, 1),
        ("Linux RAID member", 3, 144, 1),
        ("Linux RAID member", 4, 4096 + 144, 9),
        ("VIA RAID member", 0, END - 512 + 2, 3),
        ("VIA RAID member", 0, END - 512 + 49, 1),
        ("VIA RAID member", 0, END - 512 + 50, 1),
        ("Silicon RAID member", 0, END - 512 + 0x116, 8),
        ("Silicon RAID member", 0, END - 512, 1),
        ("Silicon RAID member", 0, END - 512 + 0x13f, 1),
        ("Adaptec RAID member", 0, END - 256, 0),
        ("JMicron RAID member", 0, END - 512 + 126, 2),
        ("bcache device", 0, 4096 + 8, 7),
        ("bcachefs", 0, 4096 + 104, 7),
        ("LVM2 physical volume", 1, 512 + 8, 2),
        ("LVM1 physical volume", 0, 2, 3),
        ("LUKS2 volume", 1, 16384 + 256 + 7, 1),
        ("BitLocker volume", 2, 8192, 0),
        ("FileVault volume", 0, 8, 2),
        ("FileVault volume", 0, 10, 2),
        ("FileVault volume", 0, 90, 2),
        ("FileVault volume", 0, 172, 1),
        ("ZFS pool member", 0, 128 << 10, 0),
        ("ext4", 0, 1024 + 0x18, 7),
        ("UDF", 0, 32769 + 2048, b'X'),
        ("HFS+", 0, 1024 + 3, 3),
        ("HFS+", 0, 1024 + 43, 1),
        ("HFS", 0, 1024 + 23, 1),
        ("HFS", 0, 1024 + 22, 0),
        ("HPFS", 0, 8192 + 512, 0),
        ("MINIX", 0, 1028, 0),
        ("MINIX", 0, 1030, 0),
        ("MINIX", 0, 1024, 0),
        ("GFS", 0, 65536 + 27, 0),
        ("GFS", 0, 65536 + 31, 0),
        ("GFS2", 0, 65536 + 26, 0),
        ("GFS2", 0, 65536 + 31, 0),
        ("NILFS2", 0, 1024 + 9, 8),
        ("NILFS2", 0, 1024 + 20, 7),
        ("NILFS2", 0, 1024 + 39, 1),
    ] {
        let storage = changed(name, number, at, value);
        if (name, at) == ("MINIX", 1024) {
            storage.write_at(&[0xff, 0xff], at).unwrap();
        }
        assert!(!names(&storage).contains(&name), "{name}: {value} at {at}");
    }
}

#[test]
fn a_gpt_needs_its_header_and_its_copy_a_protective_mbr() {
    let mbr: &[(u64, &[u8])] = &[(450, &[0xee]), (510, &[0x55, 0xaa])];
    let with = |at: u64, more: &[(u64, &[u8])]| {
        names(&image((1 << 20) + 700, &[&[(at, GPT_HEADER)], more].concat()))
    };
    for at in [512, 4096] {
        assert_eq!(with(at, mbr), ["GPT"]);
        assert_eq!(with(at, &[]), ["GPT"]);
    }
    for at in [(1 << 20), (1 << 20) - 4096] {
        assert_eq!(with(at, mbr), ["GPT"]);
        assert_eq!(with(at, &[]), [""; 0], "of a former use");
        assert_eq!(with(at, &[(450, &[0x83]), (510, &[0x55, 0xaa])]), ["MBR partition table"]);
    }
    assert_eq!(with(2048, mbr), ["protective MBR without GPT"]);
}

#[test]
fn boot_sectors_of_file_systems_are_no_partition_tables() {
    let boot: (u64, &[u8]) = (510, &[0x55, 0xaa]);
    let with = |more: &[(u64, &[u8])]| names(&image(1 << 20, &[&[boot], more].concat()));
    assert_eq!(with(&[]), ["MBR partition table"]);
    assert_eq!(with(&[(446 + 48, &[0x80])]), ["MBR partition table"]);
    assert_eq!(with(&[(446 + 48, &[0x81])]), [""; 0]);
    assert_eq!(with(&[(3, b"NTFS    ")]), ["NTFS"]);
    assert_eq!(with(&[(3, b"EXFAT   ")]), ["exFAT"]);
    assert_eq!(with(&[(0, &[0xc9, 0xc2, 0xd4, 0xc1])]), ["AIX disk label"]);
    assert_eq!(with(&[(3, b"-FVE-FS-")]), ["BitLocker volume", "MBR partition table"]);
}

#[test]
fn tables_of_apple_and_sun_are_whole() {
    for (block, begins, is_table) in [
        (512, b"PM", true),
        (4096, b"TS", true),
        (256, b"PM", false),
        (8192, b"PM", false),
        (1536, b"PM", false),
    ] {
        let header = [b"ER", &u16::to_be_bytes(block)[..]].concat();
        let storage = image(1 << 20, &[(0, &header), (block.into(), begins)]);
        assert_eq!(names(&storage).contains(&"Apple partition map"), is_table, "{block}");
    }
    assert_eq!(names(&image(1 << 20, &[(0, b"ER\x02\0"), (512, b"PX")])), [""; 0]);
    assert_eq!(names(&image(1 << 20, &[(508, b"\xda\xbe\xda\xbf")])), [""; 0]);
}

#[test]
fn entries_of_an_mbr_are_read_field_by_field() {
    let mut sector = vec![0; 512];
    assert!(mbr(&sector).is_none());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    for (number, entry) in sector[446..510].chunks_exact_mut(16).enumerate() {
        let number = number as u8;
        entry.copy_from_slice(&[0x80, 9, 9, 9, 0x83 + number, 9, 9, 9, 1, 2, 3, number, 4, 5, 6, number]);
    }
    let entries = mbr(&sector).unwrap();
    for (number, entry) in (0u8..).zip(entries) {
        assert_eq!((entry.flag, entry.kind), (0x80, 0x83 + number));
        assert_eq!(entry.first, u32::from_le_bytes([1, 2, 3, number]));
        assert_eq!(entry.sectors, u32::from_le_bytes([4, 5, 6, number]));
    }
    assert!(mbr(&sector[..511]).is_none());
}

#[test]
fn the_width_of_fat_is_told_by_its_clusters() {
    // 512 bytes per sector, 1 sector per cluster, 1 reserved, 2 tables of 1 sector, 16 root
    // entries: 4 sectors before the data.
    let fat = |sectors: u32| {
        let boot = [b"\xeb\0\0FAT test", &[0, 2, 1, 1, 0, 2, 16, 0, 0, 0, 0xf8, 1, 0][..]].concat();
        let (sectors, mark): (_, &[u8]) = (sectors.to_le_bytes(), &[0x55, 0xaa]);
        names(&image(1 << 20, &[(0, &boot), (32, &sectors), (510, mark)])).first().copied()
    };
    for (clusters, expected) in [
        (1, Some("FAT12")),
        (0xff4, Some("FAT12")),
        (0xff5, Some("FAT16")),
        (0xfff4, Some("FAT16")),
        (0xfff5, Some("MBR partition table")),
    ] {
        assert_eq!(fat(clusters + 4), expected, "{clusters}");
    }
    assert_eq!(fat(3), Some("MBR partition table"), "less than the tables take");
}

#[test]
fn fields_that_no_fat_has_make_it_none() {
    let sample = SAMPLES.iter().find(|sample| sample.name == "FAT12").unwrap();
    for (at, value) in
        [(11, 1), (12, 0), (12, 1), (12, 32), (13, 0), (13, 3), (14, 0), (16, 0), (21, 0xf1), (54, b'J')]
    {
        let storage = made(sample);
        storage.write_at(&[value], at).unwrap();
        if at == 54 {
            storage.write_at(b"JFS     ", at).unwrap();
        }
        assert!(!names(&storage).contains(&"FAT12"), "{value} at {at}");
    }
    for (at, value) in [(12, 16), (13, 8), (21, 0xf0), (21, 0xff), (16, 1)] {
        let storage = made(sample);
        storage.write_at(&[value], at).unwrap();
        assert_eq!(names(&storage), ["FAT12"], "{value} at {at}");
    }
}
