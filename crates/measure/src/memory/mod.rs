//! Ciphers and key derivations in memory, by Keyway's own code and by
//! the kernel's, with every output checked.

pub(crate) mod cipher;
pub(crate) mod driver;
pub(crate) mod kdf;
pub(crate) mod kernel;
mod keyed;
mod threads;

pub(crate) use driver::longest_request;

use crate::Clock;
use crate::results::Outcome;
use keyway_kernel::{Missing, Random};
use std::time::Duration;

/// Why the kernel cannot be measured.
fn missing(missing: Missing) -> Outcome {
    Outcome::NotMeasured { reason: missing.to_string(), missing_right: missing.right, no_time: None }
}

/// Bytes that look random and are the same each time: the benchmark's keys and data are not secret.
pub(crate) fn pattern(seed: u64, bytes: &mut [u8]) {
    Random::seeded(seed).fill(bytes);
}

/// How long something takes: the shortest of several tries, for interruptions are no part of it.
/// What is slow is tried only once.
fn shortest(clock: &dyn Clock, mut work: impl FnMut() -> Result<(), Outcome>) -> Result<Duration, Outcome> {
    let mut shortest = Duration::MAX;
    for _ in 0..TRIES {
        let before = clock.now();
        work()?;
        shortest = shortest.min(clock.now().saturating_sub(before));
        if shortest > SLOW {
            break;
        }
    }
    Ok(shortest)
}

const TRIES: u32 = 3;
/// What takes longer is repeated less often.
const SLOW: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests;
