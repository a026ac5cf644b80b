//! A volume that the kernel maps while it is re-encrypted: whoever drives the kernel holds requests
//! back during a step, and maps the volume as it is afterwards.

use super::job::Job;
use super::keys::VolumeKeys;
use super::online::{in_order, layout};
use super::{Progress, UnderWay};
use crate::DataDevice;
use crate::{Keys, Layout, Random, Result};
use std::ops::Range;

/// A re-encryption whose volume is mapped elsewhere.
pub struct Mapped {
    job: Job,
    keys: VolumeKeys,
    /// Whether the header is on the data device too.
    holds_header: bool,
}

impl Mapped {
    /// Of a re-encryption, whose keys these are.
    pub fn new(job: Job, keys: VolumeKeys, holds_header: bool) -> Self {
        Self { job, keys, holds_header }
    }

    /// Re-encrypts one zone; whether it was the last. No request may reach the zone meanwhile, and
    /// those before must have ended.
    ///
    /// # Errors
    /// The device's.
    pub fn step(&mut self, rng: &mut dyn Random) -> Result<bool> {
        self.job.flush()?;
        self.job.step(rng)
    }

    /// Where the plaintext is now.
    ///
    /// # Errors
    /// Those of a header that cannot be mapped.
    pub fn layout(&self) -> Result<Layout> {
        layout(&self.job, self.holds_header)
    }

    /// Where the plaintext will be after the next step.
    ///
    /// # Errors
    /// Those of [`Mapped::layout`].
    pub fn next_layout(&self) -> Result<Layout> {
        let Some(zone) = self.job.next_zone() else { return self.layout() };
        let device = DataDevice { len: self.job.data().len(), holds_header: self.holds_header };
        match UnderWay::judge(self.job.luks().header(), Some(device))? {
            Some(under_way) => under_way.after(&zone).layout(),
            None => self.layout(),
        }
    }

    /// The zone whose bytes are in doubt since a step has failed.
    pub fn doubtful(&self) -> Option<Range<u64>> {
        self.job.hot_zone()
    }

    /// The keys in the order in which the segments name them.
    ///
    /// # Errors
    /// One is missing.
    pub fn keys(&self) -> Result<Keys<'_>> {
        in_order(&self.job, &self.keys)
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        self.job.progress()
    }
}
