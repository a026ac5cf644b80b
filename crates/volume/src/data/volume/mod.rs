//! An unlocked volume: its plaintext, as a [`Storage`].
//!
//! A read is one storage read into the caller's buffer and one in-place decryption of all its
//! sectors; nothing is copied. Ranges need not be whole sectors: the sectors at the ends go through a
//! small buffer, and a write there reads, changes and writes them back. Large requests are spread
//! over cores.
//!
//! Of each encryption sector a request sees what it was before or after another request, nothing in
//! between: a file gives a reader half of what is being written to it, and half a sector decrypts to
//! noise, also where the writer left the plaintext as it was. So whoever reads sectors shares them,
//! and whoever writes them has them alone, while the storage is at work. Ciphers work outside of the
//! locks, but where a part of a sector is changed.

use crate::device::range_lock::RangeLocks;
use crate::device::spread::spread;
use crate::header::layout::Layout;
use crate::{Result, Storage};
pub use keys::Keys;
use keyway_crypto::Cpu;
use part::{CleanStack, Part};
use protection::Protection;
use segment::Segment;
use std::cell::Cell;
use std::io;
use std::ops::Range;
use std::sync::Arc;

mod in_the_making;
mod keys;
mod part;
mod protection;
mod remapped;
mod resized;
mod segment;

/// The plaintext of a volume.
pub struct Volume {
    data: Arc<dyn Storage>,
    segments: Vec<Segment>,
    sectors: Arc<RangeLocks>,
    protection: Option<Arc<Protection>>,
}

impl Volume {
    /// Opens the plaintext of `layout` on `data`. As in the kernel, an incomplete sector at the end
    /// of the device is not part of the volume.
    ///
    /// # Errors
    /// The device ends before the data starts or, with a segment of fixed length, before the data
    /// ends: a write would make a file grow. Or a key is missing, or does not fit a segment's cipher.
    pub fn new<'a>(
        data: Arc<dyn Storage>,
        layout: &Layout,
        keys: impl Into<Keys<'a>>,
        cpu: Cpu,
    ) -> Result<Self> {
        let has = data.len();
        let volume = Self::over(data, layout, keys.into(), cpu)?;
        layout.check_fits(has)?;
        Ok(volume)
    }

    /// Splits `range` at the segments' borders.
    fn parts(&self, range: Range<u64>) -> impl Iterator<Item = Part<'_>> {
        let first = self.segments.partition_point(|s| s.end <= range.start);
        self.segments[first..].iter().take_while(move |s| s.start < range.end).map(move |segment| Part {
            data: &*self.data,
            sectors: &self.sectors,
            segment,
            range: range.start.max(segment.start)..range.end.min(segment.end),
        })
    }

    fn read_run(&self, mut buf: &mut [u8], offset: u64) -> io::Result<()> {
        let _clean = CleanStack;
        for part in self.parts(offset..offset + buf.len() as u64) {
            let (now, rest) = buf.split_at_mut(part.len());
            part.read(now)?;
            buf = rest;
        }
        Ok(())
    }

    fn write_run_from(&self, mut buf: &mut [u8], offset: u64) -> io::Result<()> {
        let _clean = CleanStack;
        for part in self.parts(offset..offset + buf.len() as u64) {
            let (now, rest) = buf.split_at_mut(part.len());
            part.write_from(now)?;
            buf = rest;
        }
        Ok(())
    }

    /// Refuses, before anything is written, bytes other than zeros where the format keeps its own,
    /// and any where a hidden volume is.
    fn check_write(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.check(buf.len(), offset, io::ErrorKind::StorageFull)?;
        let end = offset + buf.len() as u64;
        self.protection.as_ref().map_or(Ok(()), |protection| protection.admit(&(offset..end)))?;
        for part in self.parts(offset..end).filter(Part::is_nowhere) {
            let inside = &buf[(part.range.start - offset) as usize..(part.range.end - offset) as usize];
            part.check_kept(inside)?;
        }
        Ok(())
    }

    fn check(&self, len: usize, offset: u64, kind: io::ErrorKind) -> io::Result<()> {
        match offset.checked_add(len as u64) {
            Some(end) if end <= self.len() => Ok(()),
            _ => Err(io::Error::new(
                kind,
                format!("the volume ends at byte {}, {len} bytes at {offset} were requested", self.len()),
            )),
        }
    }

    /// The length of the first run of a request at `offset`: a request up to [`WHOLE`] is one run;
    /// for a longer one, the length that makes the next runs start at a multiple of [`RUN`].
    fn first_run(offset: u64, len: usize) -> usize {
        if len <= WHOLE { len } else { RUN - (offset % RUN as u64) as usize }
    }
}

impl Storage for Volume {
    fn len(&self) -> u64 {
        self.segments.last().map_or(0, |s| s.end)
    }

    fn is_distant(&self) -> bool {
        self.data.is_distant()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.check(buf.len(), offset, io::ErrorKind::UnexpectedEof)?;
        let (first, rest) = buf.split_at_mut(Self::first_run(offset, buf.len()));
        let body = offset + first.len() as u64;
        let parallel = rest.len() >= SPREAD_FROM;
        let runs = std::iter::once((first, offset))
            .chain(rest.chunks_mut(RUN).enumerate().map(|(i, run)| (run, body + (i * RUN) as u64)));
        spread(parallel, runs, |(run, offset)| self.read_run(run, offset))
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.check_write(buf, offset)?;
        let (first, rest) = buf.split_at(Self::first_run(offset, buf.len()));
        let body = offset + first.len() as u64;
        let parallel = rest.len() >= SPREAD_FROM;
        let runs = std::iter::once((first, offset))
            .chain(rest.chunks(RUN).enumerate().map(|(i, run)| (run, body + (i * RUN) as u64)));
        spread(parallel, runs, |(run, offset)| in_scratch(run, |copy| self.write_run_from(copy, offset)))
    }

    fn write_from(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.check_write(buf, offset)?;
        let (first, rest) = buf.split_at_mut(Self::first_run(offset, buf.len()));
        let body = offset + first.len() as u64;
        let parallel = rest.len() >= SPREAD_FROM;
        let runs = std::iter::once((first, offset))
            .chain(rest.chunks_mut(RUN).enumerate().map(|(i, run)| (run, body + (i * RUN) as u64)));
        spread(parallel, runs, |(run, offset)| self.write_run_from(run, offset))
    }

    fn flush(&self) -> io::Result<()> {
        self.data.flush()
    }

    /// Discards the sectors that are completely in the range; nothing where a hidden volume is protected.
    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        let range = range.start..range.end.min(self.len());
        // What is discarded around a hidden volume would show where it is.
        if self.protection.is_some() {
            return Ok(());
        }
        for part in self.parts(range) {
            let inner = part.inner_sectors();
            if !inner.is_empty() && !part.is_nowhere() {
                let _alone = self.sectors.alone(inner.clone());
                let start = part.segment.place(inner.start);
                self.data.discard(start..start + (inner.end - inner.start))?;
            }
        }
        Ok(())
    }

    /// A hole of the device is an encrypted part that was never written: reading it gives the decryption of
    /// zeros, as through the kernel: noise. What is not encrypted reads as zeros there, which are data.
    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        for part in self.parts(offset..self.len()) {
            let segment = part.segment;
            if !part.is_encrypted() {
                return Ok(Some(part.range));
            }
            let Some(found) = self.data.next_data(segment.place(part.range.start))? else { continue };
            let start = found.start - segment.storage_offset + segment.start;
            let end = found.end.saturating_sub(segment.storage_offset).saturating_add(segment.start);
            let data = Part { range: start..end.min(segment.end), ..part };
            if start < segment.end {
                let sectors = data.whole_sectors();
                return Ok(Some(sectors.start.max(offset)..sectors.end));
            }
        }
        Ok(None)
    }

    fn is_read_only(&self) -> bool {
        self.data.is_read_only() || self.protection.as_ref().is_some_and(|it| it.has_ended_writing())
    }

    fn unit(&self) -> u64 {
        self.segments.iter().map(|s| s.sector_size).max().unwrap_or(1)
    }
}

/// Runs `work` on a copy of `plain` in a buffer that this thread keeps.
fn in_scratch(plain: &[u8], work: impl FnOnce(&mut [u8]) -> io::Result<()>) -> io::Result<()> {
    thread_local!(static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) });
    // Taken out of its cell, so that a volume on a volume finds none and allocates its own.
    let mut scratch = SCRATCH.take();
    scratch.clear();
    scratch.extend_from_slice(plain);
    let result = work(&mut scratch);
    SCRATCH.set(scratch);
    result
}

/// Long requests are processed in runs of this size, so that the bytes read are still in the core's
/// cache when they are decrypted. A multiple of every sector size.
const RUN: usize = 256 << 10;

/// Up to this size a request is one run.
const WHOLE: usize = 1 << 20;

/// From this size on a request is spread over the cores.
const SPREAD_FROM: usize = 4 << 20;

#[cfg(test)]
mod tests;
