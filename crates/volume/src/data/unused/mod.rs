//! Finds the unused bytes of an image: the space that its own file system marks as free.
//!
//! A hole in an image reads as zeros. A hole in an encrypted volume reads as noise, both through
//! the kernel and through Keyway: dm-crypt decrypts the stored bytes, and these are zeros. So a
//! hole may stay a hole only where the content does not matter; a hole that stands for zeros in use
//! (a file's empty blocks, an inode table that `mke2fs` did not write because a sparse file is zero
//! anyway) has to be encrypted.

mod certain;
mod ext;
mod partitions;
mod used;

pub(crate) use certain::certainly_free;
pub use used::Used;

use crate::Storage;
use crate::device::probe::{Kind, Reach, probe_range};
use std::io;
use std::ops::Range;

/// An image whose holes count as data, except those that its own file systems do not use.
pub struct Unneeded<'a> {
    image: &'a dyn Storage,
    /// Sorted, not overlapping.
    free: Vec<Range<u64>>,
}

impl<'a> Unneeded<'a> {
    /// Looks for file systems (ext2, ext3, ext4; bare, or in MBR or GPT partitions) and for the
    /// space that they leave free. Anything that is not recognised counts as used.
    pub fn of(image: &'a dyn Storage) -> io::Result<Self> {
        let whole = 0..image.len();
        let mut free = Vec::new();
        for part in partitions::extents(image)?.unwrap_or_else(|| vec![whole]) {
            if holds_only_ext(image, part.clone())? {
                free.extend(ext::free_space(image, part)?);
            }
        }
        free.sort_unstable_by_key(|range| range.start);
        Ok(Self { image, free })
    }

    /// The free ranges, in bytes from the image's start: sorted, not overlapping.
    pub fn free(&self) -> &[Range<u64>] {
        &self.free
    }

    /// The image with all its free space as holes, whatever is stored there.
    pub fn used(&self) -> Used<'_> {
        Used(self)
    }

    /// The free range that holds `at`.
    fn free_at(&self, at: u64) -> Option<&Range<u64>> {
        let next = self.free.partition_point(|free| free.end <= at);
        self.free.get(next).filter(|free| free.start <= at)
    }
}

/// If there is another format's signature beside ext's, space that ext marks as free may be in use.
fn holds_only_ext(image: &dyn Storage, part: Range<u64>) -> io::Result<bool> {
    let found = probe_range(image, part, Reach::Whole)?;
    let file_systems = found.iter().filter(|found| found.signature.kind != Kind::PartitionTable);
    let mut names = file_systems.map(|found| found.signature.blkid);
    Ok(names.all(|name| matches!(name, "ext2" | "ext3" | "ext4")))
}

impl Storage for Unneeded<'_> {
    fn len(&self) -> u64 {
        self.image.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.image.read_at(buf, offset)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, _: Range<u64>) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    /// Data of the image, and holes that are in use, up to the next free hole.
    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        let start = match self.skip_free_holes(offset)? {
            Some(start) => start,
            None => return Ok(None),
        };
        let mut end = start;
        while end < self.len() {
            let data = self.image.next_data(end)?.unwrap_or(self.len()..self.len());
            let next = self.free.partition_point(|free| free.end <= end);
            match self.free.get(next).filter(|free| free.start.max(end) < data.start) {
                Some(free) => return Ok(Some(start..free.start.max(end))),
                None => end = data.end,
            }
        }
        Ok(Some(start..self.len()))
    }
}

impl Unneeded<'_> {
    /// The first byte at or after `at` that is data or in use.
    fn skip_free_holes(&self, mut at: u64) -> io::Result<Option<u64>> {
        while at < self.len() {
            let Some(free) = self.free_at(at) else { return Ok(Some(at)) };
            match self.image.next_data(at)? {
                Some(data) if data.start <= at => return Ok(Some(at)),
                Some(data) => at = data.start.min(free.end),
                None => at = free.end,
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
