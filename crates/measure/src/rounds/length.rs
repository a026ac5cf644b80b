//! How long samples are, and how many there are at least.

use super::CASE_SECONDS;
use crate::results::Settings;
use std::time::Duration;

/// The number of passes in a sample, from the duration of one pass.
pub fn passes(once: Duration, sample_seconds: f64) -> u32 {
    let passes = sample_seconds / once.as_secs_f64().max(1e-9);
    passes.ceil().clamp(1.0, f64::from(1 << 20)) as u32
}

/// The fewest passes in a sample.
pub(crate) fn fewest_passes(once: Duration) -> u32 {
    passes(once, SHORTEST)
}

/// The settings of a run over `cases` cases: shorter samples, and fewer, if time is short.
pub fn settings(time_seconds: Option<f64>, cases: usize, clock_seconds: f64) -> Settings {
    let share = time_seconds.map_or(CASE_SECONDS, |all| all / cases.max(1) as f64);
    let least = if share < CASE_SECONDS / 2.0 { FEWEST } else { USUAL };
    // Checking takes about as long as measuring.
    let sample = share / (2.0 * f64::from(least));
    Settings {
        time_seconds,
        precision: 0.01,
        least_samples: least,
        most_samples: 301,
        sample_seconds: sample.clamp(SHORTEST, LONGEST),
        clock_seconds,
        ..Settings::default()
    }
}

/// Fewer samples give no 95 % interval.
pub(super) const FEWEST: u32 = 6;
/// The interval then leaves out the three smallest and the three largest.
const USUAL: u32 = 15;
/// A sample shorter than this would measure the clock too.
const SHORTEST: f64 = 0.000_2;
/// A longer sample is better split into two.
const LONGEST: f64 = 0.005;
