//! Whether two rows differ by more than noise.

use super::Summary;

/// What lies between two medians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// Nothing that could be told from noise: the intervals overlap, or the
    /// difference is smaller than what is asked for.
    Noise,
    /// The second differs by this part of the first: 0.1 is ten percent more.
    By(f64),
    /// One of them has too few samples for an interval.
    TooFewSamples,
}

/// Compares two rows. They differ when their intervals do not overlap (were there no
/// difference, that would happen less than once in a hundred rows) and the medians lie
/// apart by more than `least`, a part of the first.
pub fn compare(first: &Summary, second: &Summary, least: f64) -> Change {
    let (Some(a), Some(b)) = (first.interval, second.interval) else { return Change::TooFewSamples };
    let by = second.median / first.median - 1.0;
    let apart = a.1 < b.0 || b.1 < a.0;
    if apart && by.abs() > least { Change::By(by) } else { Change::Noise }
}
