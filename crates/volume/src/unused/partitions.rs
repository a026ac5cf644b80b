//! Where the partitions of an image lie: GPT (UEFI 2.10, 5.3) or the four primary entries of an MBR.
//!
//! ```text
//!   446   four MBR entries of 16 bytes: type at 4, first sector at 8, sectors at 12; 0x55aa at 510
//!   512   GPT header: "EFI PART", first entry's sector at 72, number of entries at 80, their length at 84
//! ```

use crate::Storage;
use std::io;
use std::ops::Range;

/// Byte ranges of the partitions that lie within `image`; `None` when there is no partition table.
pub(super) fn of(image: &dyn Storage) -> io::Result<Option<Vec<Range<u64>>>> {
    let mut start = [0; 1024];
    if image.len() < start.len() as u64 {
        return Ok(None);
    }
    image.read_at(&mut start, 0)?;
    if start[510..512] != [0x55, 0xaa] {
        return Ok(None);
    }
    let types: Vec<u8> = mbr_entries(&start).map(|entry| entry[4]).collect();
    let found = if types.contains(&GPT_PROTECTIVE) && start[512..].starts_with(b"EFI PART") {
        gpt(image, &start[512..])?
    } else if start[446..510].iter().any(|&byte| byte != 0) && !types.contains(&GPT_PROTECTIVE) {
        mbr_entries(&start).filter(|entry| entry[4] != 0).map(mbr_range).collect()
    } else {
        return Ok(None);
    };
    Ok(Some(without_overlaps(found, image.len())))
}

/// The partitions that make sense; none at all when two overlap (a hybrid or forged table): who owns what is unclear.
fn without_overlaps(mut found: Vec<Range<u64>>, len: u64) -> Vec<Range<u64>> {
    found.retain(|range| range.start < range.end && range.end <= len);
    found.sort_unstable_by_key(|range| range.start);
    if found.windows(2).any(|pair| pair[1].start < pair[0].end) {
        found.clear();
    }
    found
}

fn mbr_entries(start: &[u8; 1024]) -> impl Iterator<Item = &[u8]> {
    start[446..510].chunks_exact(16)
}

fn mbr_range(entry: &[u8]) -> Range<u64> {
    let u32_at = |at: usize| u64::from(u32::from_le_bytes(entry[at..at + 4].try_into().expect("4 bytes")));
    u32_at(8) * 512..(u32_at(8) + u32_at(12)) * 512
}

fn gpt(image: &dyn Storage, header: &[u8]) -> io::Result<Vec<Range<u64>>> {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
    let at = number(&header[72..80]).saturating_mul(512);
    let (count, len) = (number(&header[80..84]), number(&header[84..88]));
    if !(1..=1024).contains(&count) || !(128..=4096).contains(&len) {
        return Ok(Vec::new());
    }
    let Some(end) = at.checked_add(count * len).filter(|end| *end <= image.len()) else {
        return Ok(Vec::new());
    };
    let mut table = vec![0; (end - at) as usize];
    image.read_at(&mut table, at)?;
    let range = |entry: &[u8]| {
        let (first, last) = (number(&entry[32..40]), number(&entry[40..48]));
        first.saturating_mul(512)..last.saturating_add(1).saturating_mul(512)
    };
    Ok(table.chunks_exact(len as usize).filter(|e| e[..16] != [0; 16]).map(range).collect())
}

const GPT_PROTECTIVE: u8 = 0xee;
