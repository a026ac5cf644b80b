//! Overwrites key material that must not be recoverable.

use crate::{Error, Random, Result, Storage};
use std::ops::Range;

/// Overwrites a keyslot's area with patterns, flushing each, and finally with random bytes.
pub(crate) fn wipe_area(storage: &dyn Storage, area: Range<u64>, rng: &mut dyn Random) -> Result<()> {
    let io = |source| Error::Io { what: format!("wiping key material at offset {}", area.start), source };
    let mut content = vec![0; (area.end - area.start) as usize];
    for pattern in PATTERNS {
        match pattern {
            Some(byte) => content.fill(byte),
            None => rng.fill(&mut content)?,
        }
        storage.write_at(&content, area.start).map_err(io)?;
        storage.flush().map_err(io)?;
    }
    Ok(())
}

/// `None` stands for random bytes.
const PATTERNS: [Option<u8>; 6] = [Some(0x00), Some(0xff), Some(0x55), Some(0xaa), None, None];
