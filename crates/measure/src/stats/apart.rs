//! What two runs of one program may differ by, from what the samples of each already show.
//!
//! The interval of the median covers what differs from sample to sample. A second run is further
//! away than that: the clock frequency has moved, a neighbour on the host has come or gone. The
//! samples of a row are spread over its batch's part of the run, so cut into blocks, in the order
//! taken, they show how far the same work moves with time. Another run is then one more such block:
//! the median of a block has the variance s², of which the samples' own noise explains a part, and
//! two runs differ by what two blocks do. Each gets half of that difference's prediction interval:
//! with b blocks ± t·√(s²·(1 + π/2b) / 2), where t is Student's for b − 1 degrees of freedom.
//! (G. J. Hahn, W. Q. Meeker, *Statistical Intervals*, 4.8, for the prediction of a further mean.)
//!
//! The noise in a block's median follows from the differences between neighbouring samples, which
//! drift does not change. (J. von Neumann et al., *The Mean Square Successive Difference*, 1941.)

use super::{MAD_TO_SIGMA, SMALLEST, median};

/// How far the median of another run may be from this one's, in the unit of the samples, which are
/// in the order in which they were taken; `None` for fewer than three.
pub(super) fn reach(samples: &[f64]) -> Option<f64> {
    let count = samples.len();
    if count < SMALLEST {
        return None;
    }
    let blocks = if count < 2 * BLOCKS { count } else { BLOCKS };
    let block = |number: usize| &samples[number * count / blocks..(number + 1) * count / blocks];
    let medians: Vec<f64> = (0..blocks).filter_map(|number| median(block(number))).collect();
    let moved = (variance(&medians) - explained(samples, blocks)).max(0.0);
    let factor = STUDENT[blocks - SMALLEST];
    let of_median = MEDIAN / blocks as f64;
    Some(factor * (moved * (1.0 + of_median) / 2.0).sqrt())
}

/// The variance of the medians of `blocks` blocks that the samples' own noise explains; none of it
/// in short blocks, where it cannot be told from drift.
fn explained(samples: &[f64], blocks: usize) -> f64 {
    let size = samples.len() as f64 / blocks as f64;
    if size < LONG {
        return 0.0;
    }
    let steps: Vec<f64> = samples.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let noise = median(&steps).unwrap_or(0.0) * MAD_TO_SIGMA;
    // A step has two samples' variance; a median of n has about π / (2n + 1) of one's.
    noise.powi(2) / 2.0 * 2.0 * MEDIAN / (2.0 * size + 1.0)
}

fn variance(figures: &[f64]) -> f64 {
    let count = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / count;
    figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / (count - 1.0)
}

/// The most blocks: more would be shorter, and hold more noise than drift.
const BLOCKS: usize = 10;
/// Fewer samples in a block are short: drift is in many of the differences between them.
const LONG: f64 = 5.0;
/// What a median's variance is of a mean's, where there are many.
const MEDIAN: f64 = std::f64::consts::FRAC_PI_2;
/// Student's t for 95 % with 2 to 18 degrees of freedom.
const STUDENT: [f64; 2 * BLOCKS - SMALLEST] = [
    4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101,
];
