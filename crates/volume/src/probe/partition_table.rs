//! Partition tables: GPT (UEFI 2.10, 5.3), MBR (5.2), and those of Apple and Sun.

use super::{Content, boot_sector};

/// The first bytes of a GPT header.
pub(crate) const GPT_HEADER: &[u8] = b"EFI PART";
/// The type of the MBR entry that protects a GPT from other programs.
pub(crate) const GPT_PROTECTIVE: u8 = 0xee;

/// One of an MBR's four primary entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MbrEntry {
    /// 0x80 if it is bootable, or 0.
    pub(crate) flag: u8,
    /// 0 when there is no such partition.
    pub(crate) kind: u8,
    /// In sectors.
    pub(crate) first: u32,
    /// In sectors.
    pub(crate) sectors: u32,
}

/// The entries of a sector that ends with the boot mark: flag at 0, type at 4, first sector at 8,
/// sectors at 12.
pub(crate) fn mbr(sector: &[u8]) -> Option<[MbrEntry; 4]> {
    let entries: &[u8; 66] = sector.get(446..512)?.try_into().ok()?;
    let number =
        |at: usize| u32::from_le_bytes([entries[at], entries[at + 1], entries[at + 2], entries[at + 3]]);
    let entry = |at| MbrEntry {
        flag: entries[at],
        kind: entries[at + 4],
        first: number(at + 8),
        sectors: number(at + 12),
    };
    (entries[64..] == [0x55, 0xaa]).then(|| [entry(0), entry(16), entry(32), entry(48)])
}

/// The header at the start, or its copy at the end. Only a protective MBR distinguishes the copy
/// from the remains of a former GPT.
pub(super) fn is_gpt(content: &Content<'_>, at: u64) -> Option<bool> {
    Some(at <= 4096 || is_protected(content)?)
}

/// A system removed the GPT and left its protective MBR.
pub(super) fn is_left_over(content: &Content<'_>, _: u64) -> Option<bool> {
    let last = |sector: u64| (content.len() / sector * sector).checked_sub(sector);
    let places = [Some(512), Some(4096), last(512), last(4096)];
    let has_gpt = places.into_iter().flatten().any(|at| content.holds(at, GPT_HEADER));
    Some(is_protected(content)? && !has_gpt)
}

fn is_protected(content: &Content<'_>) -> Option<bool> {
    Some(mbr(&content.bytes(0, 512)?)?.iter().any(|entry| entry.kind == GPT_PROTECTIVE))
}

/// Boot sectors of FAT, NTFS and exFAT have the same end mark, with code in place of the entries.
pub(super) fn is_mbr(content: &Content<'_>, _: u64) -> Option<bool> {
    let entries = mbr(&content.bytes(0, 512)?)?;
    let is_file_system = content.holds(3, b"NTFS    ")
        || content.holds(3, b"EXFAT   ")
        || content.holds(0, &[0xc9, 0xc2, 0xd4, 0xc1])
        || boot_sector::is_fat(content);
    let is_table = entries.iter().all(|entry| matches!(entry.flag, 0 | 0x80) && entry.kind != GPT_PROTECTIVE);
    Some(is_table && !is_file_system)
}

/// The driver descriptor holds the block size at 2; the map begins in the second block.
pub(super) fn is_apple(content: &Content<'_>, _: u64) -> Option<bool> {
    let block = u64::from(content.be16(2)?);
    let begins = content.holds(block, b"PM") || content.holds(block, b"TS");
    Some(block.is_power_of_two() && (512..=4096).contains(&block) && begins)
}

/// The XOR of all words of the label's sector is zero.
pub(super) fn is_sun(content: &Content<'_>, _: u64) -> Option<bool> {
    let label = content.bytes(0, 512)?;
    let words = label.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]]));
    Some(words.fold(0, |sum, word| sum ^ word) == 0)
}
