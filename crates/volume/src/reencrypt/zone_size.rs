//! How large hot zones are: so large that protecting them and telling the header costs next to
//! nothing, and so small that a stop is never waited for.

use std::time::Duration;

/// Chooses the size of each zone by what the one before it took.
#[derive(Debug, Clone)]
pub(super) struct ZoneSize {
    now: u64,
    unit: u64,
    most: u64,
    is_fixed: bool,
    /// A zone that takes longer is too large.
    slow: Duration,
}

impl ZoneSize {
    /// Zones of at most `most` bytes, in multiples of `unit`; with `wanted`, always that size.
    pub(super) fn new(unit: u64, most: u64, wanted: Option<u64>) -> Self {
        let most = (most / unit * unit).max(unit);
        let now = wanted.unwrap_or(FIRST).clamp(unit, most) / unit * unit;
        Self { now, unit, most, is_fixed: wanted.is_some(), slow: SLOW }
    }

    /// With zones that take no longer than this: users of the volume wait for them.
    pub(super) fn within(mut self, slow: Duration) -> Self {
        if !self.is_fixed {
            self.now = self.now.min((FIRST_IN_USE / self.unit * self.unit).max(self.unit));
        }
        Self { slow, ..self }
    }

    /// The size of the next zone in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.now
    }

    /// Every zone is a multiple of it.
    pub(super) fn unit(&self) -> u64 {
        self.unit
    }

    /// The size that a zone may have of which little is written.
    pub(super) fn most(&self) -> u64 {
        if self.is_fixed { self.now } else { self.most }
    }

    /// A zone took `whole`, of which `overhead` did not depend on its size. Where that alone is slow, a
    /// smaller zone hardly shortens the wait, and makes the whole endless: then the work on a zone may
    /// take as long as the overhead.
    pub(super) fn learn(&mut self, whole: Duration, overhead: Duration) {
        if self.is_fixed {
            return;
        }
        let work = whole.saturating_sub(overhead);
        let dear = overhead.as_secs_f64() > whole.as_secs_f64() * DEAR;
        if whole > self.slow && work > overhead {
            self.now /= 2;
        } else if dear && (whole * 2 <= self.slow || work * 2 <= overhead) {
            self.now = self.now.saturating_mul(2);
        }
        self.now = (self.now / self.unit * self.unit).clamp(self.unit, self.most);
    }
}

/// The first zone.
const FIRST: u64 = 16 << 20;
/// The first zone where users of the volume wait for it.
const FIRST_IN_USE: u64 = 2 << 20;
/// The share of a zone's time that may be spent on telling the header.
const DEAR: f64 = 0.025;
/// Who asks for a stop waits about this long at most.
const SLOW: Duration = Duration::from_millis(700);

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn zones_grow_while_telling_is_dear_and_shrink_when_they_are_slow() {
        let mut size = ZoneSize::new(4096, 100 << 20, None);
        assert_eq!(size.bytes(), 16 << 20);
        size.learn(ms(100), ms(3));
        assert_eq!(size.bytes(), 32 << 20);
        size.learn(ms(100), ms(2));
        assert_eq!(size.bytes(), 32 << 20, "2 % is cheap");
        size.learn(ms(400), ms(40));
        assert_eq!(size.bytes(), 32 << 20, "twice as long would be too long");
        size.learn(ms(701), ms(300));
        assert_eq!(size.bytes(), 16 << 20);
        for _ in 0..9 {
            size.learn(ms(100), ms(50));
        }
        assert_eq!(size.bytes(), 100 << 20, "no more than can be protected");
        for _ in 0..40 {
            size.learn(ms(1000), ms(0));
        }
        assert_eq!(size.bytes(), 4096, "never nothing");
    }

    #[test]
    fn users_wait_for_small_zones() {
        let mut size = ZoneSize::new(4096, 100 << 20, None).within(ms(100));
        assert_eq!(size.bytes(), 2 << 20);
        size.learn(ms(50), ms(10));
        assert_eq!(size.bytes(), 4 << 20, "telling is dear, and there is time");
        size.learn(ms(51), ms(10));
        assert_eq!(size.bytes(), 4 << 20, "there would not be time");
        size.learn(ms(101), ms(50));
        assert_eq!(size.bytes(), 2 << 20);
        assert_eq!(ZoneSize::new(4096, 100 << 20, Some(8 << 20)).within(ms(100)).bytes(), 8 << 20);
        assert_eq!(ZoneSize::new(4 << 20, 100 << 20, None).within(ms(100)).bytes(), 4 << 20);
    }

    #[test]
    fn a_device_that_is_slow_to_flush_does_not_shrink_zones_to_nothing() {
        // What a zone costs besides its bytes, and a megabyte: an SD card, and an emulated machine.
        for (overhead, megabyte) in [(ms(300), ms(50)), (ms(90), ms(100))] {
            let mut size = ZoneSize::new(4096, 100 << 20, None).within(ms(100));
            for _ in 0..40 {
                size.learn(overhead + megabyte.mul_f64(size.bytes() as f64 / 1_048_576.0), overhead);
            }
            let work = megabyte.mul_f64(size.bytes() as f64 / 1_048_576.0);
            assert!(work * 2 > overhead && work <= overhead, "{size:?}: {work:?}");
        }
    }

    #[test]
    fn a_size_that_is_asked_for_is_kept() {
        let mut size = ZoneSize::new(4096, 100 << 20, Some(5000 << 10));
        assert_eq!(size.bytes(), 5000 << 10);
        size.learn(ms(10_000), ms(5000));
        assert_eq!(size.bytes(), 5000 << 10);
        assert_eq!(ZoneSize::new(4096, 8192, Some(1 << 20)).bytes(), 8192);
        assert_eq!(ZoneSize::new(4096, 1 << 20, Some(4095)).bytes(), 4096);
        assert_eq!(ZoneSize::new(4096, 1000, None).bytes(), 4096);
    }
}
