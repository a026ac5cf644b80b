//! Master boot records (UEFI 2.10, 5.2): four entries at byte 446, "55 aa" at 510. An entry of type
//! 05, 0f or 85 is the extended partition; in its first sector stands a record of the same form,
//! whose first entry is a logical partition, counted from there, and whose second is the next record,
//! counted from the extended partition's start.

use super::{Partition, Purpose, bytes};
use crate::Storage;
use crate::device::probe::{GPT_PROTECTIVE, MbrEntry, is_mbr_of_disk, mbr};
use std::io;

/// The partitions, the extended one left out; `None` where there is no table.
pub(super) fn partitions(disk: &dyn Storage, sector: u64) -> io::Result<Option<Vec<Partition>>> {
    let Some(entries) = bytes::<512>(disk, 0)?.and_then(|record| mbr(&record)) else { return Ok(None) };
    let is_table = entries.iter().any(|entry| entry.kind != 0 && entry.sectors != 0);
    if !is_table || entries.iter().any(|entry| entry.kind == GPT_PROTECTIVE) || !is_mbr_of_disk(disk)? {
        return Ok(None);
    }
    let primary = entries.iter().zip(1..).filter(|(entry, _)| is_data(entry));
    let mut all: Vec<_> = primary.map(|(entry, number)| partition(entry, 0, number, sector)).collect();
    if let Some(extended) = entries.iter().find(|entry| is_extended(entry)) {
        logical(disk, extended, sector, &mut all)?;
    }
    Ok(Some(all))
}

/// Follows the chain of records, which may be forged: each is within the extended partition, and they
/// are no more than a table may have.
fn logical(disk: &dyn Storage, extended: &MbrEntry, sector: u64, all: &mut Vec<Partition>) -> io::Result<()> {
    let (base, end) = (u64::from(extended.first), u64::from(extended.first) + u64::from(extended.sectors));
    let mut at = base;
    for number in FIRST_LOGICAL..FIRST_LOGICAL + MOST {
        let record = bytes::<512>(disk, at.saturating_mul(sector))?.and_then(|record| mbr(&record));
        let Some([first, next, ..]) = record else { break };
        if is_data(&first) {
            all.push(partition(&first, at, number, sector));
        }
        let follows = base + u64::from(next.first);
        if !is_extended(&next) || follows <= at || follows >= end {
            break;
        }
        at = follows;
    }
    Ok(())
}

fn is_extended(entry: &MbrEntry) -> bool {
    matches!(entry.kind, 0x05 | 0x0f | 0x85) && entry.sectors != 0
}

fn is_data(entry: &MbrEntry) -> bool {
    entry.kind != 0 && entry.sectors != 0 && !is_extended(entry)
}

fn partition(entry: &MbrEntry, from: u64, number: u32, sector: u64) -> Partition {
    let first = from + u64::from(entry.first);
    Partition {
        number,
        purpose: Purpose::Mbr(entry.kind),
        bytes: first * sector..(first + u64::from(entry.sectors)) * sector,
    }
}

/// Logical partitions are counted from here.
pub(super) const FIRST_LOGICAL: u32 = 5;
/// More than anyone makes; the kernel stops at 256 in all.
const MOST: u32 = 128;
