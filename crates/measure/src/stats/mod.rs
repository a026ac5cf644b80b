//! Statistics of a row's samples: the median, the spread, and the confidence interval of the
//! median.
//!
//! Times on a computer follow no bell curve: they have a wall on one side and a tail on the other.
//! Nothing here assumes one. The interval of the median comes from order statistics alone: among n
//! independent samples, the number below the true median is binomial(n, ½), whatever the
//! distribution. (H. A. David, H. N. Nagaraja, *Order Statistics*, 3rd edition, 7.1.) Correlated
//! samples count as fewer: other load that keeps the machine busy for a second spoils consecutive
//! samples, and a hundred of them say less about the median than a hundred taken on different days.
//!
//! The variance of the number of samples below the median grows by the factor τ = 1 + 2·Σ ρₖ,
//! where ρₖ is the correlation, k samples apart, of "above" and "below"; n samples count as n / τ.
//! The sum ends at the first ρₖ that chance could explain. (A. Sokal, *Monte Carlo Methods in
//! Statistical Mechanics*, 3, for the factor.)
//!
//! Three to five samples, all that a short run has time for, are too few for order statistics: even
//! the smallest and the largest do not enclose the median in 95 of 100 runs. Only there a bell
//! curve is assumed, and the interval is Student's for the mean, widened to all samples.

mod apart;

use crate::results::Measured;

/// The statistics of samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The number of samples.
    pub count: usize,
    /// The middle sample, or the mean of the two in the middle.
    pub median: f64,
    /// Median of the absolute distances from the median.
    pub mad: f64,
    /// Five percent of the samples are below this.
    pub p5: f64,
    /// Ninety-five percent of the samples are below this.
    pub p95: f64,
    /// The interval that contains the true median in 95 of 100 runs; `None` for fewer than three
    /// samples, which are too few for one.
    pub interval: Option<(f64, f64)>,
    /// The interval that two runs are compared by: that one, and what the samples show this work to
    /// move between stretches of time.
    pub apart: Option<(f64, f64)>,
    /// The outliers: indices in the order of measurement.
    pub outliers: Vec<usize>,
}

impl Summary {
    /// The statistics of a row's samples; `None` if there are none.
    pub fn of(measured: &Measured) -> Option<Self> {
        summarise(&measured.samples)
    }

    /// Half the interval's width as a fraction of the median; `None` without an interval.
    pub fn precision(&self) -> Option<f64> {
        self.interval.map(|(low, high)| (high - low) / 2.0 / self.median)
    }
}

/// The statistics of samples; `None` if there are none.
pub(crate) fn summarise(samples: &[f64]) -> Option<Summary> {
    let sorted = sorted(samples);
    let middle = of_sorted(&sorted, 0.5)?;
    let distances: Vec<f64> = samples.iter().map(|sample| (sample - middle).abs()).collect();
    let mad = median(&distances)?;
    // Half of the samples may be equal to the last bit; then any other sample would count as
    // infinitely far away.
    let scale = (mad * MAD_TO_SIGMA).max(middle.abs() * FINEST);
    let interval = interval(&sorted, independent(samples, middle));
    let reach = apart::reach(samples);
    let apart = interval.zip(reach).map(|((low, high), reach)| {
        (middle - (middle - low).hypot(reach), middle + (high - middle).hypot(reach))
    });
    let far = |(_, sample): &(usize, &f64)| (**sample - middle).abs() > OUTLIER_SIGMAS * scale;
    Some(Summary {
        count: samples.len(),
        median: middle,
        mad,
        p5: of_sorted(&sorted, 0.05)?,
        p95: of_sorted(&sorted, 0.95)?,
        interval,
        apart,
        outliers: samples.iter().enumerate().filter(far).map(|(place, _)| place).collect(),
    })
}

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

/// Compares two rows of one run, whose samples were taken in turn. They differ when their intervals do
/// not overlap (without a real difference that would happen in less than one of a hundred rows) and the
/// medians differ by more than `least`, a fraction of the first.
pub fn compare(first: &Summary, second: &Summary, least: f64) -> Change {
    compare_by(|it| it.interval, first, second, least)
}

/// Compares a row of two runs: by their intervals [`Summary::apart`], which the machine leaves without a
/// real change in less than one of twenty rows, though it may drift between the runs as in each.
pub(crate) fn compare_runs(first: &Summary, second: &Summary, least: f64) -> Change {
    compare_by(|it| it.apart, first, second, least)
}

fn compare_by(
    interval: impl Fn(&Summary) -> Option<(f64, f64)>,
    first: &Summary,
    second: &Summary,
    least: f64,
) -> Change {
    let (Some(a), Some(b)) = (interval(first), interval(second)) else { return Change::TooFewSamples };
    let by = second.median / first.median - 1.0;
    let apart = a.1 < b.0 || b.1 < a.0;
    if apart && by.abs() > least { Change::By(by) } else { Change::Noise }
}

/// The median of some figures; `None` if there are none.
pub fn median(samples: &[f64]) -> Option<f64> {
    quantile(samples, 0.5)
}

/// The figure below which the fraction `part` of the samples lies; `None` if there are none.
pub fn quantile(samples: &[f64], part: f64) -> Option<f64> {
    of_sorted(&sorted(samples), part)
}

/// The number of independent samples that `samples`, in the order taken, count as: at most their
/// number.
fn independent(samples: &[f64], median: f64) -> usize {
    let count = samples.len();
    // 1 above the median, -1 below it, 0 at it.
    let sides: Vec<f64> = samples.iter().map(|sample| f64::from(sample.total_cmp(&median) as i8)).collect();
    let whole: f64 = sides.iter().map(|side| side * side).sum();
    if count < FEWEST || whole == 0.0 {
        return count;
    }
    let chance = 1.0 / (count as f64).sqrt();
    let together = |apart: usize| {
        let products = sides.iter().zip(&sides[apart..]).map(|(one, other)| one * other);
        products.sum::<f64>() / whole
    };
    let sum: f64 = (1..count / 4).map(together).take_while(|found| *found > chance).sum();
    let worth = count as f64 / (1.0 + 2.0 * sum);
    (worth as usize).clamp(ORDERED, count)
}

/// The samples between which the median lies, if they count as `independent` samples: at the same
/// quantiles as among that many.
fn interval(sorted: &[f64], independent: usize) -> Option<(f64, f64)> {
    if sorted.len() < ORDERED {
        return of_few(sorted);
    }
    let (rank, _) = interval_ranks(independent)?;
    let quantile = (rank + 1) as f64 / (independent + 1) as f64;
    let low = ((quantile * (sorted.len() + 1) as f64 + ROUNDING) as usize).saturating_sub(1);
    Some((sorted[low], sorted[sorted.len() - 1 - low]))
}

/// Student's interval of the mean, and all samples: whatever their distribution, it is never
/// narrower than they are.
fn of_few(sorted: &[f64]) -> Option<(f64, f64)> {
    let (smallest, largest) = (*sorted.first()?, *sorted.last()?);
    let count = sorted.len() as f64;
    let factor = *STUDENT.get(sorted.len().checked_sub(SMALLEST)?)?;
    let mean = sorted.iter().sum::<f64>() / count;
    let variance = sorted.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let half = factor * (variance / count).sqrt();
    Some((smallest.min(mean - half), largest.max(mean + half)))
}

/// The ranks, counted from 0, of the order statistics between which the median lies with at least
/// 95 % probability: the narrowest symmetric pair. `None` for fewer than six samples: even the
/// smallest and the largest do not enclose the median that often.
fn interval_ranks(count: usize) -> Option<(usize, usize)> {
    // The probability that exactly k samples lie below, for k from 0 up, in logarithms: 2^-count
    // underflows.
    let log_half = count as f64 * 0.5_f64.ln();
    let (mut log_choose, mut below, mut rank) = (0.0_f64, 0.0_f64, None);
    for k in 0..count / 2 {
        below += (log_choose + log_half).exp();
        if 2.0 * below > 1.0 - CONFIDENCE {
            break;
        }
        rank = Some((k, count - 1 - k));
        log_choose += ((count - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    rank
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Interpolates if the quantile falls between two samples (Hyndman and Fan's type 7).
fn of_sorted(sorted: &[f64], part: f64) -> Option<f64> {
    let place = part * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

/// The probability with which the interval contains the true median.
const CONFIDENCE: f64 = 0.95;
/// A normal distribution's standard deviation in units of its MAD.
const MAD_TO_SIGMA: f64 = 1.4826;
/// A sample beyond this is reported as an outlier: one in two thousand in a normal distribution.
const OUTLIER_SIGMAS: f64 = 3.5;
/// Rounding tolerance: a whole rank stays whole.
const ROUNDING: f64 = 1e-9;
/// No clock is finer than this fraction of a sample.
const FINEST: f64 = 1e-4;

/// Fewer samples show no correlation.
const FEWEST: usize = 15;
/// The fewest for which order statistics give an interval: from the smallest sample to the largest.
pub(crate) const ORDERED: usize = 6;
/// The fewest for which there is an interval at all.
pub const SMALLEST: usize = 3;
/// Student's t for 95 % with 2, 3 and 4 degrees of freedom.
const STUDENT: [f64; ORDERED - SMALLEST] = [4.303, 3.182, 2.776];

#[cfg(test)]
mod tests;
