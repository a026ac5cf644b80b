//! Recognises FAT by its boot sector (Microsoft, FAT: General Overview of On-Disk Format, 1.03).
//!
//! ```text
//!  11  2  bytes a sector         17  2  entries of the root directory   22  2  sectors a FAT (12, 16)
//!  13  1  sectors a cluster      19  2  sectors, or 0                   32  4  sectors, where that is 0
//!  14  2  reserved sectors       21  1  medium                          36  4  sectors a FAT (32)
//!  16  1  FATs
//! ```
//!
//! The number of clusters determines the width of the entries; the name in the boot sector does
//! not.

use super::{Content, encrypted};

/// The number of bits in an entry of the allocation table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Bits12,
    Bits16,
    Bits32,
}

pub(super) fn is_fat12(content: &Content<'_>, mark: u64) -> Option<bool> {
    Some(width(content, mark)? == Width::Bits12)
}

pub(super) fn is_fat16(content: &Content<'_>, mark: u64) -> Option<bool> {
    Some(width(content, mark)? == Width::Bits16)
}

pub(super) fn is_fat32(content: &Content<'_>, mark: u64) -> Option<bool> {
    Some(width(content, mark)? == Width::Bits32)
}

/// Whether a boot sector is FAT's, and not a partition table.
pub(super) fn is_fat(content: &Content<'_>) -> bool {
    by_clusters(content).is_some()
}

fn width(content: &Content<'_>, mark: u64) -> Option<Width> {
    let is_another =
        content.holds(54, b"JFS     ") || content.holds(54, b"HPFS    ") || content.holds(3, b"-FVE-FS-");
    if is_another || encrypted::is_bitlocker(content, 0) == Some(true) {
        return None;
    }
    by_clusters(content).or_else(|| by_name(content, mark))
}

/// The type that a damaged boot sector names.
fn by_name(content: &Content<'_>, mark: u64) -> Option<Width> {
    match mark {
        54 if content.holds(54, b"FAT12   ") => Some(Width::Bits12),
        54 if content.holds(54, b"FAT16   ") => Some(Width::Bits16),
        82 if content.holds(82, b"FAT32   ") => Some(Width::Bits32),
        _ => None,
    }
}

fn by_clusters(content: &Content<'_>) -> Option<Width> {
    let sector = u64::from(content.le16(11)?);
    let a_cluster = u64::from(content.u8(13)?);
    let (reserved, tables) = (u64::from(content.le16(14)?), u64::from(content.u8(16)?));
    let is_sane = sector.is_power_of_two()
        && (512..=4096).contains(&sector)
        && a_cluster.is_power_of_two()
        && reserved > 0
        && tables > 0
        && matches!(content.u8(21)?, 0xf0 | 0xf8..);
    if !is_sane {
        return None;
    }
    let root = (u64::from(content.le16(17)?) * 32).div_ceil(sector);
    let sectors = either(content.le16(19)?, content.le32(32)?);
    let (short, long) = (content.le16(22)?, content.le32(36)?);
    let clusters = sectors.checked_sub(reserved + tables * either(short, long) + root)? / a_cluster;
    if short == 0 && long != 0 {
        return (clusters <= 0x0fff_fff6).then_some(Width::Bits32);
    }
    match clusters {
        0..=0xff4 => Some(Width::Bits12),
        0xff5..=0xfff4 => Some(Width::Bits16),
        _ => None,
    }
}

/// The wide field if the narrow one is 0.
fn either(narrow: u16, wide: u32) -> u64 {
    if narrow == 0 { wide.into() } else { narrow.into() }
}
