//! How fast a machine computes Argon2, which depends on how much of the memory its caches hold.

use keyway_format::interval::Interval;

/// Rates by memory: KiB of memory times passes per second.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Argon2Rates(Vec<(u64, Interval)>);

impl Argon2Rates {
    /// One rate, whatever the memory.
    pub fn of_any(rate: Interval) -> Self {
        Self(vec![(1, rate)])
    }

    /// Takes in the rate with so many KiB. Of two with the same memory the slower one counts, so
    /// that no prediction is too optimistic.
    pub fn add(&mut self, memory_kib: u64, rate: Interval) {
        match self.0.iter_mut().find(|(kib, _)| *kib == memory_kib) {
            Some((_, known)) if known.likely <= rate.likely => {}
            Some((_, known)) => *known = rate,
            None => self.0.push((memory_kib, rate)),
        }
    }

    /// The rate with so many KiB: that of the memory that is nearest by its ratio.
    pub fn at(&self, memory_kib: u64) -> Option<Interval> {
        let ratio = |kib: u64| {
            let (one, other) = (kib.max(1) as f64, memory_kib.max(1) as f64);
            (one / other).max(other / one)
        };
        let nearest = self.0.iter().min_by(|(one, _), (other, _)| ratio(*one).total_cmp(&ratio(*other)));
        nearest.map(|(_, rate)| *rate)
    }

    /// Whether Argon2 cannot be computed, or its rate is unknown.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Other rates made of these and their memory in KiB, without those that there are none for.
    #[must_use]
    pub fn filter_map(&self, other: impl Fn(u64, Interval) -> Option<Interval>) -> Self {
        Self(self.0.iter().filter_map(|(kib, rate)| Some((*kib, other(*kib, *rate)?))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_memory_counts_and_the_slower_of_two() {
        let exact = Interval::exact;
        let mut rates = Argon2Rates::default();
        assert!(rates.is_empty() && rates.at(1024).is_none());
        for (kib, rate) in [(64, 8.0), (1024, 3.0), (64, 9.0), (1024, 2.0)] {
            rates.add(kib, exact(rate));
        }
        let at = [0, 64, 250, 262, 1024, 1 << 30].map(|kib| rates.at(kib).unwrap().likely);
        assert_eq!(at, [8.0, 8.0, 8.0, 2.0, 2.0, 2.0]);
        let large = rates.filter_map(|kib, rate| (kib > 64).then(|| rate.times(2.0)));
        assert_eq!((large.at(64), large.is_empty()), (Some(exact(4.0)), false));
        assert_eq!(Argon2Rates::of_any(exact(7.0)).at(1 << 20), Some(exact(7.0)));
    }
}
