//! Latencies of single requests. Stored as a histogram with bins a thousandth of the value wide, so
//! a run of any length takes the same memory and the curves of several samples can be added up.
//! Averages of percentiles mean nothing.

use crate::results::Latency;
use hdrhistogram::Histogram;

/// Times of requests in nanoseconds.
#[derive(Debug, Clone)]
pub struct Latencies(Histogram<u64>);

impl Latencies {
    /// Records `count` requests of this latency.
    pub fn record(&mut self, nanoseconds: u64, count: u64) {
        self.0.saturating_record_n(nanoseconds.max(1), count);
    }

    /// Adds the latencies of another run.
    pub fn add(&mut self, other: &Self) {
        // Both histograms have the same bounds.
        let _ = self.0.add(&other.0);
    }

    /// The number of requests.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The points of the curve that are shown; `None` without requests.
    pub fn points(&self) -> Option<Vec<Latency>> {
        let point = |percent| Latency {
            percent,
            microseconds: self.0.value_at_quantile(percent / 100.0) as f64 / 1000.0,
        };
        (self.count() > 0).then(|| PERCENTS.map(point).into())
    }
}

impl Default for Latencies {
    /// An empty histogram.
    fn default() -> Self {
        Self(Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("the crate takes these constants"))
    }
}

/// The percentiles that are reported.
pub const PERCENTS: [f64; 7] = [1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 100.0];
/// Ten minutes: no disk driver waits longer.
const LONGEST: u64 = 600_000_000_000;
/// Three decimal digits.
const DIGITS: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_those_of_all_runs_together() {
        let (mut first, mut second) = (Latencies::default(), Latencies::default());
        assert_eq!(first.points(), None);
        (1..=900).for_each(|us| first.record(us * 1000, 2));
        second.record(5_000_000, 199);
        second.record(80_000_000, 1);
        first.add(&second);
        assert_eq!(first.count(), 2000);
        let at = |percent: f64| {
            let points = first.points().unwrap();
            points.iter().find(|point| point.percent == percent).unwrap().microseconds
        };
        let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.002, "{found}");
        near(at(50.0), 500.0);
        near(at(90.0), 900.0);
        near(at(99.9), 5000.0);
        near(at(100.0), 80_000.0);
    }

    #[test]
    fn what_is_longer_than_anything_counts_as_the_longest() {
        let mut latencies = Latencies::default();
        latencies.record(u64::MAX, 1);
        latencies.record(0, 1);
        assert_eq!(latencies.count(), 2);
    }
}
