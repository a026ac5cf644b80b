//! The same volume with another length. It reuses the ciphers: no key is needed.

use super::Volume;
use crate::{Refusal, Result};
use std::sync::Arc;

impl Volume {
    /// The volume with `length` bytes; with `None`, all that fits the current length of its device.
    /// There must be no more requests to the old volume once the new one is written to.
    ///
    /// # Errors
    /// The length is not a whole number of sectors, the device has no room for it, or the device
    /// ends before the last segment starts.
    pub fn resized(&self, length: Option<u64>) -> Result<Self> {
        let refused = |why: String| Err(Refusal::Geometry.because(why));
        let mut segments = self.segments.clone();
        let Some(last) = segments.last_mut() else { return refused("it has no segments".into()) };
        let has = self.data.len();
        let room = has.saturating_sub(last.storage_offset);
        let room = room - room % last.sector_size;
        let wanted = match length {
            None => room,
            Some(length) if length <= last.start => {
                return refused(format!("its last segment starts at byte {}", last.start));
            }
            Some(length) => length - last.start,
        };
        if wanted == 0 || wanted > room {
            return refused(format!("the device ends at byte {has}, which leaves room for {room} bytes"));
        }
        if wanted % last.sector_size != 0 {
            return refused(format!("{wanted} bytes are not a multiple of {}", last.sector_size));
        }
        last.end = last.start + wanted;
        let (data, protection) = (Arc::clone(&self.data), self.protection.clone());
        Ok(Self { data, segments, sectors: Arc::default(), protection })
    }
}
