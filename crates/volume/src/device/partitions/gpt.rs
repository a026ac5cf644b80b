//! GUID partition tables (UEFI 2.10, 5.3), which an MBR with an entry of type ee protects. The first
//! header counts if its checksums match, else its copy in the last sector.
//!
//! ```text
//!     0  "EFI PART"
//!    12  length of the header    16  its CRC-32, taken with zeros in its place
//!    72  first sector of the entries    80  their number    84  their length    88  their CRC-32
//!
//!     0  an entry's type, zeros if there is none    32  first sector    40  last sector
//! ```

use super::{Partition, Purpose, SECTORS, bytes, number};
use crate::Storage;
use crate::device::probe::{GPT_HEADER, GPT_PROTECTIVE, mbr};
use keyway_format::crc32::crc32;
use std::io;

/// The partitions; `None` where there is no valid table in this unit.
pub(super) fn partitions(disk: &dyn Storage, sector: u64) -> io::Result<Option<Vec<Partition>>> {
    if !is_protected(disk)? {
        return Ok(None);
    }
    let last = (disk.len() / sector).saturating_sub(1);
    for at in [1, last] {
        let Some(entries) = entries(disk, at, sector)? else { continue };
        return Ok(Some(entries));
    }
    Ok(None)
}

/// The unit of a table of which neither copy is valid.
pub(super) fn damaged(disk: &dyn Storage) -> io::Result<Option<u64>> {
    for sector in SECTORS {
        if is_protected(disk)? && bytes::<8>(disk, sector)?.is_some_and(|mark| mark == *GPT_HEADER) {
            return Ok(Some(sector));
        }
    }
    Ok(None)
}

fn is_protected(disk: &dyn Storage) -> io::Result<bool> {
    let entries = bytes::<512>(disk, 0)?.and_then(|record| mbr(&record));
    Ok(entries.is_some_and(|entries| entries.iter().any(|entry| entry.kind == GPT_PROTECTIVE)))
}

/// Those of the header in the sector `at`.
fn entries(disk: &dyn Storage, at: u64, sector: u64) -> io::Result<Option<Vec<Partition>>> {
    let Some(header) = bytes::<512>(disk, at.saturating_mul(sector))? else { return Ok(None) };
    let len = number(&header[12..16]) as usize;
    if !header.starts_with(GPT_HEADER) || !HEADER.contains(&len) {
        return Ok(None);
    }
    let mut checked = header[..len].to_vec();
    checked[16..20].fill(0);
    let (count, entry) = (number(&header[80..84]), number(&header[84..88]));
    let is_sane = (1..=MOST).contains(&count) && (128..=4096).contains(&entry);
    if u64::from(crc32(&checked)) != number(&header[16..20]) || !is_sane {
        return Ok(None);
    }
    let start = number(&header[72..80]).saturating_mul(sector);
    if start.checked_add(count * entry).is_none_or(|end| end > disk.len()) {
        return Ok(None);
    }
    let mut table = vec![0; (count * entry) as usize];
    disk.read_at(&mut table, start)?;
    if u64::from(crc32(&table)) != number(&header[88..92]) {
        return Ok(None);
    }
    let entries = table.chunks_exact(entry as usize).zip(1..);
    let used = entries.filter(|(entry, _)| entry[..16] != [0; 16]);
    Ok(Some(used.map(|(entry, number)| partition(entry, number, sector)).collect()))
}

fn partition(entry: &[u8], index: u32, sector: u64) -> Partition {
    let (first, last) = (number(&entry[32..40]), number(&entry[40..48]));
    Partition {
        number: index,
        purpose: Purpose::Gpt(entry[..16].try_into().unwrap_or_default()),
        bytes: first.saturating_mul(sector)..last.saturating_add(1).saturating_mul(sector),
    }
}

/// The length of a header.
const HEADER: std::ops::RangeInclusive<usize> = 92..=512;
/// The number of entries: eight times the usual 128.
const MOST: u64 = 1024;
