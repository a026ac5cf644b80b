//! The partitions of a disk or of its image: GPT (UEFI 2.10, 5.3), and MBR with logical partitions.
//!
//! A table counts in the disk's sectors, of 512 or 4096 bytes. An image does not say which: a GPT's
//! header is in the second sector, wherever that is; an MBR counts in those sectors in which more of
//! its partitions begin with something that is known, or are logical ones whose records are there.
//! Sectors of 512 bytes are asked first.

mod gpt;
mod mbr;
mod purpose;

pub use purpose::Purpose;

use crate::Storage;
use crate::device::probe::{Reach, Signature, probe_range};
use std::fmt;
use std::io;
use std::ops::Range;

/// A partition table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partitions {
    /// How it is written.
    pub scheme: Scheme,
    /// Its unit in bytes: 512 or 4096.
    pub sector: u64,
    /// In the table's order; all of them lie within the disk.
    pub all: Vec<Partition>,
}

/// How a partition table is written. `Display` is the short name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// A GUID partition table.
    Gpt,
    /// A master boot record; its logical partitions are a chain of further ones.
    Mbr,
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gpt => "GPT",
            Self::Mbr => "MBR",
        })
    }
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Its number, counted from 1 as the kernel does: a logical partition's is 5 or more.
    pub number: u32,
    /// What the table says it is for.
    pub purpose: Purpose,
    /// Where it is, in bytes of the disk.
    pub bytes: Range<u64>,
}

impl Partitions {
    /// Reads the table of a disk; `None` where there is none. A GPT whose checksums are wrong in both
    /// copies has no partitions.
    ///
    /// # Errors
    /// The disk cannot be read.
    pub fn of(disk: &dyn Storage) -> io::Result<Option<Self>> {
        for sector in SECTORS {
            if let Some(all) = gpt::partitions(disk, sector)? {
                return Ok(Some(Self { scheme: Scheme::Gpt, sector, all: within(all, disk) }));
            }
        }
        if let Some(sector) = gpt::damaged(disk)? {
            return Ok(Some(Self { scheme: Scheme::Gpt, sector, all: Vec::new() }));
        }
        let mut best: Option<(usize, Self)> = None;
        for sector in SECTORS {
            let Some(all) = mbr::partitions(disk, sector)? else { continue };
            let all = within(all, disk);
            let is_known = |it: &&Partition| {
                it.number >= mbr::FIRST_LOGICAL || it.content(disk).is_ok_and(|found| found.is_some())
            };
            let known = all.iter().filter(is_known).count();
            if best.as_ref().is_none_or(|(most, _)| known > *most) {
                best = Some((known, Self { scheme: Scheme::Mbr, sector, all }));
            }
        }
        Ok(best.map(|(_, table)| table))
    }

    /// The partition of this number.
    pub fn find(&self, number: u32) -> Option<&Partition> {
        self.all.iter().find(|partition| partition.number == number)
    }

    /// Whether another one has some of its bytes too: then it is unclear whose these are.
    pub(crate) fn shares_bytes(&self, one: &Partition) -> bool {
        let overlaps =
            |other: &&Partition| other.bytes.start < one.bytes.end && one.bytes.start < other.bytes.end;
        self.all.iter().filter(overlaps).count() > 1
    }

    /// Whether two of them share bytes: then it is unclear whose these are.
    pub fn overlap(&self) -> bool {
        let mut ranges: Vec<_> = self.all.iter().map(|partition| partition.bytes.clone()).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.windows(2).any(|pair| pair[1].start < pair[0].end)
    }
}

impl Partition {
    /// The outermost layer of what it holds, if that is known.
    ///
    /// # Errors
    /// The disk cannot be read.
    pub fn content(&self, disk: &dyn Storage) -> io::Result<Option<&'static Signature>> {
        let found = probe_range(disk, self.bytes.clone(), Reach::Start)?;
        Ok(found.first().map(|found| found.signature))
    }
}

fn within(mut all: Vec<Partition>, disk: &dyn Storage) -> Vec<Partition> {
    all.retain(|partition| partition.bytes.start < partition.bytes.end && partition.bytes.end <= disk.len());
    all
}

/// Bytes of the disk; `None` where it ends before.
fn bytes<const N: usize>(disk: &dyn Storage, offset: u64) -> io::Result<Option<[u8; N]>> {
    let mut bytes = [0; N];
    match offset.checked_add(N as u64) {
        Some(end) if end <= disk.len() => disk.read_at(&mut bytes, offset).map(|()| Some(bytes)),
        _ => Ok(None),
    }
}

/// A little-endian number of at most eight bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

/// The units of partition tables.
const SECTORS: [u64; 2] = [512, 4096];

#[cfg(test)]
mod tests;
