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
    /// The first that is there counts. None at all: the check looks for itself, from 0 on.
    marks: &'static [Mark],
    /// With the place of the mark that is there. `None`, where the content ends too early, is no.
    check: fn(&Content<'_>, u64) -> Option<bool>,
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

fn all(content: &Content<'_>) -> Vec<Found> {
    SIGNATURES
        .iter()
        .filter_map(|signature| Some(Found { signature, offset: signature.find(content)? }))
        .collect()
}

impl Signature {
    /// Where it stands, if it does.
    fn find(&self, content: &Content<'_>) -> Option<u64> {
        let fits = |at: u64| (self.check)(content, at) == Some(true);
        if self.marks.is_empty() {
            return fits(0).then_some(0);
        }
        let places = self.marks.iter().filter_map(|mark| {
            let at = mark.place.offset(content.len())?;
            content.holds(at, mark.bytes).then_some(at)
        });
        places.into_iter().find(|at| fits(*at))
    }
}

/// blkid's name of all versions of LUKS.
const LUKS: &str = "crypto_LUKS";

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
