//! How large the sectors below a content may be that was made before its volume. The kernel mounts no file system with smaller blocks than
//! the device below has ("bad block size 1024"), and reads a partition table in the device's sectors.
//!
//! ```text
//! ext2, 3, 4   1080  2  53 ef       1048  4  block: 1024 << this
//! XFS             0  4  "XFSB"       102  2  sector (big-endian)
//! ISO 9660    32769  5  "CD001"              blocks of 2048
//! boot sector   510  2  55 aa         11  2  sector, of FAT and NTFS; a partition table has none: 512
//! ```

use keyway_volume::stream::Source;

/// The largest one that does, of those that a volume may have; `None` where nothing is recognised. Of a pipe nothing is.
pub(crate) fn largest_sector(content: &Source<'_>) -> Option<u32> {
    let Source::Storage(storage, range) = content else { return None };
    let bytes = |at: u64, length: usize| {
        let mut found = vec![0; length];
        let is_there = range.start + at + length as u64 <= storage.len().min(range.end);
        (is_there && storage.read_at(&mut found, range.start + at).is_ok()).then_some(found)
    };
    let number = |at| bytes(at, 2).map(|found| u16::from_le_bytes([found[0], found[1]]));
    let found = if bytes(1080, 2)? == *b"\x53\xef" {
        1024 << number(1048)?.min(2)
    } else if bytes(0, 4)? == *b"XFSB" {
        number(102)?.swap_bytes()
    } else if bytes(32769, 5).is_some_and(|found| found == *b"CD001") {
        2048
    } else if bytes(510, 2)? == [0x55, 0xaa] {
        number(11).filter(|size| is_sector(*size)).unwrap_or(512)
    } else {
        return None;
    };
    Some(if is_sector(found) { found.into() } else { 512 })
}

/// What a volume may have.
fn is_sector(size: u16) -> bool {
    size.is_power_of_two() && (512..=4096).contains(&size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_volume::Storage;
    use keyway_volume::storage::Memory;

    #[track_caller]
    fn assert_largest(content: &[(u64, &[u8])], expected: Option<u32>) {
        let storage = Memory::zeroed(1 << 16);
        for (at, bytes) in content {
            storage.write_at(bytes, at + 4096).unwrap();
        }
        assert_eq!(largest_sector(&Source::Storage(&storage, 4096..1 << 16)), expected);
    }

    #[test]
    fn file_systems_and_partition_tables_say_it() {
        assert_largest(&[], None);
        for (block, expected) in [(0, 1024), (1, 2048), (2, 4096), (6, 4096)] {
            assert_largest(&[(1080, b"\x53\xef"), (1048, &[block])], Some(expected));
        }
        assert_largest(&[(0, b"XFSB"), (102, &[2, 0])], Some(512));
        assert_largest(&[(0, b"XFSB"), (102, &[0x10, 0])], Some(4096));
        assert_largest(&[(0, b"XFSB"), (102, &[0, 3])], Some(512));
        assert_largest(&[(32769, b"CD001"), (510, &[0x55, 0xaa])], Some(2048));
        assert_largest(&[(510, &[0x55, 0xaa])], Some(512));
        assert_largest(&[(510, &[0x55, 0xaa]), (11, &[0, 8])], Some(2048));
        let short = Memory::zeroed(600);
        assert_eq!(largest_sector(&Source::Storage(&short, 0..600)), None);
        assert_eq!(largest_sector(&Source::Pipe(&mut &b"pipe"[..])), None);
    }
}
