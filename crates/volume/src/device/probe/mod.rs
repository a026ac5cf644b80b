//! Recognises the content of a device or an image: file systems, swap space, partition tables,
//! members of RAID sets and volume groups, encrypted volumes. One table ([`SIGNATURES`]) serves all
//! callers: what would be overwritten, which file system would be mounted, which sector size suits
//! it, whether a damaged header may be restored.
//!
//! A row is a format's name, its name in `blkid`, and its marks: bytes at a place, counted from the
//! start or from the end. Where a mark is short, or several formats share it, an additional check
//! reads more. Checksums are not compared: a damaged superblock is still somebody's data. So this
//! table names everything that `blkid -p` names, and some damaged formats that `blkid -p` would no
//! longer name.
//!
//! Places and bytes are facts of the formats, taken from their specifications, from the kernel's
//! headers and from the documentation of what libblkid (util-linux 2.38) searches for; libblkid's
//! names are used as names only.

mod boot_sector;
mod content;
mod encrypted;
mod identity;
mod noise;
mod partition_table;
mod raid;
mod sectors;
mod superblock;
mod table;

pub use content::Reach;
pub use identity::{Identity, identity};
pub use noise::is_noise;
pub use partition_table::{Partition, partition};
pub use sectors::{largest_sector, too_small_for};
pub use table::SIGNATURES;

pub(crate) use content::Content;
pub(crate) use partition_table::{GPT_HEADER, GPT_PROTECTIVE, MbrEntry, is_mbr_of_disk, mbr};
pub(crate) use superblock::EXT_MAGIC;

use crate::Storage;
use std::io;
use std::ops::Range;

/// The kind of content that a signature identifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Files and directories.
    FileSystem,
    /// Swap space, or a suspended system's memory in it.
    Swap,
    /// A journal that is separate from its file system.
    Journal,
    /// Partitions.
    PartitionTable,
    /// A member of a pool or volume group from which volumes are allocated.
    VolumeManager,
    /// A member of a RAID set.
    Raid,
    /// A ciphertext, together with the data to open it.
    Encrypted,
    /// Another kind of layer: checked, cached, copied or compressed blocks.
    Layer,
}

/// A row of the table: how one format is recognised.
#[derive(Debug)]
pub struct Signature {
    /// Our name for the format.
    pub name: &'static str,
    /// Its name in `blkid`: its TYPE, or its PTTYPE for a partition table.
    pub blkid: &'static str,
    /// The kind of content.
    pub kind: Kind,
    search: Search,
}

/// How to search for a format.
#[derive(Debug)]
enum Search {
    /// By marks, each with an additional check. `None`, where the content ends too early, counts as
    /// no match.
    Marks(&'static [Mark], fn(&Content<'_>, u64) -> Option<bool>),
    /// By more places than a table should list: returns where its marks are, of this many bytes
    /// each.
    Scan(fn(&Content<'_>) -> Vec<u64>, u64),
}

/// Bytes at a place.
#[derive(Debug)]
struct Mark {
    place: Place,
    bytes: &'static [u8],
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// This far from the start.
    Start(u64),
    /// This far before the last multiple of a unit within the content.
    End { back: u64, unit: u64 },
}

impl Place {
    fn offset(self, len: u64) -> Option<u64> {
        match self {
            Self::Start(offset) => Some(offset),
            Self::End { back, unit } => (len / unit * unit).checked_sub(back),
        }
    }
}

/// A signature that was found.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// The signature.
    pub signature: &'static Signature,
    /// The offset of its mark, in bytes from the content's start.
    pub offset: u64,
}

/// Finds all signatures on `storage`, in the table's order: outer layers come first.
///
/// # Errors
/// A place where a signature could be cannot be read.
pub fn probe(storage: &dyn Storage) -> io::Result<Vec<Found>> {
    probe_range(storage, 0..storage.len(), Reach::Whole)
}

/// The same, for a part of a storage.
///
/// # Errors
/// A place where a signature could be cannot be read.
pub fn probe_range(storage: &dyn Storage, range: Range<u64>, reach: Reach) -> io::Result<Vec<Found>> {
    let content = Content::new(storage, range, reach)?;
    let found = all(&content);
    content.into_error()?;
    Ok(found)
}

/// The first signature that does not belong to LUKS itself: a LUKS header must not be written over
/// it without asking.
///
/// # Errors
/// A place where a signature could be cannot be read.
pub fn foreign(storage: &dyn Storage) -> io::Result<Option<&'static Signature>> {
    let found = probe(storage)?.into_iter().map(|found| found.signature);
    Ok(found.into_iter().find(|signature| !signature.is_luks()))
}

/// The file system that would be mounted from the content; `None` where there is none, or more than
/// one.
///
/// # Errors
/// A place where a signature could be cannot be read.
pub fn file_system(storage: &dyn Storage, reach: Reach) -> io::Result<Option<&'static Signature>> {
    let found = probe_range(storage, 0..storage.len(), reach)?;
    let found: Vec<_> = found.iter().filter(|found| found.signature.kind != Kind::PartitionTable).collect();
    Ok(match found[..] {
        [only] if only.signature.kind == Kind::FileSystem => Some(only.signature),
        _ => None,
    })
}

/// Zeroes the marks of all recognised formats, wherever they are: remains that a new header does
/// not cover must not continue to claim the device.
pub(crate) fn wipe(storage: &dyn Storage) -> io::Result<()> {
    // Removing one format's mark may reveal another format that it had hidden.
    for _ in 0..MOST_LAYERS {
        let content = Content::new(storage, 0..storage.len(), Reach::Whole)?;
        let marks: Vec<_> = SIGNATURES.iter().flat_map(|signature| signature.places(&content)).collect();
        content.into_error()?;
        if marks.is_empty() {
            break;
        }
        for mark in marks {
            storage.write_zeroes(mark, false)?;
        }
    }
    Ok(())
}

fn all(content: &Content<'_>) -> Vec<Found> {
    let first = |signature: &'static Signature| {
        let offset = signature.places(content).first()?.start;
        Some(Found { signature, offset })
    };
    SIGNATURES.iter().filter_map(first).collect()
}

impl Signature {
    /// Whether it is LUKS's, of any version.
    pub(crate) fn is_luks(&self) -> bool {
        self.blkid == LUKS
    }

    /// The places of its marks.
    fn places(&self, content: &Content<'_>) -> Vec<Range<u64>> {
        match self.search {
            Search::Marks(marks, check) => {
                let stands = |mark: &Mark| {
                    let at = mark.place.offset(content.len())?;
                    let is_there = content.holds(at, mark.bytes) && check(content, at)?;
                    is_there.then_some(at..at + mark.bytes.len() as u64)
                };
                marks.iter().filter_map(stands).collect()
            }
            Search::Scan(scan, len) => scan(content).into_iter().map(|at| at..at + len).collect(),
        }
    }
}

/// More than the number of formats that any device has carried at once.
const MOST_LAYERS: usize = 16;
/// blkid's name of all versions of LUKS.
const LUKS: &str = "crypto_LUKS";

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
