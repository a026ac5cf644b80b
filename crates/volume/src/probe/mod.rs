//! What a device or an image holds: file systems, swap space, partition tables, members of RAID
//! sets and volume groups, encrypted volumes. One table ([`SIGNATURES`]) answers everybody who
//! asks: what would be overwritten, which file system would be mounted, which sectors fit below it,
//! whether a damaged header may be restored.
//!
//! A row is a format's name, the name that `blkid` gives it, and its marks: bytes at a place,
//! counted from the start or from the end. Where a mark is short, or several formats share it, a
//! check beside it reads more. Checksums are not compared: a damaged superblock is still somebody's
//! data. So everything that `blkid -p` names is named here, and some things that it would not name
//! any more.
//!
//! Places and bytes are facts of the formats, taken from their specifications, from the kernel's
//! headers and from what libblkid (util-linux 2.38) documents that it looks for; its names are used
//! as names.

mod boot_sector;
mod content;
mod encrypted;
mod identity;
mod partition_table;
mod raid;
mod sectors;
mod superblock;
mod table;

pub use content::Reach;
pub use identity::{Identity, identity};
pub use sectors::largest_sector;
pub use table::SIGNATURES;

pub(crate) use content::Content;
pub(crate) use partition_table::{GPT_HEADER, GPT_PROTECTIVE, MbrEntry, mbr};
pub(crate) use superblock::EXT_MAGIC;

use crate::Storage;
use std::io;
use std::ops::Range;

/// What a signature stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Files and directories.
    FileSystem,
    /// Swap space, or a system's memory in it.
    Swap,
    /// A journal that stands apart from its file system.
    Journal,
    /// Partitions.
    PartitionTable,
    /// A share of a pool or volume group, out of which volumes are cut.
    VolumeManager,
    /// A share of a RAID set.
    Raid,
    /// A ciphertext, and what opens it.
    Encrypted,
    /// A layer that is neither: checked, cached, copied or compressed blocks.
    Layer,
}

/// A row of the table: how one format is recognised.
#[derive(Debug)]
pub struct Signature {
    /// What we call the format.
    pub name: &'static str,
    /// What `blkid` calls it: its TYPE, or its PTTYPE where it is a partition table.
    pub blkid: &'static str,
    /// What it stands for.
    pub kind: Kind,
    search: Search,
}

/// How a format is looked for.
#[derive(Debug)]
enum Search {
    /// By marks, each with the check that it needs. `None`, where the content ends too early, is
    /// no.
    Marks(&'static [Mark], fn(&Content<'_>, u64) -> Option<bool>),
    /// By more places than a table should list: where its marks stand, of this many bytes each.
    Scan(fn(&Content<'_>) -> Vec<u64>, u64),
}

/// Bytes that stand at a place.
#[derive(Debug)]
struct Mark {
    place: Place,
    bytes: &'static [u8],
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// So far from the start.
    Start(u64),
    /// So far before the last multiple of a unit within the content.
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

/// A signature that is there.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// Which.
    pub signature: &'static Signature,
    /// Where its mark stands, in bytes from the content's start.
    pub offset: u64,
}

/// Everything that `storage` holds signatures of, in the table's order: what lies further out comes
/// first.
///
/// # Errors
/// A place where a signature could stand cannot be read.
pub fn probe(storage: &dyn Storage) -> io::Result<Vec<Found>> {
    probe_range(storage, 0..storage.len(), Reach::Whole)
}

/// The same, of a part of a storage.
///
/// # Errors
/// A place where a signature could stand cannot be read.
pub fn probe_range(storage: &dyn Storage, range: Range<u64>, reach: Reach) -> io::Result<Vec<Found>> {
    let content = Content::new(storage, range, reach)?;
    let found = all(&content);
    content.into_error()?;
    Ok(found)
}

/// The first signature that is not of LUKS itself: what a LUKS header must not be written over
/// unasked.
///
/// # Errors
/// A place where a signature could stand cannot be read.
pub fn foreign(storage: &dyn Storage) -> io::Result<Option<&'static Signature>> {
    let found = probe(storage)?.into_iter().map(|found| found.signature);
    Ok(found.into_iter().find(|signature| signature.blkid != LUKS))
}

/// The file system that would be mounted from the content; `None` where there is none, or more than
/// one.
///
/// # Errors
/// A place where a signature could stand cannot be read.
pub fn file_system(storage: &dyn Storage, reach: Reach) -> io::Result<Option<&'static Signature>> {
    let found = probe_range(storage, 0..storage.len(), reach)?;
    let found: Vec<_> = found.iter().filter(|found| found.signature.kind != Kind::PartitionTable).collect();
    Ok(match found[..] {
        [only] if only.signature.kind == Kind::FileSystem => Some(only.signature),
        _ => None,
    })
}

/// Zeroes the marks of everything that is recognised, wherever it stands: what a new header does
/// not cover must not go on claiming the device.
pub(crate) fn wipe(storage: &dyn Storage) -> io::Result<()> {
    // Without its mark a format may show another one that it had hidden.
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
    /// Where its marks stand.
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

/// No device has been so many things at once.
const MOST_LAYERS: usize = 16;
/// blkid's name of all versions of LUKS.
const LUKS: &str = "crypto_LUKS";

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
