//! Additional checks for the marks of file systems: which member of a family it is, and whether a
//! two-byte mark is more than an accident.

use super::Content;

/// The place of the superblock of ext2, ext3 and ext4 (kernel, Documentation/filesystems/ext4).
pub(super) const EXT: u64 = 1024;
/// The place of its magic number in the superblock.
pub(super) const EXT_MAGIC_AT: u64 = 0x38;
/// The magic number, as it is stored.
pub(crate) const EXT_MAGIC: [u8; 2] = [0x53, 0xef];

/// The members of the ext2 family differ by features: those that a system which knows only the
/// older member would not understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ext {
    Two,
    Three,
    Four,
    Journal,
}

fn ext(content: &Content<'_>) -> Option<Ext> {
    let compatible = content.le32(EXT + 0x5c)?;
    let (incompatible, read_only) = (content.le32(EXT + 0x60)?, content.le32(EXT + 0x64)?);
    if content.le32(EXT + 0x18)? > EXT_LARGEST_BLOCK {
        return None;
    }
    Some(if incompatible & EXT_JOURNAL_DEVICE != 0 {
        Ext::Journal
    } else if incompatible & !EXT3_INCOMPATIBLE != 0 || read_only & !EXT3_READ_ONLY != 0 {
        Ext::Four
    } else if compatible & EXT_HAS_JOURNAL != 0 {
        Ext::Three
    } else {
        Ext::Two
    })
}

pub(super) fn is_ext2(content: &Content<'_>, _: u64) -> Option<bool> {
    Some(ext(content)? == Ext::Two)
}

pub(super) fn is_ext3(content: &Content<'_>, _: u64) -> Option<bool> {
    Some(ext(content)? == Ext::Three)
}

pub(super) fn is_ext4(content: &Content<'_>, _: u64) -> Option<bool> {
    Some(ext(content)? == Ext::Four)
}

pub(super) fn is_ext_journal(content: &Content<'_>, _: u64) -> Option<bool> {
    Some(ext(content)? == Ext::Journal)
}

/// The block size is 1024 << 6 bytes.
const EXT_LARGEST_BLOCK: u32 = 6;
const EXT_HAS_JOURNAL: u32 = 0x4;
const EXT_JOURNAL_DEVICE: u32 = 0x8;
/// filetype, recover, meta_bg.
const EXT3_INCOMPATIBLE: u32 = 0x2 | 0x4 | 0x10;
/// sparse_super, large_file, btree_dir.
const EXT3_READ_ONLY: u32 = 0x1 | 0x2 | 0x4;

/// The sequence of descriptors contains one of UDF's (ECMA-167, part 2, 8.3; a descriptor takes
/// 2048 bytes, or one block where blocks are larger).
pub(super) fn is_udf(content: &Content<'_>, _: u64) -> Option<bool> {
    Some([2048, 4096].into_iter().any(|step| has_udf_descriptor(content, step)))
}

fn has_udf_descriptor(content: &Content<'_>, step: u64) -> bool {
    let names = (0..64).map_while(|number| content.bytes(32769 + number * step, 5));
    let mut sequence = names.take_while(|name| VOLUME_STRUCTURE.contains(&&name[..]));
    sequence.any(|name| name.starts_with(b"NSR0"))
}

const VOLUME_STRUCTURE: &[&[u8]] = &[b"BEA01", b"BOOT2", b"CD001", b"CDW02", b"NSR02", b"NSR03", b"TEA01"];

/// The uberblocks in the labels, two labels at the start and two at the end; none where there are
/// fewer than four uberblocks, since single ones outlive their pool.
pub(super) fn zfs_uberblocks(content: &Content<'_>) -> Vec<u64> {
    let end = content.len() / ZFS_LABEL * ZFS_LABEL;
    let labels = [Some(0), Some(ZFS_LABEL), end.checked_sub(2 * ZFS_LABEL), end.checked_sub(ZFS_LABEL)];
    let mut labels: Vec<_> = labels.into_iter().flatten().collect();
    labels.sort_unstable();
    labels.dedup();
    let found: Vec<_> = labels.iter().flat_map(|label| zfs_ring(content, label + ZFS_LABEL / 2)).collect();
    if found.len() < 4 { Vec::new() } else { found }
}

fn zfs_ring(content: &Content<'_>, at: u64) -> Vec<u64> {
    let ring = content.bytes(at, ZFS_LABEL as usize / 2).unwrap_or_default();
    let blocks = (at..).step_by(1024).zip(ring.chunks_exact(1024));
    let marked = blocks.filter(|(_, block)| ZFS_MAGIC.iter().any(|magic| block.starts_with(magic)));
    marked.map(|(at, _)| at).collect()
}

const ZFS_LABEL: u64 = 256 << 10;
const ZFS_MAGIC: [[u8; 8]; 2] = [0x00ba_b10c_u64.to_le_bytes(), 0x00ba_b10c_u64.to_be_bytes()];

/// Bare, or wrapped in an HFS volume, which names the wrapped format at 124 (Apple, Technical Note
/// TN1150).
pub(super) fn is_hfs_plus(content: &Content<'_>, at: u64) -> Option<bool> {
    if content.holds(at, b"BD") {
        return Some(content.holds(at + 124, b"H+") || content.holds(at + 124, b"HX"));
    }
    let block = content.be32(at + 40)?;
    Some(matches!(content.be16(at + 2)?, 4 | 5) && block.is_power_of_two() && block >= 512)
}

/// Allocation blocks of whole sectors, and no wrapped volume.
pub(super) fn is_hfs(content: &Content<'_>, at: u64) -> Option<bool> {
    let block = content.be32(at + 20)?;
    Some(block > 0 && block.is_multiple_of(512) && is_hfs_plus(content, at) == Some(false))
}

/// One of six numbers in either byte order, at the end of a superblock in one of four places.
pub(super) fn ufs_numbers(content: &Content<'_>) -> Vec<u64> {
    let is_one = |found: u32| UFS_MAGIC.iter().any(|magic| found == *magic || found == magic.swap_bytes());
    let places = [0, 8, 64, 256].map(|kib| (kib << 10) + 1372);
    places.into_iter().filter(|at| content.le32(*at).is_some_and(is_one)).collect()
}

const UFS_MAGIC: [u32; 6] = [0x0001_1954, 0x1954_0119, 0x0019_5612, 0x0009_5014, 0x0061_2195, 0x0523_1994];

/// The spare superblock is in the next sector.
pub(super) fn is_hpfs(content: &Content<'_>, at: u64) -> Option<bool> {
    Some(content.holds(at + 512, &[0x49, 0x18, 0x91, 0xf9]))
}

/// The bitmaps are large enough for the inodes and zones (kernel, fs/minix/minix.h).
pub(super) fn is_minix(content: &Content<'_>, mark: u64) -> Option<bool> {
    if content.holds(EXT + EXT_MAGIC_AT, &EXT_MAGIC) {
        return Some(false);
    }
    let is_swapped = matches!(content.u8(mark)?, 0x13 | 0x24 | 0x4d);
    let u16_at = |at| if is_swapped { content.be16(at) } else { content.le16(at) };
    let u32_at = |at| if is_swapped { content.be32(at) } else { content.le32(at) };
    if mark == 1048 {
        return Some(u16_at(1024 + 6)? > 0 && u16_at(1024 + 8)? > 0);
    }
    let is_second = content.holds(mark, &[0x24]) || content.holds(mark + 1, &[0x24]);
    let zones = if is_second { u32_at(1024 + 20)? } else { u16_at(1024 + 2)?.into() };
    let inodes = u64::from(u16_at(1024)?);
    let (inode_map, zone_map) = (u64::from(u16_at(1024 + 4)?), u64::from(u16_at(1024 + 6)?));
    let data_zones = u64::from(zones).checked_sub(u16_at(1024 + 8)?.into())?;
    const BITS: u64 = 1024 * 8;
    Some(inode_map > 0 && zone_map > 0 && inode_map * BITS > inodes && zone_map * BITS > data_zones)
}

/// The format numbers of the file system and of its locks.
pub(super) fn is_gfs(content: &Content<'_>, at: u64) -> Option<bool> {
    Some(content.be32(at + 24)? == 1309 && content.be32(at + 28)? == 1401)
}

/// See [`is_gfs`].
pub(super) fn is_gfs2(content: &Content<'_>, at: u64) -> Option<bool> {
    Some((1801..1900).contains(&content.be32(at + 24)?) && content.be32(at + 28)? == 1900)
}

/// Major version 4, at 28.
pub(super) fn is_squashfs(content: &Content<'_>, at: u64) -> Option<bool> {
    Some(content.le16(at + 28)? >= 4)
}

/// Earlier versions existed in both byte orders.
pub(super) fn is_squashfs_3(content: &Content<'_>, at: u64) -> Option<bool> {
    let is_swapped = content.holds(at, b"s");
    Some(if is_swapped { content.be16(at + 28)? } else { content.le16(at + 28)? } < 4)
}

/// The superblock's length at 8, the block size at 20, the device's length at 32 (kernel,
/// nilfs2_ondisk.h).
pub(super) fn is_nilfs2(content: &Content<'_>, magic: u64) -> Option<bool> {
    let start = magic.checked_sub(6)?;
    let (len, block, device) =
        (content.le16(start + 8)?, content.le32(start + 20)?, content.le64(start + 32)?);
    Some((44..=1024).contains(&len) && block <= 6 && (1..=content.len()).contains(&device))
}
