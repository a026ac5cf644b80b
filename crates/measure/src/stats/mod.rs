//! Statistics of a row's samples: the median, the spread, and the confidence interval of the
//! median.
//!
//! Times on a computer follow no bell curve: they have a wall on one side and a tail on the other.
//! Nothing here assumes one. The interval of the median comes from order statistics alone: among n
//! independent samples, the number below the true median is binomial(n, ½), whatever the
//! distribution. (H. A. David, H. N. Nagaraja, *Order Statistics*, 3rd edition, 7.1.) Correlated
//! samples count as fewer ([`turns`]).

mod compare;
mod turns;

pub use compare::{Change, compare};

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
    /// The interval that contains the true median in 95 of 100 runs; `None` for fewer than six
    /// samples, which are too few for one.
    pub interval: Option<(f64, f64)>,
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
pub fn summarise(samples: &[f64]) -> Option<Summary> {
    let sorted = sorted(samples);
    let middle = of_sorted(&sorted, 0.5)?;
    let distances: Vec<f64> = samples.iter().map(|sample| (sample - middle).abs()).collect();
    let mad = median(&distances)?;
    // Half of the samples may be equal to the last bit; then any other sample would count as
    // infinitely far away.
    let scale = (mad * MAD_TO_SIGMA).max(middle.abs() * FINEST);
    let far = |(_, sample): &(usize, &f64)| (**sample - middle).abs() > OUTLIER_SIGMAS * scale;
    Some(Summary {
        count: samples.len(),
        median: middle,
        mad,
        p5: of_sorted(&sorted, 0.05)?,
        p95: of_sorted(&sorted, 0.95)?,
        interval: interval(&sorted, turns::independent(samples, middle)),
        outliers: samples.iter().enumerate().filter(far).map(|(place, _)| place).collect(),
    })
}

/// The median of some figures; `None` if there are none.
pub fn median(samples: &[f64]) -> Option<f64> {
    quantile(samples, 0.5)
}

/// The figure below which the fraction `part` of the samples lies; `None` if there are none.
pub fn quantile(samples: &[f64], part: f64) -> Option<f64> {
    of_sorted(&sorted(samples), part)
}

/// The samples between which the median lies, if they count as `independent` samples: at the same
/// quantiles as among that many.
fn interval(sorted: &[f64], independent: usize) -> Option<(f64, f64)> {
    let (rank, _) = interval_ranks(independent)?;
    let quantile = (rank + 1) as f64 / (independent + 1) as f64;
    let low = ((quantile * (sorted.len() + 1) as f64 + ROUNDING) as usize).saturating_sub(1);
    Some((sorted[low], sorted[sorted.len() - 1 - low]))
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

#[cfg(test)]
mod tests;
