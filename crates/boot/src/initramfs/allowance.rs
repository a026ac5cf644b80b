//! Limits on the work that an image may cause its reader: an image of one megabyte that unpacks to
//! gigabytes, or to millions of names, is not one that any machine boots with.

use super::cpio::Entry;
use std::io::{self, BufRead, Read};

/// What remains for the rest of an image.
pub(super) struct Allowance {
    parts: u32,
    pub(super) unpacked: u64,
    pub(super) names: Names,
}

/// The number of entries, and of bytes of names and links, which a listing keeps in memory.
pub(super) struct Names {
    entries: u32,
    bytes: u64,
}

impl Allowance {
    /// The limits for an image of this many bytes.
    pub(super) fn of(image: usize) -> Self {
        let unpacked = (image as u64).saturating_mul(MOST_TIMES).max(ALWAYS_UNPACKED);
        Self { parts: MOST_PARTS, unpacked, names: Names { entries: MOST_ENTRIES, bytes: MOST_NAMES } }
    }

    /// Counts one more archive or compressed part.
    pub(super) fn part(&mut self) -> io::Result<()> {
        self.parts =
            self.parts.checked_sub(1).ok_or_else(|| io::Error::other("it has more than 4096 parts"))?;
        Ok(())
    }
}

impl Names {
    /// Counts one more entry.
    pub(super) fn entry(&mut self, entry: &Entry) -> Result<(), &'static str> {
        let link = if entry.is_link() { entry.size } else { 0 };
        self.entries = self.entries.checked_sub(1).ok_or("it has more than 524288 entries")?;
        let left = self.bytes.checked_sub(entry.name.len() as u64 + link);
        self.bytes = left.ok_or("its names and links have more than 32 MiB")?;
        Ok(())
    }
}

/// A stream that fails if it yields more bytes than are left.
pub(super) struct Limited<'a, R> {
    pub(super) input: R,
    pub(super) left: &'a mut u64,
}

impl<R: BufRead> BufRead for Limited<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let buffer = self.input.fill_buf()?;
        if *self.left == 0 && !buffer.is_empty() {
            return Err(io::Error::other("it decompresses to more than 256 MiB and 64 times the image"));
        }
        Ok(&buffer[..buffer.len().min(usize::try_from(*self.left).unwrap_or(usize::MAX))])
    }

    fn consume(&mut self, length: usize) {
        *self.left -= length as u64;
        self.input.consume(length);
    }
}

impl<R: BufRead> Read for Limited<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(buffer)?;
        self.consume(length);
        Ok(length)
    }
}

/// Microcode, early archives, archives appended by users: ten are a lot. Each may require a
/// decompressor with tens of megabytes.
const MOST_PARTS: u32 = 1 << 12;
/// Programs and modules compress to a fifth; an image that contains empty disks to less. The
/// compression formats reach 1:1000 and 1:30000.
const MOST_TIMES: u64 = 64;
/// Even a small image may contain a large file of zeros.
const ALWAYS_UNPACKED: u64 = 256 << 20;
/// A whole distribution run from memory has half as many. Each takes some 200 bytes in a listing.
const MOST_ENTRIES: u32 = 1 << 19;
/// 64 bytes for each entry.
const MOST_NAMES: u64 = 32 << 20;
