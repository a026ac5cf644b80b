//! A volume on a file in the making, which grows with each write.

use super::{Keys, Protection, Segment, Volume};
use crate::device::storage::NewFile;
use crate::{Layout, Result, Storage};
use keyway_crypto::{Cpu, Secret};
use std::sync::Arc;

impl Volume {
    /// As [`Volume::new`], on a file that is only as long as the bytes written to it so far.
    ///
    /// # Errors
    /// The key does not fit a segment's cipher.
    pub(crate) fn in_the_making(
        file: &NewFile,
        layout: &Layout,
        volume_key: &Secret,
        cpu: Cpu,
    ) -> Result<Self> {
        Self::over(Arc::clone(file.file()) as _, layout, volume_key.into(), cpu)
    }

    /// Without checking the length of the device.
    pub(super) fn over(data: Arc<dyn Storage>, layout: &Layout, keys: Keys<'_>, cpu: Cpu) -> Result<Self> {
        let segments = layout
            .segments
            .iter()
            .map(|segment| Segment::new(segment, data.len(), keys, cpu))
            .collect::<Result<_>>()?;
        let protection = layout.protected.clone().map(|range| Arc::new(Protection::of(range)));
        Ok(Self { data, segments, sectors: Arc::default(), protection })
    }
}
