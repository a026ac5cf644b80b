//! The hot zone: the bytes that are being written, and what protects them.
//!
//! | resilience | kept in the keyslot's area | a block as it was is recognized by |
//! |---|---|---|
//! | checksum   | the hash of each old block, in order | its hash |
//! | journal    | the old ciphertext of the zone | it is in the journal |
//! | datashift  | nothing | it lies where it was, and the zone elsewhere |
//! | none       | nothing | nothing |

use super::CHUNK;
use super::buffers::{Buffer, Buffers, Kept};
use super::transform::Transform;
use super::unused::Skip;
use crate::device::spread::spread;
use crate::{Error, Refusal, Result, Storage};
use keyway_crypto::Hash;
use keyway_format::luks2::Reencryption;
use keyway_format::luks2::reencryption::{Checksum, MovedResilience, Resilience};
use std::io;
use std::mem;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// A zone of a re-encryption, on its storage.
pub(super) struct HotZone<'a> {
    pub(super) what: &'a Reencryption,
    /// Plaintext bytes.
    pub(super) zone: Range<u64>,
    pub(super) data: &'a dyn Storage,
    pub(super) header: &'a dyn Storage,
    pub(super) transform: &'a Transform,
    pub(super) buffers: &'a Buffers,
    /// What is left as it is.
    pub(super) skip: Option<&'a Skip>,
}

/// What protects a zone.
enum Protection<'a> {
    None,
    Checksum(&'a Checksum),
    Journal,
    /// The old data stays where it is.
    Elsewhere,
}

impl HotZone<'_> {
    /// Writes down what recognizes the zone's old blocks, and waits until that is on stable storage.
    /// What was read for that is kept for [`HotZone::write`], as far as memory allows, where reading it
    /// again would cost the device.
    pub(super) fn protect(&self) -> Result<Kept> {
        let area = self.what.area.offset.0;
        // Memory that the processor's caches do not hold is no faster than the kernel's.
        let kept = Kept::of(self.data);
        match self.protection() {
            Protection::None | Protection::Elsewhere => return Ok(kept),
            Protection::Journal => {
                self.in_chunks("reading", |range, mut buf| {
                    self.data.read_at(&mut buf, self.what.old_place(&range))?;
                    self.header.write_at(&buf, area + (range.start - self.zone.start))?;
                    kept.keep(range.start, buf, self.buffers);
                    Ok(())
                })?;
            }
            Protection::Checksum(checksum) => {
                let (hash, block) = (Hash::parse(&checksum.hash)?, u64::from(checksum.block));
                let len = hash.output_len();
                let blocks = (self.zone.end - self.zone.start).div_ceil(block) as usize;
                let sums = Mutex::new(vec![0; blocks * len]);
                self.in_chunks("reading", |range, mut buf| {
                    self.data.read_at(&mut buf, self.what.old_place(&range))?;
                    let mut own = vec![0; buf.len().div_ceil(block as usize) * len];
                    hash.digest_pieces(&buf, block as usize, &mut own);
                    let at = ((range.start - self.zone.start) / block) as usize * len;
                    let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
                    sums[at..at + own.len()].copy_from_slice(&own);
                    drop(sums);
                    kept.keep(range.start, buf, self.buffers);
                    Ok(())
                })?;
                let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
                self.header.write_at(&sums, area).map_err(|source| self.failed("protecting", source))?;
            }
        }
        self.header.flush().map_err(|source| self.failed("protecting", source))?;
        Ok(kept)
    }

    /// Writes the zone, and waits until it is on stable storage. `kept` is what [`HotZone::protect`]
    /// has read of it.
    pub(super) fn write(&self, kept: &Kept) -> Result<()> {
        self.in_chunks("writing", |range, mut buf| {
            match kept.take(range.start) {
                Some(read) => self.buffers.give(mem::replace(&mut buf, read)),
                None => self.read_old(&range, &mut buf)?,
            }
            self.transform.apply(range.start, &mut buf);
            self.data.write_at(&buf, self.what.new_place(&range))?;
            self.buffers.give(buf);
            Ok(())
        })?;
        self.data.flush().map_err(|source| self.failed("writing", source))
    }

    /// Reads old ciphertext of the zone, of which a part may be written over meanwhile where the data moves.
    fn read_old(&self, range: &Range<u64>, buf: &mut [u8]) -> io::Result<()> {
        let (old, new) = (self.what.old_place(range), self.what.new_place(range));
        match self.protection() {
            Protection::Journal if old != new => {
                self.header.read_at(buf, self.what.area.offset.0 + (range.start - self.zone.start))
            }
            _ => self.data.read_at(buf, old),
        }
    }

    /// Completes a zone whose writing was cut off, and waits until it is on stable storage.
    pub(super) fn recover(&self) -> Result<()> {
        let sums = self.sums()?;
        let recovery = Recovery::new(self, sums.as_ref());
        self.in_chunks("recovering", |range, mut buf| {
            recovery.read(&range, &mut buf)?;
            self.data.write_at(&buf, self.what.new_place(&range))?;
            self.buffers.give(buf);
            Ok(())
        })?;
        self.data.flush().map_err(|source| self.failed("recovering", source))
    }

    /// The sums that were kept of the zone, if those protect it.
    ///
    /// # Errors
    /// [`Refusal::NotRecoverable`] where nothing protected the zone.
    pub(super) fn sums(&self) -> Result<Option<Sums>> {
        match self.protection() {
            Protection::None => {
                let Range { start, end } = self.zone;
                Err(Refusal::NotRecoverable.because(format!(
                    "bytes {start} to {end} of the volume were being written when the reencryption was cut off, and \
                     --resilience none keeps no copy to recover them from: nothing was changed"
                )))
            }
            Protection::Checksum(checksum) => {
                let (hash, block) = (Hash::parse(&checksum.hash)?, checksum.block as usize);
                let blocks = (self.zone.end - self.zone.start).div_ceil(block as u64) as usize;
                let mut values = vec![0; blocks * hash.output_len()];
                self.header
                    .read_at(&mut values, self.what.area.offset.0)
                    .map_err(|source| self.failed("recovering", source))?;
                Ok(Some(Sums { hash, block, values }))
            }
            Protection::Journal | Protection::Elsewhere => Ok(None),
        }
    }

    fn protection(&self) -> Protection<'_> {
        let is_moved = self.what.moved.is_some() && self.zone.start < self.what.moved_len();
        match &self.what.resilience {
            Resilience::None => Protection::None,
            Resilience::Checksum(checksum) => Protection::Checksum(checksum),
            Resilience::Journal => Protection::Journal,
            Resilience::DataShift { moved: MovedResilience::Checksum(checksum), .. } if is_moved => {
                Protection::Checksum(checksum)
            }
            Resilience::DataShift { moved: MovedResilience::Journal, .. } if is_moved => Protection::Journal,
            Resilience::DataShift { .. } => Protection::Elsewhere,
        }
    }

    /// Runs `work` over the zone's chunks with a buffer each, on all cores. What is done with a buffer
    /// is up to `work`.
    fn in_chunks(
        &self,
        doing: &'static str,
        work: impl Fn(Range<u64>, Buffer) -> io::Result<()> + Sync,
    ) -> Result<()> {
        let used = self.skip.map_or_else(|| vec![self.zone.clone()], |skip| skip.used(&self.zone));
        let chunks = used.into_iter().flat_map(|Range { start, end }| {
            (start..end).step_by(CHUNK as usize).map(move |at| at..end.min(at + CHUNK))
        });
        let parallel = self.zone.end - self.zone.start > CHUNK;
        spread(parallel, chunks, |range| {
            let buffer = self.buffers.take((range.end - range.start) as usize);
            work(range, buffer)
        })
        .map_err(|source| self.failed(doing, source))
    }

    fn failed(&self, doing: &str, source: io::Error) -> Error {
        let Range { start, end } = self.zone;
        Error::Io { what: format!("{doing} bytes {start} to {end} of the volume"), source }
    }
}

/// The hash of each old block of a zone, with the hash function and the length of a block.
pub(super) struct Sums {
    hash: Hash,
    block: usize,
    values: Vec<u8>,
}

/// A hot zone as it is to be, read from what is left of it.
pub(super) struct Recovery<'a> {
    of: &'a HotZone<'a>,
    sums: Option<&'a Sums>,
}

impl<'a> Recovery<'a> {
    /// Of a zone with the sums that were kept of it ([`HotZone::sums`]).
    pub(super) fn new(of: &'a HotZone<'a>, sums: Option<&'a Sums>) -> Self {
        Self { of, sums }
    }

    /// The new ciphertext of `range`, which starts and ends between blocks of the zone.
    pub(super) fn read(&self, range: &Range<u64>, buf: &mut [u8]) -> io::Result<()> {
        let HotZone { what, zone, data, header, transform, .. } = self.of;
        let within = range.start - zone.start;
        let Some(Sums { hash, block, values }) = self.sums else {
            match self.of.protection() {
                Protection::Journal => header.read_at(buf, what.area.offset.0 + within)?,
                _ => data.read_at(buf, what.old_place(range))?,
            }
            transform.apply(range.start, buf);
            return Ok(());
        };
        data.read_at(buf, what.new_place(range))?;
        let (len, first) = (hash.output_len(), within as usize / block);
        let mut sums = vec![0; buf.len().div_ceil(*block) * len];
        hash.digest_pieces(buf, *block, &mut sums);
        for (number, (bytes, sum)) in buf.chunks_mut(*block).zip(sums.chunks(len)).enumerate() {
            if *sum == values[(first + number) * len..][..len] {
                transform.apply(range.start + (number * block) as u64, bytes);
            }
        }
        Ok(())
    }
}
