//! Times as Windows counts them (FILETIME): units of 100 ns since 1601.

use crate::random::random_bytes;
use crate::{Random, Result};
use keyway_format::bitlk::Nonces;
use std::time::{SystemTime, UNIX_EPOCH};

/// Now; the start of 1970 where the clock is before that.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    EPOCH + (since.as_nanos() / 100) as u64
}

/// Seconds since 1970.
pub(super) fn unix_time(time: u64) -> i64 {
    (time.wrapping_sub(EPOCH) / PER_SECOND) as i64
}

/// Nonces that were never used, from a counter on. The counter alone does not make them so: where a write was cut off, or an
/// old copy of the metadata was put back, it is counted again, and a clock may stand still or be set back. The low half of the
/// time, seven minutes, is random.
pub(super) fn fresh_nonces(next: u32, rng: &mut dyn Random) -> Result<Nonces> {
    let random = u32::from_le_bytes(random_bytes(rng)?);
    Ok(Nonces::new(now() & !u64::from(u32::MAX) | u64::from(random), next))
}

/// January 1, 1970.
const EPOCH: u64 = 116_444_736_000_000_000;
const PER_SECOND: u64 = 10_000_000;
