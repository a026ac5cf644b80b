//! Signatures of other formats at the start of a device: where one stands, a damaged LUKS2 copy is not rewritten by
//! itself, because the device may have been given to something else since.

use crate::Storage;

/// Bytes that identify a format, and where they stand.
struct Signature {
    name: &'static str,
    offset: u64,
    magic: &'static [u8],
}

/// The name of the first foreign format found on `storage`; LUKS itself does not count.
pub fn foreign_signature(storage: &dyn Storage) -> Option<&'static str> {
    let found = SIGNATURES.iter().find(|signature| holds(storage, signature.offset, signature.magic));
    found
        .map(|signature| signature.name)
        .or_else(|| is_partition_table(storage).then_some("DOS partition table"))
}

fn holds(storage: &dyn Storage, offset: u64, magic: &[u8]) -> bool {
    let mut bytes = vec![0; magic.len()];
    storage.read_at(&mut bytes, offset).is_ok() && bytes == magic
}

/// A boot sector's mark alone is too common: the four entries must make sense too.
fn is_partition_table(storage: &dyn Storage) -> bool {
    let mut sector = [0; 512];
    if storage.read_at(&mut sector, 0).is_err() || sector[510..] != [0x55, 0xaa] {
        return false;
    }
    let entries = sector[446..510].chunks_exact(16);
    let flags_fit = entries.clone().all(|entry| matches!(entry[0], 0 | 0x80));
    flags_fit && entries.clone().any(|entry| entry[4] != 0 && entry[12..16] != [0; 4])
}

/// Magic numbers as util-linux's libblkid and the formats' own documents give them.
const SIGNATURES: &[Signature] = &[
    Signature { name: "xfs", offset: 0, magic: b"XFSB" },
    Signature { name: "ext2/3/4", offset: 1024 + 56, magic: &[0x53, 0xef] },
    Signature { name: "btrfs", offset: 64 * 1024 + 64, magic: b"_BHRfS_M" },
    Signature { name: "f2fs", offset: 1024, magic: &[0x10, 0x20, 0xf5, 0xf2] },
    Signature { name: "squashfs", offset: 0, magic: b"hsqs" },
    Signature { name: "ntfs", offset: 3, magic: b"NTFS    " },
    Signature { name: "BitLocker", offset: 3, magic: b"-FVE-FS-" },
    Signature { name: "exfat", offset: 3, magic: b"EXFAT   " },
    Signature { name: "vfat", offset: 82, magic: b"FAT32   " },
    Signature { name: "vfat", offset: 54, magic: b"FAT16   " },
    Signature { name: "vfat", offset: 54, magic: b"FAT12   " },
    Signature { name: "iso9660", offset: 32 * 1024 + 1, magic: b"CD001" },
    Signature { name: "swap", offset: 4096 - 10, magic: b"SWAPSPACE2" },
    Signature { name: "swap", offset: 4096 - 10, magic: b"SWAP-SPACE" },
    Signature { name: "LVM2", offset: 512, magic: b"LABELONE" },
    Signature { name: "LVM2", offset: 0, magic: b"LABELONE" },
    Signature { name: "Linux RAID", offset: 4096, magic: &[0xfc, 0x4e, 0x2b, 0xa9] },
    Signature { name: "Linux RAID", offset: 0, magic: &[0xfc, 0x4e, 0x2b, 0xa9] },
    Signature { name: "bcache", offset: 4096 + 24, magic: &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca] },
    Signature { name: "reiserfs", offset: 64 * 1024 + 52, magic: b"ReIsEr" },
    Signature { name: "jfs", offset: 32 * 1024, magic: b"JFS1" },
    Signature { name: "GPT", offset: 512, magic: b"EFI PART" },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Memory;

    #[test]
    fn common_formats_are_seen_and_zeros_are_not() {
        let storage = Memory::zeroed(128 << 10);
        assert_eq!(foreign_signature(&storage), None);
        storage.write_at(b"LUKS\xba\xbe", 0).unwrap();
        assert_eq!(foreign_signature(&storage), None);
        for signature in SIGNATURES {
            let storage = Memory::zeroed(128 << 10);
            storage.write_at(signature.magic, signature.offset).unwrap();
            assert_eq!(foreign_signature(&storage), Some(signature.name));
        }
    }

    #[test]
    fn a_boot_mark_alone_is_no_partition_table() {
        let storage = Memory::zeroed(4096);
        storage.write_at(&[0x55, 0xaa], 510).unwrap();
        assert_eq!(foreign_signature(&storage), None);
        let mut entry = [0; 16];
        (entry[0], entry[4], entry[13]) = (0x80, 0x83, 1);
        storage.write_at(&entry, 446).unwrap();
        assert_eq!(foreign_signature(&storage), Some("DOS partition table"));
    }
}
