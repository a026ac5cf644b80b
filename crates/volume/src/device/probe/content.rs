//! The bytes in which signatures are searched: a range of a storage, either the whole range or only
//! its start. Whatever the bytes claim, nothing is read outside the range, nothing is read beyond
//! the fixed amounts that a caller asks for, and nothing panics.

use crate::Storage;
use std::cell::OnceCell;
use std::io;
use std::ops::Range;

/// How much of a content is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Its first 72 KiB, in one read: enough to recognise the file systems that Linux mounts.
    Start,
    /// Also its end, and the places in between where RAID, ZFS and LUKS2 keep copies of their
    /// superblocks.
    Whole,
}

/// A content, with its start already read.
pub(crate) struct Content<'a> {
    storage: &'a dyn Storage,
    range: Range<u64>,
    reach: Reach,
    start: Vec<u8>,
    /// The first error; bytes that could not be read count as absent until the caller asks for it.
    unreadable: OnceCell<io::Error>,
}

impl<'a> Content<'a> {
    /// Reads the start of `range`, which is cut at the storage's end.
    pub(crate) fn new(storage: &'a dyn Storage, range: Range<u64>, reach: Reach) -> io::Result<Self> {
        let end = range.end.min(storage.len());
        let range = range.start.min(end)..end;
        let mut start = vec![0; START.min(range.end - range.start) as usize];
        storage.read_at(&mut start, range.start)?;
        Ok(Self { storage, range, reach, start, unreadable: OnceCell::new() })
    }

    /// All of `storage`.
    #[cfg(test)]
    pub(crate) fn whole(storage: &'a dyn Storage) -> io::Result<Self> {
        Self::new(storage, 0..storage.len(), Reach::Whole)
    }

    /// Its length in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// `None` where the content ends before that, or is not searched that far.
    pub(crate) fn bytes(&self, at: u64, len: usize) -> Option<Vec<u8>> {
        let end = at.checked_add(len as u64)?;
        if end <= self.start.len() as u64 {
            return Some(self.start[at as usize..end as usize].to_vec());
        }
        if end > self.len() || self.reach == Reach::Start {
            return None;
        }
        let mut bytes = vec![0; len];
        match self.storage.read_at(&mut bytes, self.range.start + at) {
            Ok(()) => Some(bytes),
            Err(error) => {
                let _ = self.unreadable.set(error);
                None
            }
        }
    }

    /// The error of the first read that failed.
    pub(crate) fn into_error(self) -> io::Result<()> {
        self.unreadable.into_inner().map_or(Ok(()), Err)
    }

    /// Whether the content has `expected` at `at`.
    pub(crate) fn holds(&self, at: u64, expected: &[u8]) -> bool {
        self.bytes(at, expected.len()).is_some_and(|found| found == expected)
    }

    fn array<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        self.bytes(at, N)?.try_into().ok()
    }

    pub(crate) fn u8(&self, at: u64) -> Option<u8> {
        self.array(at).map(u8::from_le_bytes)
    }

    pub(crate) fn le16(&self, at: u64) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    pub(crate) fn le32(&self, at: u64) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    pub(crate) fn le64(&self, at: u64) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    pub(crate) fn be16(&self, at: u64) -> Option<u16> {
        self.array(at).map(u16::from_be_bytes)
    }

    pub(crate) fn be32(&self, at: u64) -> Option<u32> {
        self.array(at).map(u32::from_be_bytes)
    }

    pub(crate) fn be64(&self, at: u64) -> Option<u64> {
        self.array(at).map(u64::from_be_bytes)
    }
}

/// Beyond the superblocks of btrfs, reiserfs and GFS2 at 64 KiB.
const START: u64 = 72 << 10;
