//! The number of independent samples in a row. Other load that keeps the machine busy for a second
//! spoils consecutive samples: they are correlated, and a hundred of them say less about the median
//! than a hundred taken on different days.
//!
//! The interval of a median depends on the number of samples below it. The variance of that number
//! grows by the factor τ = 1 + 2·Σ ρₖ, where ρₖ is the correlation, k samples apart, of "above" and
//! "below"; n samples count as n / τ. The sum ends at the first ρₖ that chance could explain. (A.
//! Sokal, *Monte Carlo Methods in Statistical Mechanics*, 3, for the factor.)

/// The number of independent samples that `samples`, in the order taken, count as: at most their
/// number.
pub(super) fn independent(samples: &[f64], median: f64) -> usize {
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
    (worth as usize).clamp(SMALLEST, count)
}

/// Fewer samples show no correlation.
const FEWEST: usize = 15;
/// The fewest for which there is an interval: from the smallest sample to the largest.
const SMALLEST: usize = 6;
