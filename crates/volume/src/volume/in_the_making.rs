//! A volume over a file in the making, which grows to take what is written.

use super::{RangeLocks, Segment, Volume};
use crate::storage::NewFile;
use crate::{Layout, Result, Storage};
use keyway_crypto::{Cpu, Secret};
use std::sync::Arc;

impl Volume {
    /// As [`Volume::new`], over a file that is as long as what was written to it so far.
    ///
    /// # Errors
    /// The key does not fit a segment's cipher.
    pub fn in_the_making(file: &NewFile, layout: &Layout, volume_key: &Secret, cpu: Cpu) -> Result<Self> {
        Self::over(Arc::clone(file.file()) as _, layout, volume_key, cpu)
    }

    /// Whatever length the device has.
    pub(super) fn over(
        data: Arc<dyn Storage>,
        layout: &Layout,
        volume_key: &Secret,
        cpu: Cpu,
    ) -> Result<Self> {
        let segments = layout
            .segments
            .iter()
            .map(|segment| Segment::new(segment, data.len(), volume_key, cpu))
            .collect::<Result<_>>()?;
        Ok(Self { data, segments, writers: RangeLocks::default() })
    }
}
