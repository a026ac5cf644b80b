//! What the file system inside does not use: it is neither read nor re-encrypted.
//!
//! ```text
//! read    the set of unused blocks, once, from the volume as it is: its file system is whole, and nobody uses it
//! fill    all of them at once, with noise or by a discard → flush. The file system is still whole
//! step    zones as ever, without the unused blocks: nothing is read, hashed, written or waited for there
//! ```
//!
//! The set is written down nowhere. Who goes on after a cut needs none: what is left counts as used,
//! and is re-encrypted, noise or not; or the set is read anew, since a volume in the middle of its
//! re-encryption is whole once its hot zone is recovered. In the hot zone an unused block has a hash of
//! zeros, which is that of no block: recovery takes it for done and leaves it. A journal has anything in
//! its place, which becomes noise in a block that nobody uses.

use super::blocks::plaintext;
use super::zone_size::ZoneSize;
use super::{CHUNK, VolumeKeys, metadata};
use crate::UnderWay;
use crate::change::create::random_volume_key;
use crate::data::unused::certainly_free;
use crate::device::spread::spread;
use crate::{Error, Keys, Layout, Luks, Random, Refusal, Result, Storage, Volume};
use keyway_crypto::{CipherSpec, Cpu, Secret, SectorCipher, SectorSize};
use keyway_format::luks2::Reencryption;
use keyway_format::luks2::reencryption::{Direction, Mode, State};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// What becomes of the blocks that the file system inside does not use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unused {
    /// They are filled with noise.
    Noise,
    /// They are discarded: nobody knows what they hold, and everybody which they are.
    Discard,
}

/// The unused part of a volume, in bytes of its plaintext.
pub(super) struct Skip {
    /// Sorted, with used blocks between any two; all whole pages and units.
    free: Vec<Range<u64>>,
    /// What makes noise; `None` where they are discarded.
    noise: Option<SectorCipher>,
    /// Up to here the free ranges are filled.
    filled: u64,
    /// Nothing more has to be filled, and all that is on stable storage.
    is_filled: bool,
}

impl Skip {
    /// What is unused of the volume in this state; in units of so many bytes.
    ///
    /// # Errors
    /// It moves data, or makes plaintext of it; it is not certain what is unused.
    pub(super) fn of(
        (what, state, len): (&Reencryption, &State, u64),
        data: &Arc<dyn Storage>,
        keys: &VolumeKeys,
        (unused, unit): (Unused, u64),
        rng: &mut dyn Random,
    ) -> Result<Self> {
        check_way(what)?;
        if state.done.end < len && !state.done.end.is_multiple_of(unit) {
            let message = "Unused blocks cannot be skipped in a reencryption that stopped inside a block.";
            return Err(Refusal::Unusable.because(message));
        }
        let cpu = Cpu::detect();
        let layout = UnderWay::at(what, state, len).layout()?;
        let first = keys.old().or(keys.new_key()).ok_or(Error::WrongVolumeKey)?;
        let volume = Volume::new(Arc::clone(data), &layout, Keys::new(first, keys.new_key()), cpu)?;
        // In pages, as `build` and `compare` leave blocks out: less than one counts as used.
        let page = unit.max(PAGE);
        let whole = |range: Range<u64>| {
            let start = range.start.max(state.done.end.min(len));
            start.next_multiple_of(page)..range.end / page * page
        };
        let free = certainly_free(&volume)?.into_iter().map(whole).filter(|range| range.start < range.end);
        let noise = match unused {
            Unused::Noise => {
                let sector = SectorSize::new(PAGE as u32)?;
                let spec = CipherSpec::parse("aes-xts-plain64")?;
                Some(SectorCipher::new(&spec, &random_volume_key(512, rng)?, sector, cpu)?)
            }
            Unused::Discard => None,
        };
        Ok(Self { free: free.collect(), noise, filled: 0, is_filled: false })
    }

    /// Bytes that are unused.
    pub(super) fn len(&self) -> u64 {
        self.free.iter().map(|range| range.end - range.start).sum()
    }

    /// Fills the next of them; whether there were any. All of them are on stable storage then before
    /// the first zone is hot.
    pub(super) fn fill(&mut self, data: &dyn Storage, what: &Reencryption) -> Result<bool> {
        if self.is_filled {
            return Ok(false);
        }
        let failed = |at: u64, source| {
            let doing = if self.noise.is_some() { "filling" } else { "discarding" };
            Error::Io { what: format!("{doing} the unused blocks from byte {at} of the volume"), source }
        };
        let parts = self.portion(PORTION);
        let Some(last) = parts.last().map(|last| last.end) else {
            data.flush().map_err(|source| failed(self.filled, source))?;
            self.is_filled = true;
            return Ok(false);
        };
        let place = |range: &Range<u64>| what.new_place(range);
        match &self.noise {
            None => parts.iter().try_for_each(|part| {
                let start = place(part);
                data.discard(start..start + (part.end - part.start))
            }),
            Some(noise) => write_noise(noise, parts, data, place),
        }
        .map_err(|source| failed(self.filled, source))?;
        self.filled = last;
        Ok(true)
    }

    /// The next of them that are filled together: so many bytes of noise at most, and whole ranges that
    /// are discarded; empty when all are filled.
    fn portion(&self, most: u64) -> Vec<Range<u64>> {
        let (mut parts, mut left) = (Vec::new(), most);
        for range in self.free.iter().filter(|range| range.end > self.filled) {
            let start = range.start.max(self.filled);
            let end = if self.noise.is_some() { range.end.min(start + left) } else { range.end };
            parts.push(start..end);
            left = left.saturating_sub(end - start);
            if left == 0 {
                break;
            }
        }
        parts
    }

    /// The state with the unused blocks that follow what is done.
    pub(super) fn passed(&self, state: &State, len: u64) -> State {
        let at = state.done.end;
        match self.free.iter().find(|free| free.start <= at && at < free.end) {
            Some(free) => state.advanced(&(at..free.end), len),
            None => state.clone(),
        }
    }

    /// `zone`, which begins with a used block, with as many used bytes as a zone has, if it can be
    /// protected; it ends with one, too.
    pub(super) fn stretched(&self, zone: Range<u64>, len: u64, sizes: &ZoneSize) -> Range<u64> {
        let limit = len.min(zone.start.saturating_add(sizes.most()));
        let (mut at, mut left) = (zone.start, sizes.bytes());
        for free in self.free.iter().skip_while(|free| free.end <= zone.start) {
            let used = free.start.min(limit) - at;
            if free.start >= limit || used >= left {
                break;
            }
            if free.end >= limit {
                return zone.start..free.start;
            }
            (at, left) = (free.end, left - used);
        }
        zone.start..limit.min(at + left)
    }

    /// The used parts of `zone`.
    pub(super) fn used(&self, zone: &Range<u64>) -> Vec<Range<u64>> {
        let (mut used, mut at) = (Vec::new(), zone.start);
        for free in self.free.iter().filter(|free| free.end > zone.start && free.start < zone.end) {
            if at < free.start {
                used.push(at..free.start);
            }
            at = free.end;
        }
        if at < zone.end {
            used.push(at..zone.end);
        }
        used
    }

    /// Bytes behind what is done that need nothing more.
    pub(super) fn ahead_of(&self, state: &State) -> u64 {
        let ahead =
            |free: &Range<u64>| free.end.min(self.filled).saturating_sub(free.start.max(state.done.end));
        self.free.iter().map(ahead).sum()
    }
}

/// Makes sure, before a re-encryption of the volume begins, that it is certain what its file system does
/// not use. `key` is the volume's; `None` where plaintext is to become the volume. `len` is the part of
/// the device that is data, if that is not all.
///
/// # Errors
/// [`Refusal::Unusable`]; [`Error::WrongVolumeKey`].
pub fn check_unused(
    luks: &Luks,
    data: Arc<dyn Storage>,
    key: Option<&Secret>,
    len: Option<u64>,
) -> Result<()> {
    let mut layout = Layout::of_luks2(metadata(luks)?)?;
    let Some(key) = key else {
        let offset = layout.segments.first().map_or(0, |segment| segment.storage_offset);
        return check_unused_plaintext(data, offset, len);
    };
    for segment in &mut layout.segments {
        segment.length = len.or(segment.length);
    }
    certainly_free(&Volume::new(data, &layout, key, Cpu::detect())?).map(drop)
}

/// As [`check_unused`], of plaintext that begins at byte `offset` of the device, before there is a header
/// for it.
///
/// # Errors
/// Those of [`check_unused`].
pub fn check_unused_plaintext(data: Arc<dyn Storage>, offset: u64, len: Option<u64>) -> Result<()> {
    certainly_free(&plaintext(data, offset, len)?).map(drop)
}

/// Writes noise to `parts` of the volume, of which `place` says where they are. No two pages of it have the
/// same noise.
fn write_noise(
    noise: &SectorCipher,
    parts: Vec<Range<u64>>,
    data: &dyn Storage,
    place: impl Fn(&Range<u64>) -> u64 + Sync,
) -> io::Result<()> {
    let chunks = parts.into_iter().flat_map(|Range { start, end }| {
        (start..end).step_by(CHUNK as usize).map(move |at| at..end.min(at + CHUNK))
    });
    spread(true, chunks, |chunk| {
        let mut bytes = vec![0; (chunk.end - chunk.start) as usize];
        noise.encrypt(chunk.start / 512, &mut bytes);
        data.write_from(&mut bytes, place(&chunk))
    })
}

/// Refuses what reads its blocks elsewhere than it writes them, and what leaves plaintext behind.
fn check_way(what: &Reencryption) -> Result<()> {
    let refuse = |why: &str| Err(Refusal::Unusable.because(format!("Unused blocks cannot be skipped {why}")));
    if what.mode == Mode::Decrypt {
        return refuse("where a volume becomes plaintext: they would be noise in the plaintext.");
    }
    if what.moved.is_some()
        || what.resilience.shift() > 0
        || what.old.segment.offset != what.new.segment.offset
    {
        return refuse("where the data moves: each block is written over another one.");
    }
    if what.direction == Direction::Backward {
        return refuse("in a reencryption that goes backward.");
    }
    Ok(())
}

/// A power of two, as every unit is.
const PAGE: u64 = 4096;
/// As much is filled at a time: who asks for a stop does not wait for more.
const PORTION: u64 = 64 << 20;

#[cfg(test)]
mod tests;
