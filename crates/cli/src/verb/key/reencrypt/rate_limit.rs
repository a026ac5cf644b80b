//! `--limit-rate`: so many bytes a second on average, by waiting between the parts.

use std::time::{Duration, Instant};

/// Keeps an average rate. What a stall took is not made up for at full speed: only a second of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateLimit {
    /// Bytes a second.
    rate: u64,
    /// When the work that was done so far is due.
    due: Instant,
}

impl RateLimit {
    pub(super) fn new(rate: u64, now: Instant) -> Self {
        Self { rate, due: now }
    }

    /// How long to wait after `bytes` more were done.
    pub(super) fn wait(&mut self, bytes: u64, now: Instant) -> Duration {
        let took = Duration::try_from_secs_f64(bytes as f64 / self.rate.max(1) as f64);
        let least = now.checked_sub(SLACK).unwrap_or(now);
        // Beyond what a clock can say, nobody waits for the end anyway.
        self.due = self.due.max(least).checked_add(took.unwrap_or(LONGEST).min(LONGEST)).unwrap_or(now);
        self.due.saturating_duration_since(now)
    }

    /// Waits so long, unless it is stopped: that is noticed at once.
    pub(super) fn rest(mut wait: Duration, stopped: impl Fn() -> bool) {
        while !wait.is_zero() && !stopped() {
            let nap = wait.min(NAP);
            std::thread::sleep(nap);
            wait -= nap;
        }
    }
}

/// What is made up for at most.
const SLACK: Duration = Duration::from_secs(1);
/// How often a stop is looked for.
const NAP: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(10 * 365 * 86400);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_is_kept_and_a_stall_is_not_made_up_for() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut rate_limit = RateLimit::new(1 << 20, start);
        assert_eq!(rate_limit.wait(2 << 20, at(500)), Duration::from_millis(1500));
        assert_eq!(rate_limit.wait(1 << 20, at(2500)), Duration::from_millis(500), "from when it was due");
        // An hour's sleep of the machine: a second of it is made up for.
        assert_eq!(rate_limit.wait(1 << 20, at(3_600_000)), Duration::ZERO);
        assert_eq!(rate_limit.wait(2 << 20, at(3_600_000)), Duration::from_secs(2));
        assert_eq!(RateLimit::new(1, start).wait(u64::MAX, start), LONGEST);
    }

    #[test]
    fn a_stop_ends_the_rest() {
        let start = Instant::now();
        RateLimit::rest(Duration::from_secs(60), || start.elapsed() > Duration::from_millis(150));
        assert!(start.elapsed() < Duration::from_secs(10));
        RateLimit::rest(Duration::from_millis(120), || false);
        assert!(start.elapsed() >= Duration::from_millis(270));
    }
}
