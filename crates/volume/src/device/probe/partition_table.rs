//! Partition tables: GPT (UEFI 2.10, 5.3), MBR (5.2), and those of Apple and Sun.

use super::identity::hyphens;
use super::{Content, Reach, boot_sector};
use crate::Storage;
use std::io;

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

/// The values that `PARTUUID=` and `PARTLABEL=` refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// That of its GPT entry, or the MBR's signature and the partition's number.
    pub uuid: String,
    /// Its name, which only a GPT has.
    pub label: Option<String>,
}

/// The identity of the partition `number`, counted from 1, of a disk with such blocks.
pub fn partition(disk: &dyn Storage, number: u32, block: u64) -> Option<Partition> {
    let sector: [u8; 512] = bytes(disk, 0)?;
    if let Some(entry) = gpt_entry(disk, number, block) {
        let units = entry[56..].chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        let name: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
        return Some(Partition { uuid: guid(&entry[16..32]), label: String::from_utf16(&name).ok() });
    }
    mbr(&sector)?;
    let signature = u32::from_le_bytes(sector[440..444].try_into().ok()?);
    Some(Partition { uuid: format!("{signature:08x}-{number:02x}"), label: None })
}

/// The header is in the second block; at 72 are the first block of the entries, their number and
/// their size.
fn gpt_entry(disk: &dyn Storage, number: u32, block: u64) -> Option<[u8; 128]> {
    let header: [u8; 92] = bytes(disk, block)?;
    let le32 = |at: usize| Some(u32::from_le_bytes(header[at..at + 4].try_into().ok()?));
    let table = u64::from_le_bytes(header[72..80].try_into().ok()?);
    let (count, size) = (le32(80)?, le32(84)?);
    if !header.starts_with(GPT_HEADER) || number == 0 || number > count || size < 128 {
        return None;
    }
    let entry = u64::from(number - 1).checked_mul(u64::from(size))?;
    bytes(disk, table.checked_mul(block)?.checked_add(entry)?)
}

fn bytes<const N: usize>(disk: &dyn Storage, offset: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    disk.read_at(&mut bytes, offset).ok().map(|()| bytes)
}

/// A GUID's first three fields are little-endian.
fn guid(bytes: &[u8]) -> String {
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    hyphens(&order.map(|place| bytes[place]))
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

/// Whether a disk's first sector is a partition table rather than a file system's boot sector.
///
/// # Errors
/// The disk cannot be read.
pub(crate) fn is_mbr_of_disk(disk: &dyn Storage) -> io::Result<bool> {
    let content = Content::new(disk, 0..disk.len(), Reach::Start)?;
    let is_table = is_mbr(&content, 0).unwrap_or(false);
    content.into_error()?;
    Ok(is_table)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::storage::Memory;

    #[test]
    fn partitions_of_a_gpt() {
        let mut disk = vec![0; 4096];
        disk[512..520].copy_from_slice(b"EFI PART");
        disk[512 + 72] = 2;
        disk[512 + 80] = 4;
        disk[512 + 84] = 128;
        let entry = &mut disk[1024 + 128..1024 + 256];
        entry[16..32].copy_from_slice(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        entry[56..60].copy_from_slice(&[b'o', 0, b's', 0]);
        let disk = Memory::from(disk);
        let expected =
            Partition { uuid: "03020100-0504-0706-0809-0a0b0c0d0e0f".into(), label: Some("os".into()) };
        assert_eq!(partition(&disk, 2, 512), Some(expected));
        assert!(partition(&disk, 5, 512).is_none() && partition(&disk, 0, 512).is_none());
        assert!(partition(&disk, 2, 1 << 20).is_none());
    }

    #[test]
    fn partitions_of_an_mbr_are_numbered() {
        let mut disk = vec![0; 1024];
        disk[440..444].copy_from_slice(&[0x15, 0x08, 0, 0xab]);
        assert_eq!(partition(&Memory::from(disk.clone()), 3, 512), None);
        disk[510..512].copy_from_slice(&[0x55, 0xaa]);
        let expected = Partition { uuid: "ab000815-03".into(), label: None };
        assert_eq!(partition(&Memory::from(disk), 3, 512), Some(expected));
    }
}
