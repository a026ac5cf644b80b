//! How long a server is waited for: it has to make progress, but need not be fast.
//!
//! A request may take as long as it needs while data arrives. The time from one piece of data to
//! the next must not exceed a limit, whatever is done in between (name lookup, connecting, pauses,
//! repetitions).

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The time limit for one server.
pub(crate) struct Timeouts {
    limit: Duration,
    /// Whether the user has been notified of the wait.
    told: AtomicBool,
}

/// The progress of a request.
pub(crate) struct Progress {
    limit: Duration,
    last: Mutex<(Instant, usize)>,
}

impl Timeouts {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, told: AtomicBool::new(false) }
    }

    /// How long a request may go without receiving data.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    pub(crate) fn begin(&self) -> Progress {
        Progress { limit: self.limit, last: Mutex::new((Instant::now(), 0)) }
    }

    /// The result of `work`, or `None` if `progress` stops for too long. `tell` is called when
    /// progress has stopped for a while, only once until the server answers again.
    pub(crate) async fn watch<T>(
        &self,
        work: impl Future<Output = T>,
        progress: &Progress,
        tell: impl Fn(Duration),
    ) -> Option<T> {
        let mut work = pin!(work);
        let mut after = SAYS_SO_AFTER.min(self.limit);
        loop {
            if let Ok(done) = timeout_at(progress.since() + after, &mut work).await {
                self.told.store(false, Ordering::Relaxed);
                return Some(done);
            }
            let quiet = progress.since().elapsed();
            if quiet >= self.limit {
                return None;
            }
            if quiet >= SAYS_SO_AFTER {
                after = self.limit;
                if !self.told.swap(true, Ordering::Relaxed) {
                    tell(quiet);
                }
            }
        }
    }
}

impl Progress {
    /// Records received bytes. A trickle does not count as progress.
    pub(crate) fn note(&self, bytes: usize) {
        let mut last = self.last();
        last.1 = last.1.saturating_add(bytes);
        if last.1 >= PIECE {
            *last = (Instant::now(), 0);
        }
    }

    /// The remaining time.
    pub(crate) fn left(&self) -> Duration {
        self.limit.saturating_sub(self.since().elapsed())
    }

    fn since(&self) -> Instant {
        self.last().0
    }

    fn last(&self) -> MutexGuard<'_, (Instant, usize)> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// After how long the user is notified of a wait.
const SAYS_SO_AFTER: Duration = Duration::from_secs(5);

/// The smallest transfer that counts as progress: 270 bytes a second, over a minute.
const PIECE: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;
    use tokio::runtime::Builder;
    use tokio::time::sleep;

    /// Whether work consisting of `pieces`, one per second, completes when progress must be made
    /// every ten seconds; and how often the user was notified.
    fn watched(pieces: &[usize]) -> (bool, u32) {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let timeouts = Timeouts::new(Duration::from_secs(10));
            let (progress, told) = (timeouts.begin(), AtomicU32::new(0));
            let work = async {
                for bytes in pieces {
                    sleep(Duration::from_secs(1)).await;
                    progress.note(*bytes);
                }
            };
            let told_it = |quiet: Duration| {
                assert!(quiet >= SAYS_SO_AFTER && quiet < Duration::from_secs(6));
                told.fetch_add(1, Ordering::Relaxed);
            };
            let done = timeouts.watch(work, &progress, told_it).await;
            (done.is_some(), told.load(Ordering::Relaxed))
        })
    }

    #[test]
    fn what_gets_on_may_take_its_time() {
        assert_eq!(watched(&[PIECE; 100]), (true, 0));
        assert_eq!(watched(&[PIECE / 4; 100]), (true, 0));
        assert_eq!(watched(&[1; 4]), (true, 0));
    }

    #[test]
    fn a_trickle_ends_and_is_told_of() {
        assert_eq!(watched(&[1; 100]), (false, 1));
        assert_eq!(watched(&[0; 11]), (false, 1));
        assert_eq!(watched(&[0; 9]), (true, 1));
        let stops = [&[PIECE; 50][..], &[1; 20]].concat();
        assert_eq!(watched(&stops), (false, 1));
    }

    #[test]
    fn a_short_limit_is_not_told_of() {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let timeouts = Timeouts::new(Duration::from_secs(2));
            let progress = timeouts.begin();
            assert_eq!(progress.left(), Duration::from_secs(2));
            let work = sleep(Duration::from_secs(100));
            assert!(timeouts.watch(work, &progress, |_| panic!("told")).await.is_none());
            assert_eq!(progress.left(), Duration::ZERO);
        });
    }
}
