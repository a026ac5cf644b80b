//! The bound of a run: what does not fit into its time is left out, and its row says so.
//!
//! A case that is prepared is promised the time of the fewest samples that give an interval, and as
//! much again for whatever else the machine does; one that begins later gets only what is not
//! promised. Nothing begins that is expected to end after the end. If preparing took longer than
//! expected, the last cases lose what they were promised: a few samples of each would be nothing.

use super::CASE_SECONDS;
use crate::Clock;
use crate::results::{By, Case, CipherCase, KdfCase, Outcome};
use crate::stats::SMALLEST;
use crate::suite::Listed;
use std::time::Duration;

/// When the time of some cases ends.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bound {
    /// By the clock of the run; `None` without a bound.
    end: Option<Duration>,
    /// The seconds that prepared cases need.
    promised: f64,
}

impl Bound {
    /// A bound of some seconds from now on; none without them.
    pub(super) fn after(clock: &dyn Clock, seconds: Option<f64>) -> Self {
        let end = seconds.map(|seconds| clock.now() + Duration::from_secs_f64(seconds.max(0.0)));
        Self { end, promised: 0.0 }
    }

    /// The seconds that nobody was promised, by a reading of the clock.
    pub(super) fn left(&self, now: Duration) -> f64 {
        let left = |end: Duration| end.saturating_sub(now).as_secs_f64() - self.promised;
        self.end.map_or(f64::INFINITY, left)
    }

    /// Promises a case the time of the fewest samples, each of `seconds`; its least work takes `least`,
    /// if that is known.
    ///
    /// # Errors
    /// They do not fit into what is left.
    pub(super) fn promise(&mut self, now: Duration, seconds: f64, least: Option<f64>) -> Result<(), Outcome> {
        let fewest = SMALLEST as f64 * seconds;
        fits("three samples", fewest, least, self.left(now))?;
        self.promised += fewest * MARGIN;
        Ok(())
    }

    /// Which promises can be kept, of samples of so many seconds: those of the first ones.
    pub(super) fn kept(&self, now: Duration, samples: impl Iterator<Item = f64>) -> usize {
        let mut needed = 0.0;
        let fits = |seconds: &f64| {
            needed += SMALLEST as f64 * seconds;
            self.allows(now, needed)
        };
        samples.take_while(fits).count()
    }

    /// Whether a sample of `seconds` ends in time if it begins now.
    pub(super) fn allows(&self, now: Duration, seconds: f64) -> bool {
        self.end.is_none_or(|end| now.as_secs_f64() + seconds <= end.as_secs_f64())
    }
}

/// How much of the time for the fewest samples is promised.
const MARGIN: f64 = 2.0;

/// What is left when the time is over.
const MOMENT: f64 = 0.05;

/// Whether something fits into the seconds that are left. `least` is how long the least work of a sample
/// takes, if that is known.
///
/// # Errors
/// The outcome of a case that does not.
pub(crate) fn fits(what: &str, seconds: f64, least: Option<f64>, left: f64) -> Result<(), Outcome> {
    if seconds <= left {
        return Ok(());
    }
    if left < MOMENT {
        return Err(over(0, least));
    }
    let reason = format!("{what} would take about {seconds:.1} s, more than --time leaves");
    Err(Outcome::no_time(reason, least))
}

/// The outcome of a case whose time was over.
pub(super) fn over(samples: usize, least: Option<f64>) -> Outcome {
    let reason = match samples {
        0 => "--time was over".to_owned(),
        1 => "--time was over after one sample".to_owned(),
        some => format!("--time was over after {some} samples"),
    };
    Outcome::no_time(reason, least)
}

/// About how long a run without a bound takes at most, in seconds.
pub fn usual_seconds(listed: &[Listed]) -> f64 {
    let one = |case: &Case| match case {
        Case::Kdf(KdfCase { by: By::Peer(_), .. }) | Case::Cipher(CipherCase { by: By::Peer(_), .. }) => {
            PEER_SECONDS
        }
        Case::Kdf(KdfCase { memory_kib: Some(kib), .. }) => {
            (f64::from(*kib) / f64::from(1 << 20) * GIB_SECONDS).max(CASE_SECONDS)
        }
        _ => CASE_SECONDS,
    };
    listed.iter().filter(|it| it.outcome.is_none()).map(|it| one(&it.case)).sum()
}

/// Six runs of a second.
const PEER_SECONDS: f64 = 6.6;
/// Six derivations over a GiB of memory, and the check of their keys.
const GIB_SECONDS: f64 = 15.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Scripted;

    #[test]
    fn what_is_promised_is_kept_from_those_who_come_later() {
        let clock = Scripted::new(0, &[Duration::ZERO]);
        let now = Duration::from_secs;
        let mut bound = Bound::after(&clock, Some(10.0));
        assert_eq!(bound.left(now(0)), 10.0);
        bound.promise(now(0), 1.0, None).unwrap();
        assert_eq!((bound.left(now(1)), bound.allows(now(8), 2.0)), (3.0, true));
        assert!(!bound.allows(now(8), 2.1));
        let why = "three samples would take about 6.0 s, more than --time leaves";
        assert_eq!(bound.promise(now(1), 2.0, Some(1.5)), Err(Outcome::no_time(why, Some(1.5))));
        assert_eq!(bound.left(now(9)), -5.0);
        let samples = || [1.0, 0.5, 0.1].into_iter();
        let kept = [0, 5, 6, 9].map(|seconds| bound.kept(now(seconds), samples()));
        assert_eq!(kept, [3, 3, 1, 0], "the first ones have theirs");
    }

    #[test]
    fn what_takes_minutes_is_known_beforehand() {
        let seconds = |compare: &[&str]| {
            let ciphers = vec!["aes-xts-plain64".to_owned()];
            let compare = compare.iter().map(|name| (*name).to_owned()).collect();
            let asked = crate::suite::Asked { ciphers, compare, cpus: 2, ..Default::default() };
            usual_seconds(&crate::suite::list(&asked).unwrap())
        };
        assert!((1.0..60.0).contains(&seconds(&[])), "{}", seconds(&[]));
        assert!(seconds(&["kernel", "openssl"]) > 60.0);
    }

    #[test]
    fn without_a_bound_everything_fits() {
        let clock = Scripted::new(0, &[Duration::ZERO]);
        let mut bound = Bound::after(&clock, None);
        bound.promise(Duration::from_secs(1 << 40), 1e12, None).unwrap();
        assert!(bound.allows(Duration::from_secs(1 << 40), 1e12) && bound.left(Duration::MAX).is_infinite());
    }
}
