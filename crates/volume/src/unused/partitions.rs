//! Finds the partitions of an image: GPT (UEFI 2.10, 5.3) or the four primary entries of an MBR.
//!
//! ```text
//!   446   four MBR entries of 16 bytes; 0x55aa at 510
//!   512   GPT header: "EFI PART", first entry's sector at 72, number of entries at 80, their length at 84
//! ```

use crate::Storage;
use crate::probe::{GPT_HEADER, GPT_PROTECTIVE, MbrEntry, mbr};
use std::io;
use std::ops::Range;

/// Byte ranges of the partitions that lie within `image`; `None` when there is no partition table.
pub(super) fn of(image: &dyn Storage) -> io::Result<Option<Vec<Range<u64>>>> {
    let mut start = [0; 1024];
    if image.len() < start.len() as u64 {
        return Ok(None);
    }
    image.read_at(&mut start, 0)?;
    let Some(entries) = mbr(&start[..512]) else { return Ok(None) };
    let is_protective = entries.iter().any(|entry| entry.kind == GPT_PROTECTIVE);
    let found = if is_protective && start[512..].starts_with(GPT_HEADER) {
        gpt(image, &start[512..])?
    } else if start[446..510].iter().any(|&byte| byte != 0) && !is_protective {
        entries.iter().filter(|entry| entry.kind != 0).map(range_of).collect()
    } else {
        return Ok(None);
    };
    Ok(Some(without_overlaps(found, image.len())))
}

/// The valid partitions; none at all when two overlap (a hybrid or forged table), because it is
/// unclear which partition owns which bytes.
fn without_overlaps(mut found: Vec<Range<u64>>, len: u64) -> Vec<Range<u64>> {
    found.retain(|range| range.start < range.end && range.end <= len);
    found.sort_unstable_by_key(|range| range.start);
    if found.windows(2).any(|pair| pair[1].start < pair[0].end) {
        found.clear();
    }
    found
}

fn range_of(entry: &MbrEntry) -> Range<u64> {
    let (first, sectors) = (u64::from(entry.first), u64::from(entry.sectors));
    first * 512..(first + sectors) * 512
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
