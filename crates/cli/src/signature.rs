//! What a device holds before it is overwritten, by the magic numbers that blkid looks for first.

use keyway_volume::Storage;

/// A magic number: where it stands, its bytes, and blkid's name for what it marks.
struct Magic(u64, &'static [u8], &'static str, Kind);

/// What blkid calls the find.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Superblock,
    Partition,
}

const MAGICS: &[Magic] = &[
    Magic(0, b"LUKS\xba\xbe", "crypto_LUKS", Kind::Superblock),
    Magic(3, b"-FVE-FS-", "BitLocker", Kind::Superblock),
    Magic(0, b"XFSB", "xfs", Kind::Superblock),
    Magic(3, b"NTFS    ", "ntfs", Kind::Superblock),
    Magic(3, b"EXFAT   ", "exfat", Kind::Superblock),
    Magic(82, b"FAT32   ", "vfat", Kind::Superblock),
    Magic(54, b"FAT16   ", "vfat", Kind::Superblock),
    Magic(0, b"hsqs", "squashfs", Kind::Superblock),
    Magic(1024, b"\xe2\xe1\xf5\xe0", "erofs", Kind::Superblock),
    Magic(1024, b"\x10\x20\xf5\xf2", "f2fs", Kind::Superblock),
    Magic(1080, b"\x53\xef", "ext4", Kind::Superblock),
    Magic(4086, b"SWAPSPACE2", "swap", Kind::Superblock),
    Magic(32769, b"CD001", "iso9660", Kind::Superblock),
    Magic(65600, b"_BHRfS_M", "btrfs", Kind::Superblock),
    Magic(536, b"LVM2 001", "LVM2_member", Kind::Superblock),
    Magic(512, b"EFI PART", "gpt", Kind::Partition),
];

/// One line for each find, in cryptsetup's words.
pub(crate) fn warnings(storage: &dyn Storage, device: &str) -> Vec<String> {
    let found = MAGICS.iter().filter(|magic| stands(storage, magic));
    found
        .map(|Magic(_, _, name, kind)| {
            let kind = match kind {
                Kind::Superblock => "superblock",
                Kind::Partition => "partition",
            };
            format!("WARNING: Device {device} already contains a '{name}' {kind} signature.")
        })
        .collect()
}

fn stands(storage: &dyn Storage, Magic(offset, bytes, ..): &Magic) -> bool {
    let mut there = vec![0; bytes.len()];
    storage.len() >= offset + bytes.len() as u64
        && storage.read_at(&mut there, *offset).is_ok()
        && there == *bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_volume::storage::Memory;

    #[test]
    fn a_file_system_is_named_and_zeros_are_not() {
        let storage = Memory::zeroed(1 << 17);
        assert!(warnings(&storage, "x").is_empty());
        storage.write_at(b"\x53\xef", 1080).unwrap();
        storage.write_at(b"EFI PART", 512).unwrap();
        assert_eq!(
            warnings(&storage, "x"),
            [
                "WARNING: Device x already contains a 'ext4' superblock signature.",
                "WARNING: Device x already contains a 'gpt' partition signature."
            ]
        );
        assert!(warnings(&Memory::zeroed(3), "x").is_empty());
    }
}
