//! Figures that were measured or published, each with the range that the true value is expected in.
//!
//! Ranges are not standard deviations: an interval holds what was seen, widened by what is known
//! about the way in which it was seen. Sums add the ends, because what makes one keyslot slower
//! than predicted makes all of them slower.

use core::ops::Add;

/// A positive figure and its range.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The best single figure.
    pub likely: f64,
    /// The upper end.
    pub high: f64,
}

/// How an interval relates to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within {
    /// All of the interval is within the limit.
    Surely,
    /// The likely figure is within the limit, the upper end is not.
    Probably,
    /// The likely figure exceeds the limit, the lower end does not.
    Hardly,
    /// All of the interval exceeds the limit.
    No,
}

impl Interval {
    /// A figure without uncertainty.
    pub const fn exact(figure: f64) -> Self {
        Self { low: figure, likely: figure, high: figure }
    }

    /// The time that something takes, from samples of it: the shortest is the likely one, because
    /// everything that disturbs a sample makes it longer. One that is shorter than all others, and
    /// confirmed by none, was told by a clock that went wrong. The upper end is where three quarters
    /// of the samples are below. `None` without samples.
    pub fn of_times(samples: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: alloc::vec::Vec<f64> = samples.into_iter().filter(|s| s.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let confirmed = sorted.windows(2).find(|pair| pair[1] <= pair[0] * CONFIRMS).map(|pair| pair[0]);
        let likely = confirmed.or(sorted.first().copied())?;
        Some(Self { low: likely, likely, high: sorted[sorted.len() * 3 / 4].max(likely) })
    }

    /// Both ends moved outwards: the lower one to `down` times itself, the upper one to `up` times.
    #[must_use]
    pub fn widened(self, down: f64, up: f64) -> Self {
        Self { low: self.low * down.min(1.0), likely: self.likely, high: self.high * up.max(1.0) }
    }

    /// A multiple.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { low: self.low * factor, likely: self.likely * factor, high: self.high * factor }
    }

    /// `amount` divided by it: from a rate to a time, and back.
    #[must_use]
    pub fn under(self, amount: f64) -> Self {
        let divided = |by: f64| if amount == 0.0 { 0.0 } else { amount / by };
        Self { low: divided(self.high), likely: divided(self.likely), high: divided(self.low) }
    }

    /// How it relates to a limit.
    pub fn within(&self, limit: f64) -> Within {
        match self {
            Self { high, .. } if *high <= limit => Within::Surely,
            Self { likely, .. } if *likely <= limit => Within::Probably,
            Self { low, .. } if *low <= limit => Within::Hardly,
            _ => Within::No,
        }
    }
}

impl Within {
    /// Whether the limit lies inside the interval, so that the measurement does not decide.
    pub fn is_uncertain(self) -> bool {
        matches!(self, Self::Probably | Self::Hardly)
    }
}

impl Add for Interval {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { low: self.low + other.low, likely: self.likely + other.likely, high: self.high + other.high }
    }
}

impl core::iter::Sum for Interval {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

/// How much longer the next sample may be that confirms a short one.
const CONFIRMS: f64 = 1.05;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_keeps_the_ends_in_order() {
        let rate = Interval { low: 80.0, likely: 100.0, high: 125.0 };
        let time = rate.under(1000.0);
        assert_eq!(time, Interval { low: 8.0, likely: 10.0, high: 12.5 });
        assert_eq!(time.times(2.0) + Interval::exact(1.0), Interval { low: 17.0, likely: 21.0, high: 26.0 });
        assert_eq!(rate.under(0.0), Interval::default());
        assert_eq!(time.widened(0.5, 2.0), Interval { low: 4.0, likely: 10.0, high: 25.0 });
        assert_eq!([time, time].into_iter().sum::<Interval>(), time.times(2.0));
    }

    #[test]
    fn a_limit_is_inside_or_outside() {
        let time = Interval { low: 3.9, likely: 4.1, high: 4.6 };
        let found = [5.0, 4.6, 4.2, 4.0, 3.8].map(|limit| time.within(limit));
        assert_eq!(found, [Within::Surely, Within::Surely, Within::Probably, Within::Hardly, Within::No]);
        assert_eq!(found.map(Within::is_uncertain), [false, false, true, true, false]);
    }

    fn overlaps(one: &Interval, other: &Interval) -> bool {
        one.low <= other.high && other.low <= one.high
    }

    /// Seconds of CPU time for one sample of PBKDF2: quiet, and beside three busy loops on two CPUs;
    /// and the clock's seconds of the latter.
    #[test]
    fn samples_under_load_give_the_same_interval() {
        let quiet = [0.0302, 0.0297, 0.0298, 0.0311, 0.0299, 0.0300, 0.0297];
        let busy = [0.0329, 0.0301, 0.0303, 0.0342, 0.0305, 0.0318, 0.0304];
        let wall = [0.0741, 0.0689, 0.0823, 0.0779, 0.0702, 0.0811, 0.0733];
        let [quiet, busy, wall] =
            [quiet, busy, wall].map(|samples| Interval::of_times(samples).unwrap().widened(0.92, 1.08));
        assert!(overlaps(&quiet, &busy) && (busy.likely / quiet.likely - 1.0).abs() < 0.05);
        assert!(!overlaps(&quiet, &wall), "the wall clock would have told of twice the time");
        assert_eq!(Interval::of_times([]), None);
    }

    /// Seen where a thread was moved between loaded cores: half of the time that it took.
    #[test]
    fn a_sample_that_no_other_confirms_is_not_the_best() {
        let best = |samples: &[f64]| Interval::of_times(samples.iter().copied()).unwrap();
        assert_eq!(best(&[0.034, 0.015, 0.030, 0.031, 0.030]).likely, 0.030);
        assert_eq!(best(&[0.015, 0.030, 0.045]).likely, 0.015, "none confirms another");
        assert_eq!(best(&[0.030]), Interval::exact(0.030));
        let late = best(&[0.010, 0.020, 0.030, 0.040, 0.041]);
        assert!(late.low == 0.040 && late.high >= late.likely, "{late:?}");
    }
}
