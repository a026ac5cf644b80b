//! A volume that is re-encrypted while it is in use.
//!
//! Requests pass beside the hot zone. While a zone is written, a request that touches it waits; and
//! before, the zone waits until those under way have ended. Each request works on the volume as its
//! mapping was when it entered: outside the hot zone no mapping changes meanwhile.

use super::job::Job;
use super::keys::VolumeKeys;
use super::{Progress, UnderWay};
use crate::DataDevice;
use crate::{Error, Header, Keys, Layout, Luks, Random, Result, Storage, Volume};
use keyway_crypto::Cpu;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The plaintext of a volume that is re-encrypted meanwhile, step by step.
pub struct Online {
    job: Mutex<Job>,
    keys: VolumeKeys,
    data: Arc<dyn Storage>,
    /// Whether the header is on the data device too.
    holds_header: bool,
    traffic: Mutex<Traffic>,
    changed: Condvar,
}

struct Traffic {
    volume: Arc<Volume>,
    hot: Option<Hot>,
    under_way: Vec<Range<u64>>,
    entered: u64,
    progress: Progress,
}

/// A zone that no request enters.
struct Hot {
    zone: Range<u64>,
    /// Writing it has failed: requests need not wait for it.
    failed: bool,
}

impl Online {
    /// The volume of `job`, whose keys these are.
    ///
    /// # Errors
    /// A key does not fit a segment's cipher, or the device has become too short.
    pub fn new(job: Job, keys: VolumeKeys, holds_header: bool) -> Result<Self> {
        let data = Arc::clone(job.data());
        let layout = layout(&job, holds_header)?;
        let volume = Volume::new(Arc::clone(&data), &layout, in_order(&job, &keys)?, Cpu::detect())?;
        let traffic = Traffic {
            volume: Arc::new(volume),
            hot: None,
            under_way: Vec::new(),
            entered: 0,
            progress: job.progress(),
        };
        let (job, traffic) = (Mutex::new(job), Mutex::new(traffic));
        Ok(Self { job, keys, data, holds_header, traffic, changed: Condvar::new() })
    }

    /// Re-encrypts one zone; whether it was the last. After an error requests to that zone fail, until
    /// a later step completes it.
    ///
    /// # Errors
    /// The device's.
    pub fn step(&self, rng: &mut dyn Random) -> Result<bool> {
        let mut job = unpoisoned(&self.job);
        if let Some(zone) = job.next_zone() {
            self.close(&zone);
        }
        let stepped = self.step_alone(&mut job, rng);
        let mut traffic = self.traffic();
        let result = match stepped {
            Ok((volume, is_last)) => {
                traffic.volume = Arc::new(volume);
                traffic.hot = None;
                traffic.progress = job.progress();
                Ok(is_last)
            }
            Err(error) => {
                if let Some(hot) = &mut traffic.hot {
                    hot.failed = true;
                }
                Err(error)
            }
        };
        drop(traffic);
        self.changed.notify_all();
        result
    }

    fn step_alone(&self, job: &mut Job, rng: &mut dyn Random) -> Result<(Volume, bool)> {
        job.flush()?;
        let is_last = job.step(rng)?;
        let layout = layout(job, self.holds_header)?;
        let volume = self.traffic().volume.remapped(&layout, in_order(job, &self.keys)?, Cpu::detect())?;
        Ok((volume, is_last))
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        self.traffic().progress
    }

    /// How many requests there have been: whoever re-encrypts may give way to them.
    pub fn requests(&self) -> u64 {
        self.traffic().entered
    }

    /// Whether these are its keys.
    ///
    /// # Errors
    /// [`Error::WrongVolumeKey`].
    pub fn check_keys(&self, keys: &VolumeKeys) -> Result<()> {
        match self.keys.is_same(keys) {
            true => Ok(()),
            false => Err(Error::WrongVolumeKey),
        }
    }

    /// The volume as it is now, where its plaintext is, and its header: for one that is complete.
    ///
    /// # Errors
    /// Those of a header that cannot be mapped.
    pub fn finished(&self) -> Result<(Arc<Volume>, Layout, Luks)> {
        let job = unpoisoned(&self.job);
        Ok((self.volume(), layout(&job, self.holds_header)?, job.luks().clone_for_reading()))
    }

    /// Waits until no request is inside the zone; from now on none enters it.
    fn close(&self, zone: &Range<u64>) {
        let mut traffic = self.traffic();
        traffic.hot = Some(Hot { zone: zone.clone(), failed: false });
        while traffic.under_way.iter().any(|range| overlap(range, zone)) {
            traffic = self.changed.wait(traffic).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Runs a request on `range` as soon as that is not in the hot zone.
    fn pass<T>(&self, range: Range<u64>, work: impl FnOnce(&Volume) -> io::Result<T>) -> io::Result<T> {
        let mut traffic = self.traffic();
        while let Some(hot) = traffic.hot.as_ref().filter(|hot| overlap(&hot.zone, &range)) {
            if hot.failed {
                let Range { start, end } = hot.zone;
                return Err(io::Error::other(format!(
                    "bytes {start} to {end} cannot be used: reencrypting them has failed"
                )));
            }
            traffic = self.changed.wait(traffic).unwrap_or_else(PoisonError::into_inner);
        }
        traffic.under_way.push(range.clone());
        traffic.entered += 1;
        let volume = Arc::clone(&traffic.volume);
        drop(traffic);
        let _pass = Pass { of: self, range };
        work(&volume)
    }

    fn volume(&self) -> Arc<Volume> {
        Arc::clone(&self.traffic().volume)
    }

    fn traffic(&self) -> MutexGuard<'_, Traffic> {
        unpoisoned(&self.traffic)
    }
}

/// A request under way.
struct Pass<'a> {
    of: &'a Online,
    range: Range<u64>,
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut traffic = self.of.traffic();
        if let Some(own) = traffic.under_way.iter().position(|range| *range == self.range) {
            traffic.under_way.swap_remove(own);
        }
        let is_awaited = traffic.hot.as_ref().is_some_and(|hot| overlap(&hot.zone, &self.range));
        drop(traffic);
        if is_awaited {
            self.of.changed.notify_all();
        }
    }
}

impl Storage for Online {
    fn len(&self) -> u64 {
        self.volume().len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.pass(extent(offset, buf.len()), |volume| volume.read_at(buf, offset))
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.pass(extent(offset, buf.len()), |volume| volume.write_at(buf, offset))
    }

    fn write_from(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.pass(extent(offset, buf.len()), |volume| volume.write_from(buf, offset))
    }

    fn flush(&self) -> io::Result<()> {
        self.data.flush()
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.pass(range.clone(), |volume| volume.discard(range))
    }

    fn is_read_only(&self) -> bool {
        self.data.is_read_only()
    }

    fn is_distant(&self) -> bool {
        self.data.is_distant()
    }

    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        self.volume().next_data(offset)
    }

    fn unit(&self) -> u64 {
        self.volume().unit()
    }
}

/// Where the plaintext is now.
pub(super) fn layout(job: &Job, holds_header: bool) -> Result<Layout> {
    let device = DataDevice { len: job.data().len(), holds_header };
    match UnderWay::judge(job.luks().header(), Some(device))? {
        Some(under_way) => under_way.layout(),
        None => job.luks().header().layout(),
    }
}

/// The keys in the order in which the segments name them.
pub(super) fn in_order<'a>(job: &Job, keys: &'a VolumeKeys) -> Result<Keys<'a>> {
    let is_under_way = match job.luks().header() {
        Header::Luks2 { metadata, .. } => metadata.reencryption()?.is_some(),
        Header::Luks1(_) => false,
    };
    // Plaintext, which a decryption leaves, has no key: there the old one is named, and not used.
    let first = if is_under_way { keys.old().or(keys.new_key()) } else { keys.new_key().or(keys.old()) };
    let second = keys.new_key().filter(|_| is_under_way);
    first.map(|first| Keys::new(first, second)).ok_or(Error::WrongVolumeKey)
}

fn extent(offset: u64, len: usize) -> Range<u64> {
    offset..offset.saturating_add(len as u64)
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

fn unpoisoned<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
