//! The part of a request that is in one segment, read and written.

use super::segment::{Crypt, Segment, Stored};
use crate::Storage;
use crate::device::range_lock::RangeLocks;
use keyway_crypto::SectorSize;
use keyway_crypto::secret::wipe_stack;
use std::io;
use std::ops::Range;

/// The part of a range that is in one segment.
pub(super) struct Part<'a> {
    pub(super) data: &'a dyn Storage,
    pub(super) sectors: &'a RangeLocks,
    pub(super) segment: &'a Segment,
    pub(super) range: Range<u64>,
}

impl Part<'_> {
    pub(super) fn len(&self) -> usize {
        (self.range.end - self.range.start) as usize
    }

    fn is_zero(&self) -> bool {
        matches!(self.segment.stored, Stored::Zero)
    }

    /// Whether it has no place on the device.
    pub(super) fn is_nowhere(&self) -> bool {
        matches!(self.segment.stored, Stored::Zero | Stored::Bytes(_))
    }

    /// Refuses what the segment's own bytes are not: only zeros are written over zeros, nothing over others.
    pub(super) fn check_kept(&self, bytes: &[u8]) -> io::Result<()> {
        let takes = if self.is_zero() { "only zeros" } else { "no writes" };
        if self.is_zero() && bytes.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        let (first, last) = (self.segment.start, self.segment.end - 1);
        let why = format!("the volume's own metadata are at bytes {first} to {last}, which take {takes}");
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
    }

    pub(super) fn is_encrypted(&self) -> bool {
        matches!(self.segment.stored, Stored::Crypt(_))
    }

    pub(super) fn read(&self, buf: &mut [u8]) -> io::Result<()> {
        let crypt = match &self.segment.stored {
            Stored::Crypt(crypt) => crypt,
            Stored::Linear => return self.data.read_at(buf, self.segment.place(self.range.start)),
            Stored::Zero => {
                buf.fill(0);
                return Ok(());
            }
            Stored::Bytes(bytes) => {
                let start = (self.range.start - self.segment.start) as usize;
                buf.copy_from_slice(&bytes[start..start + buf.len()]);
                return Ok(());
            }
        };
        let body = self.body();
        let (head, rest) = buf.split_at_mut((body.start - self.range.start) as usize);
        let (middle, tail) = rest.split_at_mut((body.end - body.start) as usize);
        self.read_fragment(crypt, head, self.range.start)?;
        if !middle.is_empty() {
            self.read_sectors(middle, body.start)?;
            crypt.decrypt(body.start - self.segment.start, middle);
        }
        self.read_fragment(crypt, tail, body.end)
    }

    pub(super) fn write_from(&self, buf: &mut [u8]) -> io::Result<()> {
        let crypt = match &self.segment.stored {
            Stored::Crypt(crypt) => crypt,
            Stored::Linear => return self.data.write_from(buf, self.segment.place(self.range.start)),
            Stored::Zero | Stored::Bytes(_) => return Ok(()),
        };
        let body = self.body();
        let (head, rest) = buf.split_at_mut((body.start - self.range.start) as usize);
        let (middle, tail) = rest.split_at_mut((body.end - body.start) as usize);
        self.merge_fragment(crypt, head, self.range.start)?;
        self.write_sectors(crypt, middle, body.start)?;
        self.merge_fragment(crypt, tail, body.end)
    }

    /// Encrypts whole sectors in place and writes them.
    fn write_sectors(&self, crypt: &Crypt, sectors: &mut [u8], offset: u64) -> io::Result<()> {
        if sectors.is_empty() {
            return Ok(());
        }
        crypt.encrypt(offset - self.segment.start, sectors);
        let _alone = self.sectors.alone(offset..offset + sectors.len() as u64);
        self.data.write_from(sectors, self.segment.place(offset))
    }

    /// Reads the ciphertext of whole sectors.
    fn read_sectors(&self, sectors: &mut [u8], offset: u64) -> io::Result<()> {
        let _shared = self.sectors.share(offset..offset + sectors.len() as u64);
        self.data.read_at(sectors, self.segment.place(offset))
    }

    /// Reads a part of one sector.
    fn read_fragment(&self, crypt: &Crypt, fragment: &mut [u8], offset: u64) -> io::Result<()> {
        if fragment.is_empty() {
            return Ok(());
        }
        let _clean = CleanStack;
        let (sector, within, mut buf) = self.sector_of(offset);
        let buf = &mut buf[..self.segment.sector_size as usize];
        self.read_sectors(buf, sector)?;
        crypt.decrypt(sector - self.segment.start, buf);
        fragment.copy_from_slice(&buf[within..within + fragment.len()]);
        Ok(())
    }

    /// Changes a part of one sector.
    fn merge_fragment(&self, crypt: &Crypt, fragment: &[u8], offset: u64) -> io::Result<()> {
        if fragment.is_empty() {
            return Ok(());
        }
        let _clean = CleanStack;
        let (sector, within, mut buf) = self.sector_of(offset);
        let buf = &mut buf[..self.segment.sector_size as usize];
        let _alone = self.sectors.alone(sector..sector + self.segment.sector_size);
        self.data.read_at(buf, self.segment.place(sector))?;
        crypt.decrypt(sector - self.segment.start, buf);
        buf[within..within + fragment.len()].copy_from_slice(fragment);
        crypt.encrypt(sector - self.segment.start, buf);
        self.data.write_at(buf, self.segment.place(sector))
    }

    /// The start of the sector that holds `offset`, the position in it, and a buffer for it.
    fn sector_of(&self, offset: u64) -> (u64, usize, [u8; MAX_SECTOR]) {
        let within = (offset - self.segment.start) % self.segment.sector_size;
        (offset - within, within as usize, [0; MAX_SECTOR])
    }

    /// The whole sectors in the range; if there are none, an empty range at a suitable place to
    /// split.
    fn body(&self) -> Range<u64> {
        let inner = self.inner_sectors();
        if inner.is_empty() {
            // Within one sector, or on both sides of a boundary between two.
            let border = inner.start.min(self.range.end);
            return border..border;
        }
        inner
    }

    /// The range without the sectors that it covers only in part.
    pub(super) fn inner_sectors(&self) -> Range<u64> {
        let (start, size) = (self.segment.start, self.segment.sector_size);
        let first = start + (self.range.start - start).next_multiple_of(size);
        first..self.range.end - (self.range.end - start) % size
    }

    /// The range extended to whole sectors (a linear segment has none).
    pub(super) fn whole_sectors(&self) -> Range<u64> {
        if !matches!(self.segment.stored, Stored::Crypt(_)) {
            return self.range.clone();
        }
        let (start, size) = (self.segment.start, self.segment.sector_size);
        let first = self.range.start - (self.range.start - start) % size;
        first..start + (self.range.end - start).next_multiple_of(size)
    }
}

/// On drop, wipes what a cipher left on the stack: a waiting thread holds no keys.
pub(super) struct CleanStack;

impl Drop for CleanStack {
    fn drop(&mut self) {
        wipe_stack();
    }
}

/// The largest encryption sector.
const MAX_SECTOR: usize = SectorSize::S4096.bytes();
