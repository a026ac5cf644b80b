//! Time as runners see it: the machine's clock, or a clock set by tests, so that a report's bytes
//! do not depend on the date.

use keyway_volume::keyslot::kdf_rate;
#[cfg(test)]
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A clock. Runners never read the machine's clock directly.
pub trait Clock: Sync {
    /// Time since some fixed moment; never goes back.
    fn now(&self) -> Duration;

    /// The CPU time that this process has taken on all of its threads, which no other program makes
    /// longer; `None` where a test is the clock.
    fn computed(&self) -> Option<Duration> {
        None
    }

    /// Seconds since 1970-01-01 UTC.
    fn unix_seconds(&self) -> u64;

    /// The date and time in UTC: "2026-11-22T02:49:15Z".
    fn date(&self) -> String {
        utc(self.unix_seconds())
    }
}

/// The machine's clock.
#[derive(Debug)]
pub struct Machine {
    start: Instant,
}

impl Machine {
    /// A clock whose zero is now.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// The time that one clock reading takes.
    pub fn cost(&self) -> Duration {
        const LOOKS: u32 = 200;
        let look = |_| {
            let before = self.now();
            for _ in 0..LOOKS {
                std::hint::black_box(self.now());
            }
            (self.now() - before) / LOOKS
        };
        // The median: interruptions are not part of the cost.
        let mut costs: Vec<Duration> = (0..21).map(look).collect();
        costs.sort();
        costs[costs.len() / 2]
    }
}

impl Clock for Machine {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn computed(&self) -> Option<Duration> {
        Some(kdf_rate::process_time())
    }

    fn unix_seconds(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
    }
}

/// A clock that advances by steps chosen by the test: one per reading, the last one repeated for
/// ever.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Scripted {
    unix_seconds: u64,
    state: Mutex<(Duration, Vec<Duration>)>,
}

#[cfg(test)]
impl Scripted {
    /// Starts at zero, on the given day; the steps are taken in order.
    pub(crate) fn new(unix_seconds: u64, steps: &[Duration]) -> Self {
        Self { unix_seconds, state: Mutex::new((Duration::ZERO, steps.iter().rev().copied().collect())) }
    }
}

#[cfg(test)]
impl Clock for Scripted {
    fn now(&self) -> Duration {
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let now = state.0;
        let step = if state.1.len() > 1 { state.1.pop() } else { state.1.first().copied() };
        state.0 += step.unwrap_or_default();
        now
    }

    fn unix_seconds(&self) -> u64 {
        self.unix_seconds
    }
}

/// RFC 3339, by the civil calendar: years of 365.2425 days that start
/// in March, so that the leap day comes last.
fn utc(seconds: u64) -> String {
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let days = days + DAYS_TO_1970;
    let (era, of_era) = (days / DAYS_OF_ERA, days % DAYS_OF_ERA);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, past) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + 400 * era + past;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_1970: u64 = 719_468;
/// Days of four hundred years.
const DAYS_OF_ERA: u64 = 146_097;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // From `date -u -d @N +%FT%TZ`.
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (1_795_315_755, "2026-11-22T02:49:15Z"),
        ] {
            assert_eq!(utc(seconds), date);
        }
    }

    #[test]
    fn a_scripted_clock_takes_its_steps_and_repeats_the_last() {
        let ms = Duration::from_millis;
        let clock = Scripted::new(0, &[ms(1), ms(5)]);
        let seen: Vec<Duration> = (0..4).map(|_| clock.now()).collect();
        assert_eq!(seen, [ms(0), ms(1), ms(6), ms(11)]);
    }
}
