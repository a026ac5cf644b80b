//! The same volume, mapped differently: in the middle of a re-encryption.

use super::{Keys, Segment, Volume};
use crate::{Layout, Result};
use keyway_crypto::Cpu;
use std::sync::Arc;

impl Volume {
    /// The plaintext of `layout` on the same device. Its requests wait for those of the volume as it
    /// was mapped before, as for each other: some may still be at work there.
    ///
    /// # Errors
    /// A key is missing, or does not fit a segment's cipher.
    pub(crate) fn remapped(&self, layout: &Layout, keys: Keys<'_>, cpu: Cpu) -> Result<Self> {
        let segments = layout
            .segments
            .iter()
            .map(|segment| Segment::new(segment, self.data.len(), keys, cpu))
            .collect::<Result<_>>()?;
        let (data, sectors) = (Arc::clone(&self.data), Arc::clone(&self.sectors));
        Ok(Self { data, segments, sectors, protection: self.protection.clone() })
    }
}
