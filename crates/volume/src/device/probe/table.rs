//! The table of signatures, outer layers first: the start of a RAID member may be the start of the
//! file system on the set, but the start of a volume is never the start of the disk below it.

use super::Kind::{Encrypted, FileSystem, Journal, Layer, PartitionTable, Raid, Swap, VolumeManager};
use super::{Content, Kind, Mark, Place, Search, Signature};
use super::{boot_sector, encrypted, partition_table, raid, superblock};

/// Every format that is recognised.
pub const SIGNATURES: &[Signature] = &[
    // RAID: Linux md (kernel, md_p.h), SNIA's Common RAID Disk Data Format, and the metadata that
    // controllers write to the last sectors of their disks (dmraid, and libblkid after it).
    row("Linux RAID member", "linux_raid_member", Raid, MD_0, raid::is_md_0),
    row("Linux RAID member", "linux_raid_member", Raid, MD_1, raid::is_md_1),
    row("DDF RAID member", "ddf_raid_member", Raid, DDF, marked),
    row("Intel RAID member", "isw_raid_member", Raid, &[end(1024, 512, b"Intel Raid ISM Cfg Sig. ")], marked),
    row("LSI RAID member", "lsi_mega_raid_member", Raid, &[end(512, 512, b"$XIDE$")], marked),
    row("VIA RAID member", "via_raid_member", Raid, &[end(512, 512, &[0x55, 0xaa])], raid::is_via),
    row(
        "Silicon RAID member",
        "silicon_medley_raid_member",
        Raid,
        &[end(512 - 0x60, 512, &[0, 0, 0, 0x2f])],
        raid::is_silicon,
    ),
    row("NVIDIA RAID member", "nvidia_raid_member", Raid, &[end(1024, 512, b"NVIDIA")], marked),
    row("Promise RAID member", "promise_fasttrack_raid_member", Raid, PROMISE, marked),
    row(
        "HighPoint RAID member",
        "hpt45x_raid_member",
        Raid,
        &[end(11 * 512, 512, HIGHPOINT), end(11 * 512, 512, HIGHPOINT_BAD)],
        marked,
    ),
    row(
        "HighPoint RAID member",
        "hpt37x_raid_member",
        Raid,
        &[at(4640, HIGHPOINT_37X), at(4640, HIGHPOINT_37X_BAD)],
        marked,
    ),
    row(
        "Adaptec RAID member",
        "adaptec_raid_member",
        Raid,
        &[end(512, 512, &[0x37, 0xfc, 0x4d, 0x1e])],
        raid::is_adaptec,
    ),
    row("JMicron RAID member", "jmicron_raid_member", Raid, &[end(512, 512, b"JM")], raid::is_jmicron),
    // Layers (kernel, bcache.h; Ceph; DRBD's md_on_disk; device-mapper's own headers).
    row("bcache device", "bcache", Layer, &[at(4096 + 24, BCACHE)], raid::is_bcache),
    row(
        "bcachefs",
        "bcachefs",
        FileSystem,
        &[at(4096 + 24, BCACHE), at(4096 + 24, BCACHEFS)],
        raid::is_bcachefs,
    ),
    row("Ceph BlueStore", "ceph_bluestore", Layer, &[at(0, b"bluestore block device")], marked),
    row("DRBD device", "drbd", Layer, DRBD, marked),
    row("DRBD control volume", "drbdmanage_control_volume", Layer, &[at(0, b"$DRBDmgr=q")], marked),
    row("DRBD proxy log", "drbdproxy_datalog", Layer, &[at(0, b"DRBDdlh*")], marked),
    row("LVM2 physical volume", "LVM2_member", VolumeManager, LVM2, raid::is_lvm2),
    row("LVM1 physical volume", "LVM1_member", VolumeManager, &[at(0, b"HM")], raid::is_lvm1),
    row("device-mapper snapshot", "DM_snapshot_cow", Layer, &[at(0, b"SnAp")], marked),
    row("dm-verity hashes", "DM_verity_hash", Layer, &[at(0, b"verity\0\0")], marked),
    row("dm-integrity device", "DM_integrity", Layer, &[at(0, b"integrt\0")], marked),
    // Encrypted volumes (LUKS1 and LUKS2 on-disk formats; for BitLocker and FileVault, libbde and
    // libfvde).
    row("LUKS1 volume", "crypto_LUKS", Encrypted, &[at(0, b"LUKS\xba\xbe\0\x01")], marked),
    row("LUKS2 volume", "crypto_LUKS", Encrypted, LUKS2, encrypted::is_luks2),
    row("LUKS volume", "crypto_LUKS", Encrypted, &[at(0, b"LUKS\xba\xbe")], encrypted::is_later_luks),
    row(
        "VMFS volume",
        "VMFS_volume_member",
        VolumeManager,
        &[at(1 << 20, &[0x0d, 0xd0, 0x01, 0xc0])],
        marked,
    ),
    row("UBI device", "ubi", VolumeManager, &[at(0, b"UBI#")], marked),
    row("VDO device", "vdo", Layer, &[at(0, b"dmvdo001")], marked),
    row("Stratis pool member", "stratis", VolumeManager, &[at(516, STRATIS), at(4612, STRATIS)], marked),
    row("BitLocker volume", "BitLocker", Encrypted, BITLOCKER, encrypted::is_bitlocker),
    row("FileVault volume", "cs_fvault2", Encrypted, &[at(88, b"CS")], encrypted::is_file_vault),
    scanned("ZFS pool member", "zfs_member", VolumeManager, superblock::zfs_uberblocks, 8),
    // File systems, and formats that take their place.
    row("FAT12", "vfat", FileSystem, FAT, boot_sector::is_fat12),
    row("FAT16", "vfat", FileSystem, FAT, boot_sector::is_fat16),
    row("FAT32", "vfat", FileSystem, FAT, boot_sector::is_fat32),
    row("NTFS", "ntfs", FileSystem, &[at(3, b"NTFS    ")], marked),
    row("exFAT", "exfat", FileSystem, &[at(3, b"EXFAT   ")], marked),
    row("ReFS", "ReFS", FileSystem, &[at(0, b"\0\0\0ReFS\0")], marked),
    row("hibernated system", "swsuspend", Swap, SUSPENDED, marked),
    row("swap space", "swap", Swap, SWAP, marked),
    row("XFS", "xfs", FileSystem, &[at(0, b"XFSB")], marked),
    row("XFS log", "xfs_external_log", Journal, &[at(0, &[0xfe, 0xed, 0xba, 0xbe])], marked),
    row("EXFS", "exfs", FileSystem, &[at(0, b"EXFS")], marked),
    row("ext4", "ext4", FileSystem, EXT, superblock::is_ext4),
    row("ext3", "ext3", FileSystem, EXT, superblock::is_ext3),
    row("ext2", "ext2", FileSystem, EXT, superblock::is_ext2),
    row("ext journal", "jbd", Journal, EXT, superblock::is_ext_journal),
    row("ReiserFS", "reiserfs", FileSystem, REISER, marked),
    row("Reiser4", "reiser4", FileSystem, &[at(65536, b"ReIsEr4")], marked),
    row("JFS", "jfs", FileSystem, &[at(32768, b"JFS1")], marked),
    row("UDF", "udf", FileSystem, VOLUME_STRUCTURE, superblock::is_udf),
    row("ISO 9660", "iso9660", FileSystem, &[at(32769, b"CD001"), at(32777, b"CDROM")], marked),
    row("HFS+", "hfsplus", FileSystem, HFS_PLUS, superblock::is_hfs_plus),
    row("HFS", "hfs", FileSystem, &[at(1024, b"BD")], superblock::is_hfs),
    scanned("UFS", "ufs", FileSystem, superblock::ufs_numbers, 4),
    row("HPFS", "hpfs", FileSystem, &[at(8192, &[0x49, 0xe8, 0x95, 0xf9])], superblock::is_hpfs),
    row("System V", "sysv", FileSystem, SYSTEM_V, marked),
    row("cramfs", "cramfs", FileSystem, &[at(0, b"\x45\x3d\xcd\x28"), at(0, b"\x28\xcd\x3d\x45")], marked),
    row("romfs", "romfs", FileSystem, &[at(0, b"-rom1fs-")], marked),
    row("MINIX", "minix", FileSystem, MINIX, superblock::is_minix),
    row("GFS", "gfs", FileSystem, GFS, superblock::is_gfs),
    row("GFS2", "gfs2", FileSystem, GFS, superblock::is_gfs2),
    row("OCFS", "ocfs", FileSystem, &[at(8192, b"OracleCFS")], marked),
    row("OCFS2", "ocfs2", FileSystem, OCFS2, marked),
    row("Oracle ASM disk", "oracleasm", VolumeManager, &[at(32, b"ORCLDISK")], marked),
    row("VxFS", "vxfs", FileSystem, &[at(1024, b"\xf5\xfc\x01\xa5"), at(8192, b"\xa5\x01\xfc\xf5")], marked),
    row("SquashFS", "squashfs", FileSystem, &[at(0, b"hsqs")], superblock::is_squashfs),
    row("SquashFS 3", "squashfs3", FileSystem, &[at(0, b"hsqs"), at(0, b"sqsh")], superblock::is_squashfs_3),
    row("NetWare NSS", "nss", FileSystem, &[at(4096, b"SPB5")], marked),
    row("Btrfs", "btrfs", FileSystem, &[at(65536 + 64, b"_BHRfS_M")], marked),
    row("UBIFS", "ubifs", FileSystem, &[at(0, &[0x31, 0x18, 0x10, 0x06])], marked),
    row("SCO BFS", "bfs", FileSystem, &[at(0, &[0xce, 0xfa, 0xad, 0x1b])], marked),
    row("VMFS", "VMFS", FileSystem, &[at(2 << 20, &[0x5e, 0xf1, 0xab, 0x2f])], marked),
    row("BeFS", "befs", FileSystem, BEFS, marked),
    row("NILFS2", "nilfs2", FileSystem, NILFS2, superblock::is_nilfs2),
    row("F2FS", "f2fs", FileSystem, &[at(1024, &[0x10, 0x20, 0xf5, 0xf2])], marked),
    row("mpool", "mpool", FileSystem, &[at(0, b"mpoolDev")], marked),
    row("APFS", "apfs", FileSystem, &[at(32, b"NXSB")], marked),
    row("zonefs", "zonefs", FileSystem, &[at(0, b"SFOZ")], marked),
    row("EROFS", "erofs", FileSystem, &[at(1024, &[0xe2, 0xe1, 0xf5, 0xe0])], marked),
    // Partition tables (UEFI 2.10, chapter 5; Inside Macintosh: Devices; fdisk's manuals on disk
    // labels).
    row("GPT", "gpt", PartitionTable, GPT, partition_table::is_gpt),
    row("protective MBR without GPT", "PMBR", PartitionTable, BOOT_MARK, partition_table::is_left_over),
    row("MBR partition table", "dos", PartitionTable, BOOT_MARK, partition_table::is_mbr),
    row("Apple partition map", "mac", PartitionTable, &[at(0, b"ER")], partition_table::is_apple),
    row("Sun disk label", "sun", PartitionTable, &[at(508, &[0xda, 0xbe])], partition_table::is_sun),
    row("SGI disk label", "sgi", PartitionTable, &[at(0, &[0x0b, 0xe5, 0xa9, 0x41])], marked),
    row("BSD disk label", "bsd", PartitionTable, &[at(512, BSD), at(64, BSD), at(128, BSD)], marked),
    row("AIX disk label", "aix", PartitionTable, &[at(0, &[0xc9, 0xc2, 0xd4, 0xc1])], marked),
    row("ULTRIX disk label", "ultrix", PartitionTable, &[at(16312, &[0x57, 0x29, 3, 0, 1, 0, 0, 0])], marked),
];

const MD: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
const MD_0: &[Mark] = &[end(64 << 10, 64 << 10, MD), end(64 << 10, 64 << 10, &[0xa9, 0x2b, 0x4e, 0xfc])];
/// Versions 1.0, 1.1 and 1.2.
const MD_1: &[Mark] = &[end(8192, 4096, MD), at(0, MD), at(4096, MD)];

const DDF_MAGIC: &[u8] = &[0xde, 0x11, 0xde, 0x11];
const DDF_SWAPPED: &[u8] = &[0x11, 0xde, 0x11, 0xde];
const DDF: &[Mark] = &[
    end(512, 512, DDF_MAGIC),
    end(512, 512, DDF_SWAPPED),
    end(257 * 512, 512, DDF_MAGIC),
    end(257 * 512, 512, DDF_SWAPPED),
];

const HIGHPOINT: &[u8] = &[0xf3, 0x16, 0x78, 0x5a];
const HIGHPOINT_BAD: &[u8] = &[0xfd, 0x16, 0x78, 0x5a];
const HIGHPOINT_37X: &[u8] = &[0xf0, 0x16, 0x78, 0x5a];
const HIGHPOINT_37X_BAD: &[u8] = &[0xfd, 0x16, 0x78, 0x5a];

const fn promise(sectors: u64) -> Mark {
    end(512 * sectors, 512, b"Promise Technology, Inc.")
}
const PROMISE: &[Mark] = &[
    promise(63),
    promise(255),
    promise(256),
    promise(16),
    promise(399),
    promise(591),
    promise(675),
    promise(735),
    promise(911),
    promise(974),
    promise(991),
    promise(951),
    promise(3087),
];

const BCACHE: &[u8] =
    &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81];
const BCACHEFS: &[u8] =
    &[0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef];

/// Versions 8, 8.4 when not cleanly shut down, 9.
const DRBD: &[Mark] = &[
    end(4096 - 60, 1, &[0x83, 0x74, 0x02, 0x6b]),
    end(4096 - 60, 1, &[0x83, 0x74, 0x02, 0x6c]),
    end(4096 - 60, 1, &[0x83, 0x74, 0x02, 0x6d]),
];

const fn lvm2(sector: u64) -> Mark {
    at(512 * sector, b"LABELONE")
}
const LVM2: &[Mark] = &[lvm2(0), lvm2(1), lvm2(2), lvm2(3)];

const fn second_luks2(kib: u64) -> Mark {
    at(kib << 10, b"SKUL\xba\xbe\0\x02")
}
/// The first header, and the second at each place where it can be.
const LUKS2: &[Mark] = &[
    at(0, b"LUKS\xba\xbe\0\x02"),
    second_luks2(16),
    second_luks2(32),
    second_luks2(64),
    second_luks2(128),
    second_luks2(256),
    second_luks2(512),
    second_luks2(1024),
    second_luks2(2048),
    second_luks2(4096),
];

const STRATIS: &[u8] = b"!Stra0tis\x86\xff\x02^\x41rh";

/// Fixed disks, and the FAT that BitLocker To Go puts at the start of a removable one.
const BITLOCKER: &[Mark] = &[at(3, b"-FVE-FS-"), at(0, b"\xeb\x58\x90MSWIN4.1")];

/// The names have no meaning in FAT, and some formatters omit them.
const FAT: &[Mark] = &[
    at(82, b"MSWIN"),
    at(82, b"FAT32   "),
    at(54, b"MSDOS"),
    at(54, b"FAT16   "),
    at(54, b"FAT12   "),
    at(54, b"FAT     "),
    at(510, &[0x55, 0xaa]),
];

const fn swap(page: u64, magic: &'static [u8]) -> Mark {
    at(page - 10, magic)
}
/// For machines with pages of 4 to 64 KiB; Linux 2.1.117 introduced the second version.
const SWAP: &[Mark] = &[
    swap(4096, b"SWAPSPACE2"),
    swap(4096, b"SWAP-SPACE"),
    swap(8192, b"SWAPSPACE2"),
    swap(8192, b"SWAP-SPACE"),
    swap(16384, b"SWAPSPACE2"),
    swap(16384, b"SWAP-SPACE"),
    swap(32768, b"SWAPSPACE2"),
    swap(32768, b"SWAP-SPACE"),
    swap(65536, b"SWAPSPACE2"),
    swap(65536, b"SWAP-SPACE"),
];
/// Those of the kernel, uswsusp and TuxOnIce.
const SUSPENDED: &[Mark] = &[
    at(0, &[0xed, 0xc3, 0x02, 0xe9, 0x98, 0x56, 0xe5, 0x0c]),
    swap(4096, b"S1SUSPEND"),
    swap(4096, b"S2SUSPEND"),
    swap(4096, b"ULSUSPEND"),
    swap(4096, b"LINHIB0001"),
    swap(8192, b"S1SUSPEND"),
    swap(8192, b"S2SUSPEND"),
    swap(8192, b"ULSUSPEND"),
    swap(8192, b"LINHIB0001"),
    swap(16384, b"S1SUSPEND"),
    swap(16384, b"S2SUSPEND"),
    swap(16384, b"ULSUSPEND"),
    swap(16384, b"LINHIB0001"),
    swap(32768, b"S1SUSPEND"),
    swap(32768, b"S2SUSPEND"),
    swap(32768, b"ULSUSPEND"),
    swap(32768, b"LINHIB0001"),
    swap(65536, b"S1SUSPEND"),
    swap(65536, b"S2SUSPEND"),
    swap(65536, b"ULSUSPEND"),
    swap(65536, b"LINHIB0001"),
];

const EXT: &[Mark] = &[at(superblock::EXT + superblock::EXT_MAGIC_AT, &superblock::EXT_MAGIC)];

/// Versions 3.5 and 3.6, and either of them with an external journal; the oldest was at 8 KiB.
const REISER: &[Mark] = &[
    at(65536 + 52, b"ReIsEr2Fs"),
    at(65536 + 52, b"ReIsEr3Fs"),
    at(65536 + 52, b"ReIsErFs"),
    at(8192 + 52, b"ReIsErFs"),
    at(8192 + 20, b"ReIsErFs"),
];

/// The possible first entries of a sequence of volume structure descriptors (ECMA-167, part 2).
const VOLUME_STRUCTURE: &[Mark] = &[
    at(32769, b"BEA01"),
    at(32769, b"BOOT2"),
    at(32769, b"CD001"),
    at(32769, b"CDW02"),
    at(32769, b"NSR02"),
    at(32769, b"NSR03"),
    at(32769, b"TEA01"),
];

/// Bare, as HFSX, and in an HFS volume.
const HFS_PLUS: &[Mark] = &[at(1024, b"H+"), at(1024, b"HX"), at(1024, b"BD")];

const SYSTEM_V_LE: &[u8] = &[0x20, 0x7e, 0x18, 0xfd];
const SYSTEM_V_BE: &[u8] = &[0xfd, 0x18, 0x7e, 0x20];
const fn system_v(block: u64, magic: &'static [u8]) -> Mark {
    at(1024 * block + 1016, magic)
}
const SYSTEM_V: &[Mark] = &[
    system_v(0, SYSTEM_V_LE),
    system_v(0, SYSTEM_V_BE),
    system_v(9, SYSTEM_V_LE),
    system_v(9, SYSTEM_V_BE),
    system_v(15, SYSTEM_V_LE),
    system_v(15, SYSTEM_V_BE),
    system_v(18, SYSTEM_V_LE),
    system_v(18, SYSTEM_V_BE),
];

/// Versions 1 and 2 with names of 14 and 30 bytes, then version 3; each in both byte orders.
const MINIX: &[Mark] = &[
    at(1040, &[0x7f, 0x13]),
    at(1040, &[0x8f, 0x13]),
    at(1040, &[0x68, 0x24]),
    at(1040, &[0x78, 0x24]),
    at(1040, &[0x13, 0x7f]),
    at(1040, &[0x13, 0x8f]),
    at(1040, &[0x24, 0x68]),
    at(1040, &[0x24, 0x78]),
    at(1048, &[0x5a, 0x4d]),
    at(1048, &[0x4d, 0x5a]),
];

const GFS: &[Mark] = &[at(65536, &[0x01, 0x16, 0x19, 0x70])];
const OCFS2: &[Mark] = &[at(1024, b"OCFSV2"), at(2048, b"OCFSV2"), at(4096, b"OCFSV2"), at(8192, b"OCFSV2")];
const BEFS: &[Mark] = &[at(32, b"BFS1"), at(32, b"1SFB"), at(544, b"BFS1"), at(544, b"1SFB")];
const NILFS2: &[Mark] = &[at(1024 + 6, &[0x34, 0x34]), end(4096 - 6, 512, &[0x34, 0x34])];

/// The header in the second sector, of 512 or 4096 bytes, and its copy in the last one.
const GPT: &[Mark] = &[
    at(512, partition_table::GPT_HEADER),
    at(4096, partition_table::GPT_HEADER),
    end(512, 512, partition_table::GPT_HEADER),
    end(4096, 4096, partition_table::GPT_HEADER),
];
const BOOT_MARK: &[Mark] = &[at(510, &[0x55, 0xaa])];
const BSD: &[u8] = &[0x57, 0x45, 0x56, 0x82];

const fn row(
    name: &'static str,
    blkid: &'static str,
    kind: Kind,
    marks: &'static [Mark],
    check: fn(&Content<'_>, u64) -> Option<bool>,
) -> Signature {
    Signature { name, blkid, kind, search: Search::Marks(marks, check) }
}

const fn scanned(
    name: &'static str,
    blkid: &'static str,
    kind: Kind,
    scan: fn(&Content<'_>) -> Vec<u64>,
    len: u64,
) -> Signature {
    Signature { name, blkid, kind, search: Search::Scan(scan, len) }
}

const fn at(offset: u64, bytes: &'static [u8]) -> Mark {
    Mark { place: Place::Start(offset), bytes }
}

/// This far before the end of the last whole `unit`.
const fn end(back: u64, unit: u64, bytes: &'static [u8]) -> Mark {
    Mark { place: Place::End { back, unit }, bytes }
}

/// The mark is long enough not to occur by accident.
const fn marked(_: &Content<'_>, _: u64) -> Option<bool> {
    Some(true)
}
