//! Whether two rows differ by more than noise.

use super::Summary;

/// The difference between two medians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// Nothing distinguishable from noise: the intervals overlap, or the difference is smaller than
    /// requested.
    Noise,
    /// The second differs by this fraction of the first: 0.1 is ten percent more.
    By(f64),
    /// One of them has too few samples for an interval.
    TooFewSamples,
}

/// Compares two rows. They differ when their intervals do not overlap (without a real difference
/// that would happen in less than one of a hundred rows) and the medians differ by more than
/// `least`, a fraction of the first.
pub fn compare(first: &Summary, second: &Summary, least: f64) -> Change {
    let (Some(a), Some(b)) = (first.interval, second.interval) else { return Change::TooFewSamples };
    let by = second.median / first.median - 1.0;
    let apart = a.1 < b.0 || b.1 < a.0;
    if apart && by.abs() > least { Change::By(by) } else { Change::Noise }
}
