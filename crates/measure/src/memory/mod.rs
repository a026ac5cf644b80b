//! Ciphers and key derivations in memory, by Keyway's own code and by
//! the kernel's, with every output checked.

mod cipher;
mod driver;
mod kdf;
mod kernel;
mod threads;

pub(crate) use driver::longest_request;

use crate::Clock;
use crate::results::{By, Case, Outcome, Settings};
use crate::rounds::Subject;
use keyway_kernel::{Missing, Random};
use std::time::Duration;

/// Prepares a case that runs Keyway's code or the kernel's.
pub fn prepare(case: &Case, settings: &Settings, clock: &dyn Clock) -> Result<Subject, Outcome> {
    match case {
        Case::Cipher(case) if case.by == By::Keyway => cipher::prepare(case, settings, clock),
        Case::Cipher(case) if matches!(case.by, By::Kernel(None)) => kernel::prepare(case, settings, clock),
        Case::Driver(case) => driver::prepare(case, settings, clock),
        Case::Kdf(case) if case.by == By::Keyway => kdf::prepare(case, settings, clock),
        _ => Err(Outcome::not_measured(format!("{} is not measured in memory", case.id()))),
    }
}

/// Why the kernel cannot be measured.
fn missing(missing: Missing) -> Outcome {
    Outcome::NotMeasured { reason: missing.to_string(), missing_right: missing.right }
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
