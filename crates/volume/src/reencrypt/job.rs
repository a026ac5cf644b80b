//! A re-encryption under way: zone by zone from the state in the header to the end.

use super::buffers::Buffers;
use super::convert::forget_headers;
use super::held::Hold;
use super::hot_zone::HotZone;
use super::keys::{VolumeKeys, is_only_to_end, metadata, under_way};
use super::transform::Transform;
use super::unused::{Skip, Unused};
use super::zone_size::ZoneSize;
use crate::change::edit::{commit_luks2, wipe_area};
use crate::device::lock::{HeaderLock, LockMode};
use crate::error::shared;
use crate::header::luks::Edit;
use crate::header::under_way::geometry::{
    check_header_stays, check_hot_zone, check_moved_fits, check_whole_sectors, largest_zone, volume_len,
};
use crate::reencrypt::rekey::forget_stale;
use crate::{Access, Error, Header, Luks, Random, Refusal, Result, Storage, UnderWay};
use keyway_crypto::Cpu;
use keyway_format::luks2::reencryption::{Direction, END, State};
use keyway_format::luks2::{Area, Metadata, Reencryption, SegmentSize};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How a re-encryption goes on.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The largest hot zone in bytes (`--hotzone-size`): a multiple of the larger sector size.
    pub zone: Option<u64>,
    /// Only this many bytes of the device are data (`--device-size`), where the header does not say how many.
    pub data_len: Option<u64>,
    /// How long a zone should take at most, where others wait for it.
    pub latency: Option<Duration>,
    /// Whether header and data are on one device.
    pub holds_header: bool,
    /// Only what was cut off is completed: the old headers of a conversion stay.
    pub only_recovers: bool,
    /// The lock that this process has taken already when it opened the volume.
    pub hold: Option<Arc<Hold>>,
}

/// How far a re-encryption is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are done.
    pub done: u64,
    /// Bytes of the volume.
    pub len: u64,
}

/// A re-encryption that its volume keys vouch for, and whose data is whole.
pub struct Job {
    luks: Luks,
    data: Arc<dyn Storage>,
    what: Reencryption,
    state: State,
    len: u64,
    zones: ZoneSize,
    transform: Transform,
    buffers: Buffers,
    /// A zone that is written, and of which the header says that it is being written.
    written: bool,
    /// What a failed write of the header was to write: it may be there all the same.
    attempted: Option<Metadata>,
    /// Where the old keyslots were, from the moment that the header forgets them.
    freed: Vec<Area>,
    skip: Option<Skip>,
    /// Nobody else goes on with it.
    alone: Option<Arc<Hold>>,
}

impl Job {
    /// Goes on with the re-encryption that the header says is under way. A zone whose writing was cut
    /// off is completed first.
    ///
    /// # Errors
    /// Those of a header that contradicts itself or its device; [`Refusal::Forged`] for one that the
    /// keys do not vouch for; [`Refusal::NotRecoverable`]; [`crate::Error::Busy`] when another process
    /// is at it. Nothing was changed then.
    pub fn resume(
        luks: Luks,
        data: Arc<dyn Storage>,
        keys: &VolumeKeys,
        options: &Options,
        rng: &mut dyn Random,
    ) -> Result<Self> {
        if luks.access() != Access::Write {
            return Err(shared::not_for_editing());
        }
        let what = under_way(&luks)?;
        let is_vouched = !is_only_to_end(&luks, &what)?;
        if !is_vouched {
            keys.check_new(metadata(&luks)?, &what)?;
        } else {
            keys.check(metadata(&luks)?, &what)?;
            keys.verify(metadata(&luks)?, &what)?;
        }
        let state = what.state(metadata(&luks)?)?;
        let whole = volume_len(&what, &state, data.len())?;
        let len = limited(whole, options.data_len, &what, &state)?;
        if options.data_len.is_none() {
            check_whole_sectors(&what, &state, len, data.len())?;
        }
        check_header_stays(&what, if options.holds_header { luks.header().end() } else { 0 })?;
        check_moved_fits(&what)?;
        check_hot_zone(&what, &state)?;
        let mut zones = zones(&what, options.zone)?;
        if let Some(latency) = options.latency {
            zones = zones.within(latency);
        }
        let transform = Transform::new(&what, keys, Cpu::detect())?;
        let alone = match &options.hold {
            Some(hold) => Some(Arc::clone(hold)),
            None => Hold::acquire(&luks, LockMode::Exclusive)?,
        };
        let mut job = Self {
            luks,
            data,
            what,
            state,
            len,
            zones,
            transform,
            buffers: Buffers::default(),
            written: false,
            attempted: None,
            freed: Vec::new(),
            skip: None,
            alone,
        };
        // Somebody else may have gone on between our reading and our lock.
        drop(job.luks.lock_for(Edit::Reencryption)?);
        if is_vouched && !options.only_recovers {
            forget_headers((&job.what, &job.state), &*job.data, rng)?;
        }
        job.recover(rng)?;
        Ok(job)
    }

    /// From here on, what the file system in the volume does not use is not re-encrypted. `keys` are
    /// those that it was resumed with. Returns how many bytes that are.
    ///
    /// # Errors
    /// It moves data, or makes plaintext of it; it is not certain what is unused. Nothing was changed.
    pub fn skip_unused(&mut self, unused: Unused, keys: &VolumeKeys, rng: &mut dyn Random) -> Result<u64> {
        let (what, state, unit) = (&self.what, &self.state, self.zones.unit());
        let skip = Skip::of((what, state, self.len), &self.data, keys, (unused, unit), rng)?;
        Ok(self.skip.insert(skip).len())
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        let end = |at: u64| at.min(self.len);
        let done = end(self.state.done.end) - end(self.state.done.start);
        let ahead = self.skip.as_ref().map_or(0, |skip| skip.ahead_of(&self.state));
        Progress { done: done + ahead, len: self.len }
    }

    /// The header as it is now.
    pub fn luks(&self) -> &Luks {
        &self.luks
    }

    /// The header, and the lock that keeps others from going on: for a volume that is opened as it
    /// is now.
    pub(super) fn into_parts(self) -> (Luks, Option<Arc<Hold>>) {
        (self.luks, self.alone)
    }

    /// The data device.
    pub(super) fn data(&self) -> &Arc<dyn Storage> {
        &self.data
    }

    /// Makes sure of what users of the volume have written. What protects a zone is computed from what
    /// was written to it last, and a cut may take back whatever was not flushed: a block that is
    /// neither then would be taken for new.
    pub(super) fn flush(&self) -> Result<()> {
        let what = "flushing what is to be reencrypted";
        self.data.flush().map_err(|source| Error::Io { what: what.into(), source })
    }

    /// The zone that is being written since a step failed.
    pub(super) fn hot_zone(&self) -> Option<Range<u64>> {
        self.state.hot.clone()
    }

    /// What the next step works on; `None` when all is done.
    pub(super) fn next_zone(&self) -> Option<Range<u64>> {
        match &self.state.hot {
            Some(zone) => Some(zone.clone()),
            None => self.what.next_zone(&self.state, self.len, self.zones.bytes()),
        }
    }

    /// Does one zone; whether it was the last. The header does not speak of a re-encryption then.
    /// After an error the next step takes the same zone up again.
    ///
    /// # Errors
    /// The device's. [`Job::resume`] goes on from any of them.
    pub fn step(&mut self, rng: &mut dyn Random) -> Result<bool> {
        if let Some(zone) = self.hot_zone() {
            return self.complete(&zone, rng);
        }
        if let Some(skip) = &mut self.skip {
            if skip.fill(&*self.data, &self.what)? {
                return Ok(false);
            }
            // The header is told with the next zone, or at the end.
            self.state = skip.passed(&self.state, self.len);
        }
        let Some(mut zone) = self.next_zone() else {
            self.end(rng)?;
            return Ok(true);
        };
        if let Some(skip) = &self.skip {
            zone = skip.stretched(zone, self.len, &self.zones);
        }
        let started = Instant::now();
        let kept = self.zone(&zone).protect()?;
        let protected = Instant::now();
        let hot = self.state.heated(&zone, self.len);
        self.commit(&hot, rng)?;
        (self.state, self.written) = (hot, false);
        let told = Instant::now();
        self.zone(&zone).write(&kept)?;
        self.written = true;
        let written = Instant::now();
        let is_last = self.advance(&zone, rng)?;
        self.zones.learn(started.elapsed(), told - protected + written.elapsed());
        Ok(is_last)
    }

    /// Goes on with a zone at which an earlier step failed.
    fn complete(&mut self, zone: &Range<u64>, rng: &mut dyn Random) -> Result<bool> {
        if !self.written {
            self.zone(zone).recover()?;
            self.written = true;
        }
        self.advance(zone, rng)
    }

    /// Completes the zone whose writing was cut off.
    fn recover(&mut self, rng: &mut dyn Random) -> Result<()> {
        let Some(zone) = self.state.hot.clone() else { return Ok(()) };
        self.zone(&zone).recover()?;
        self.state.hot = None;
        self.state = self.state.advanced(&zone, self.len);
        // Also if it was the last zone: whoever opens the volume may write to it, and nobody may take it for cut off again.
        self.commit(&self.state.clone(), rng)
    }

    /// Tells the header that a zone is done; whether it was the last.
    fn advance(&mut self, zone: &Range<u64>, rng: &mut dyn Random) -> Result<bool> {
        let state = State { hot: None, ..self.state.clone() }.advanced(zone, self.len);
        if state.is_complete() {
            self.end(rng)?;
        } else {
            self.commit(&state, rng)?;
        }
        self.state = state;
        Ok(self.state.is_complete())
    }

    /// The header forgets the re-encryption, the old keyslots and the mark that asked for it in one
    /// write: there is no moment at which all is done and the header does not know.
    fn end(&mut self, rng: &mut dyn Random) -> Result<()> {
        self.settle()?;
        // Unless an earlier step failed after that write.
        let is_ended = metadata(&self.luks)?.reencryption()?.is_none();
        let lock = match is_ended {
            true => self.luks.lock_for(Edit::Reencryption)?,
            false => {
                self.freed = metadata(&self.luks)?.clone().end_reencryption(&self.what)?;
                self.change(rng, |metadata, what| {
                    metadata.end_reencryption(what)?;
                    forget_stale(metadata)
                })?
            }
        };
        // Under the lock: the areas are free now, and a keyslot that somebody adds may be placed there.
        for area in &self.freed {
            wipe_area(&**self.luks.storage(), area.offset.0..area.end().0, rng)?;
        }
        drop(lock);
        Ok(())
    }

    fn commit(&mut self, state: &State, rng: &mut dyn Random) -> Result<()> {
        self.change(rng, |metadata, what| metadata.set_reencryption_state(what, state)).map(drop)
    }

    /// Changes the header; returns its lock.
    fn change(
        &mut self,
        rng: &mut dyn Random,
        change: impl FnOnce(&mut Metadata, &Reencryption) -> Result<(), keyway_format::Error>,
    ) -> Result<Option<HeaderLock>> {
        self.settle()?;
        let Header::Luks2 { binary, metadata } = self.luks.header() else {
            return Err(shared::only_luks2());
        };
        let (binary, mut metadata) = (binary.clone(), metadata.clone());
        change(&mut metadata, &self.what)?;
        let lock = self.luks.lock_for(Edit::Reencryption)?;
        let result = commit_luks2(&mut self.luks, binary, &metadata, rng);
        self.attempted = result.is_err().then_some(metadata);
        result.map(|()| lock)
    }

    /// Finds out whether the last write of the header, which failed, is there all the same.
    fn settle(&mut self) -> Result<()> {
        if let Some(attempted) = &self.attempted {
            self.luks.settle(attempted)?;
            self.attempted = None;
        }
        Ok(())
    }

    fn zone(&self, zone: &Range<u64>) -> HotZone<'_> {
        HotZone {
            what: &self.what,
            zone: zone.clone(),
            data: &*self.data,
            header: &**self.luks.storage(),
            transform: &self.transform,
            buffers: &self.buffers,
            skip: self.skip.as_ref(),
        }
    }
}

/// The length of the volume, which has `len` bytes as far as header and device say, where `wanted` may say less.
fn limited(len: u64, wanted: Option<u64>, what: &Reencryption, state: &State) -> Result<u64> {
    match wanted {
        None => Ok(len),
        Some(wanted) if Sizes::at(what, state, len).allow(wanted) => Ok(wanted),
        Some(_) => {
            Err(Refusal::Geometry.because("Illegal device size requested in reencryption parameters."))
        }
    }
}

/// The lengths, in bytes, with which a re-encryption that is under way can go on ([`Options::data_len`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The least: where it is less than `len`, all behind it is given up.
    pub least: u64,
    /// All of the volume.
    pub len: u64,
    /// What a smaller one is a multiple of.
    pub unit: u64,
}

impl Sizes {
    /// On a device of `device_len` bytes.
    ///
    /// # Errors
    /// [`Refusal::Geometry`]: the header and the device contradict each other.
    pub fn of(under_way: &UnderWay, device_len: u64) -> Result<Self> {
        let (what, state) = (under_way.what(), under_way.state());
        Ok(Self::at(what, state, volume_len(what, state, device_len)?))
    }

    fn at(what: &Reencryption, state: &State, len: u64) -> Self {
        let unit = u64::from(what.sector_size());
        let is_open =
            state.total == END && what.old.segment.size == SegmentSize::Dynamic && what.moved.is_none();
        let least = match what.direction {
            _ if !is_open => len,
            Direction::Forward => state.hot.as_ref().map_or(state.done.end, |hot| hot.end).max(unit),
            // From the end: nothing may have been done from another one.
            Direction::Backward if state.done.is_empty() && state.hot.is_none() => unit,
            Direction::Backward => len,
        };
        Self { least: least.min(len), len, unit }
    }

    /// Whether it can go on with so many bytes.
    pub fn allow(&self, bytes: u64) -> bool {
        bytes == self.len || ((self.least..self.len).contains(&bytes) && bytes.is_multiple_of(self.unit))
    }
}

/// The sizes of hot zones; `wanted` is a size that was asked for.
pub(super) fn zones(what: &Reencryption, wanted: Option<u64>) -> Result<ZoneSize> {
    let block = what.resilience.checksum().map_or(0, |checksum| checksum.block);
    let unit = u64::from(what.sector_size().max(block));
    match wanted {
        Some(zone) if zone == 0 || !zone.is_multiple_of(unit) => Err(Refusal::Geometry
            .because(format!("Hotzone size must be multiple of calculated zone alignment ({unit} bytes)."))),
        wanted => Ok(ZoneSize::new(unit, largest_zone(what)?, wanted)),
    }
}
