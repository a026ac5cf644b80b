//! Every row against its minimal samples, and against content that must not match.

mod checks;

use super::samples::{SAMPLES, Sample};
use super::*;
use crate::device::storage::Memory;
use crate::device::stream::Source;

fn image(len: u64, writes: &[(u64, &[u8])]) -> Memory {
    let memory = Memory::zeroed(len as usize);
    writes.iter().for_each(|(at, bytes)| memory.write_at(bytes, *at).unwrap());
    memory
}

fn made(sample: &Sample) -> Memory {
    image(sample.len, sample.writes)
}

fn names(storage: &dyn Storage) -> Vec<&'static str> {
    probe(storage).unwrap().iter().map(|found| found.signature.name).collect()
}

#[test]
fn every_row_is_recognised_by_its_samples() {
    for sample in SAMPLES {
        assert_eq!(names(&made(sample)).first(), Some(&sample.name), "{:x?}", sample.writes);
    }
    for signature in SIGNATURES {
        assert!(
            SAMPLES.iter().any(|sample| sample.name == signature.name),
            "no sample of {}",
            signature.name
        );
    }
}

#[test]
fn every_mark_is_one_of_a_sample() {
    let mut without = Vec::new();
    for signature in SIGNATURES {
        let rows = SIGNATURES.iter().filter(|row| row.blkid == signature.blkid);
        let of_rows = rows.flat_map(|row| SAMPLES.iter().filter(|sample| sample.name == row.name));
        let made: Vec<_> = of_rows.map(made).collect();
        let Search::Marks(marks, _) = signature.search else { continue };
        for mark in marks {
            let stands = |storage: &Memory| {
                let at = mark.place.offset(storage.len()).unwrap();
                Content::whole(storage).unwrap().holds(at, mark.bytes)
            };
            if !made.iter().any(stands) {
                without.push((signature.name, mark));
            }
        }
    }
    assert!(without.is_empty(), "{without:x?}");
}

#[test]
fn a_mark_without_what_its_check_wants_is_nothing() {
    let accidents: &[(u64, &[u8])] = &[
        (1080, b"\x53\xef"),
        (1024 + 0x18, &[7]),
        (0, b"HM"),
        (0, b"ER"),
        (88, b"CS"),
        (1024, b"BD"),
        (508, b"\xda\xbe"),
        (1040, b"\x7f\x13"),
        (1030, b"\x34\x34"),
    ];
    for accident in accidents {
        let storage = image(1 << 20, &[*accident, (1024 + 0x18, &[7]), (510, b"\0")]);
        assert_eq!(names(&storage), [""; 0], "{accident:x?}");
    }
    assert_eq!(names(&Memory::zeroed(1 << 20)), [""; 0]);
    let random =
        (0..1u64 << 20).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect::<Vec<_>>();
    assert_eq!(names(&Memory::from(random)), [""; 0]);
}

#[test]
fn contents_of_any_length_are_looked_at() {
    for sample in SAMPLES {
        let bytes = image(sample.len.min(1 << 17), &[]).to_vec();
        let mut bytes = bytes;
        for (at, write) in sample.writes {
            let at = *at as usize;
            if at + write.len() <= bytes.len() {
                bytes[at..at + write.len()].copy_from_slice(write);
            }
        }
        for len in [0, 1, 3, 511, 512, 600, 1023, 1082, 2048, 4096, 65537, 70000, bytes.len()] {
            probe(&Memory::from(bytes[..len.min(bytes.len())].to_vec())).unwrap();
        }
    }
}

#[test]
fn a_part_is_probed_by_itself() {
    let storage =
        image(1 << 20, &[(0, b"XFSB"), (65536, b"hsqs"), (65536 + 28, &[4]), ((1 << 20) - 1024, b"NVIDIA")]);
    let part = |range, reach| {
        let found = probe_range(&storage, range, reach).unwrap();
        found.iter().map(|found| (found.signature.name, found.offset)).collect::<Vec<_>>()
    };
    let nvidia = ("NVIDIA RAID member", (1 << 20) - 1024 - 65536);
    assert_eq!(part(65536..1 << 20, Reach::Whole), [nvidia, ("SquashFS", 0)]);
    assert_eq!(part(65536..u64::MAX, Reach::Whole), [nvidia, ("SquashFS", 0)]);
    assert_eq!(part(65536..1 << 20, Reach::Start), [("SquashFS", 0)]);
    assert_eq!(part(65536..1 << 19, Reach::Whole), [("SquashFS", 0)]);
    assert_eq!(part(4096..65536, Reach::Whole), []);
    assert_eq!(part(2 << 20..4 << 20, Reach::Whole), []);
}

/// Storage whose bytes after a given offset cannot be read.
struct Broken(Memory, u64);

impl Storage for Broken {
    fn len(&self) -> u64 {
        self.0.len()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        if offset + buf.len() as u64 > self.1 {
            Err(io::Error::other("broken"))
        } else {
            self.0.read_at(buf, offset)
        }
    }
    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        unreachable!("a probe writes nothing")
    }
    fn flush(&self) -> io::Result<()> {
        unreachable!("a probe writes nothing")
    }
    fn discard(&self, _: Range<u64>) -> io::Result<()> {
        unreachable!("a probe writes nothing")
    }
}

#[test]
fn what_cannot_be_read_is_not_taken_for_empty() {
    let broken = |readable| Broken(image(8 << 20, &[(0, b"XFSB")]), readable);
    assert_eq!(probe(&broken(1 << 20)).unwrap_err().to_string(), "broken");
    assert_eq!(foreign(&broken(1 << 20)).unwrap_err().to_string(), "broken");
    assert_eq!(probe(&broken(100)).unwrap_err().to_string(), "broken");
    assert_eq!(probe_range(&broken(1 << 20), 0..8 << 20, Reach::Start).unwrap().len(), 1);
}

#[test]
fn luks_is_not_foreign_to_itself() {
    let name =
        |writes: &[(u64, &[u8])]| foreign(&image(1 << 20, writes)).unwrap().map(|signature| signature.name);
    assert_eq!(name(&[]), None);
    for version in [1, 2, 3] {
        let header = [b"LUKS\xba\xbe\0", &[version][..]].concat();
        assert_eq!(name(&[(0, &header)]), None);
        assert_eq!(name(&[(0, &header), (65536 + 64, b"_BHRfS_M")]), Some("Btrfs"));
    }
    assert_eq!(name(&[(4096 - 10, b"SWAPSPACE2")]), Some("swap space"));
    assert_eq!(name(&[(510, &[0x55, 0xaa])]), Some("MBR partition table"));
}

#[test]
fn nothing_is_recognised_any_more_when_it_is_wiped() {
    for sample in SAMPLES {
        let storage = made(sample);
        wipe(&storage).unwrap();
        assert_eq!(names(&storage), [""; 0], "{}", sample.name);
    }
    let data = [7; 64];
    let layers: &[(u64, &[u8])] =
        &[(0, b"XFSB"), (1080, &EXT_MAGIC), (65536 + 64, b"_BHRfS_M"), (8192, &data)];
    let storage = image(1 << 20, layers);
    wipe(&storage).unwrap();
    assert_eq!(names(&storage), [""; 0]);
    assert_eq!(storage.to_vec(), image(1 << 20, &[(8192, &data)]).to_vec(), "nothing but marks");
    let pool = SAMPLES.iter().find(|sample| sample.name == "ZFS pool member").map(made).unwrap();
    pool.write_at(&data, (128 << 10) + 8).unwrap();
    wipe(&pool).unwrap();
    assert_eq!(pool.to_vec(), image(pool.len(), &[((128 << 10) + 8, &data)]).to_vec());
    let broken = Broken(image(8 << 20, &[]), 1 << 20);
    assert_eq!(wipe(&broken).unwrap_err().to_string(), "broken");
}

#[test]
fn one_file_system_would_be_mounted() {
    let name = |writes: &[_]| {
        file_system(&image(1 << 20, writes), Reach::Whole).unwrap().map(|signature| signature.blkid)
    };
    assert_eq!(name(&[]), None);
    assert_eq!(name(&[(1080, &EXT_MAGIC)]), Some("ext2"));
    assert_eq!(name(&[(1080, &EXT_MAGIC), (510, &[0x55, 0xaa])]), Some("ext2"));
    assert_eq!(name(&[(1080, &EXT_MAGIC), (0, b"XFSB")]), None);
    assert_eq!(name(&[(1080, &EXT_MAGIC), ((1 << 20) - 1024, b"NVIDIA")]), None);
    assert_eq!(name(&[(4096 - 10, b"SWAPSPACE2")]), None);
}

#[test]
fn contents_are_asked_for_by_uuid_and_label() {
    let name = |writes: &[(u64, &[u8])]| {
        let found = identity(&image(1 << 20, writes)).unwrap();
        found.map(|Identity { uuid, label }| [uuid, label].join(" "))
    };
    let (id, uuid) = ([0x1f; 16], "1f1f1f1f-1f1f-1f1f-1f1f-1f1f1f1f1f1f");
    assert_eq!(name(&[]), None);
    assert_eq!(name(&[(0, b"-rom1fs-")]), None);
    assert_eq!(name(&[(0, b"LUKS\xba\xbe\0\x01"), (24, b"xts"), (168, b"0815")]).unwrap(), "0815 ");
    assert_eq!(name(&[(0, b"LUKS\xba\xbe\0\x02"), (24, b"disk"), (168, b"0815")]).unwrap(), "0815 disk");
    for (mark, magic, at, label) in [
        (1080, &EXT_MAGIC[..], 1024 + 0x68, 1024 + 0x78),
        (0, b"XFSB", 32, 108),
        (65600, b"_BHRfS_M", 65568, 65536 + 0x12b),
        (4086, b"SWAPSPACE2", 1036, 1052),
        (4086, b"S1SUSPEND", 1036, 1052),
    ] {
        assert_eq!(name(&[(mark, magic), (at, &id), (label, b"disk")]), Some(format!("{uuid} disk")));
    }
    let wide: &[u8] = b"d\0i\0s\0k\0";
    let f2fs: &[(u64, &[u8])] = &[(1024, b"\x10\x20\xf5\xf2"), (1024 + 0x6c, &id), (1024 + 0x7c, wide)];
    assert_eq!(name(f2fs), Some(format!("{uuid} disk")));
    for (mark, magic, at) in [(54, b"FAT12   ", 39), (54, b"FAT16   ", 39), (82, b"FAT32   ", 67)] {
        let fat = |label| name(&[(mark, magic), (at, &[0xcd, 0xab, 0x34, 0x12]), (at + 4, label)]);
        assert_eq!(fat(b"DISK       ").unwrap(), "1234-ABCD DISK");
        assert_eq!(fat(b"NO NAME    ").unwrap(), "1234-ABCD ");
    }
}

#[track_caller]
fn assert_largest(content: &[(u64, &[u8])], expected: Option<u32>) {
    let moved: Vec<_> = content.iter().map(|(at, bytes)| (at + 4096, *bytes)).collect();
    let storage = image(1 << 17, &moved);
    assert_eq!(largest_sector(&Source::Storage(&storage, 4096..1 << 17)), expected, "{content:x?}");
}

#[test]
fn file_systems_and_partition_tables_say_how_large_sectors_may_be() {
    let boot: (u64, &[u8]) = (510, &[0x55, 0xaa]);
    assert_largest(&[], None);
    for (block, expected) in [(0, 1024), (1, 2048), (2, 4096), (6, 4096)] {
        assert_largest(&[(1080, b"\x53\xef"), (1048, &[block])], Some(expected));
    }
    assert_largest(&[(0, b"XFSB"), (102, &[2, 0])], Some(512));
    assert_largest(&[(0, b"XFSB"), (102, &[0x10, 0])], Some(4096));
    assert_largest(&[(0, b"XFSB"), (102, &[0, 3])], Some(512));
    assert_largest(&[(65600, b"_BHRfS_M"), (65536 + 0x91, &[0x10])], Some(4096));
    assert_largest(&[(1024, b"\xe2\xe1\xf5\xe0"), (1036, &[12])], Some(4096));
    assert_largest(&[(1024, b"\xe2\xe1\xf5\xe0"), (1036, &[9])], Some(512));
    assert_largest(&[(1024, b"\xe2\xe1\xf5\xe0"), (1036, &[8])], Some(512));
    assert_largest(&[(1024, b"\x10\x20\xf5\xf2"), (1032, &[12])], Some(4096));
    assert_largest(&[(3, b"EXFAT   "), (108, &[11])], Some(2048));
    assert_largest(&[(4096 - 10, b"SWAPSPACE2")], Some(4096));
    assert_largest(&[(0, b"hsqs"), (28, &[4])], Some(4096));
    assert_largest(&[(32769, b"CD001")], Some(2048));
    assert_largest(&[(32769, b"CD001"), boot], Some(2048));
    assert_largest(&[(32769, b"CD001"), boot, (450, &[0x83])], Some(512));
    assert_largest(&[(1080, b"\x53\xef"), (1048, &[2]), boot], Some(4096));
    assert_largest(&[boot], Some(512));
    assert_largest(&[boot, (450, &[0x83])], Some(512));
    assert_largest(&[(512, b"EFI PART")], Some(512));
    assert_largest(&[(4096, b"EFI PART")], Some(4096));
    assert_largest(&[(512, b"LABELONE\x01")], Some(512));
    let short = Memory::zeroed(600);
    assert_eq!(largest_sector(&Source::Storage(&short, 0..600)), None);
    assert_eq!(largest_sector(&Source::Pipe(&mut &b"pipe"[..])), None);
}
