//! How long a server is waited for.
//!
//! The remaining time is computed from points in time before every receive and every send, so that
//! a byte now and then does not extend it. There are two rules.
//!
//! **The server has to make progress**: a reply is completed, or [`PIECE`] bytes are transferred.
//! The time from one such moment to the next must not exceed a limit.
//!
//! **Each request has to end**, after its limit plus the time that transferring all pending data
//! takes on a line of [`SLOWEST`]. So a request that is passed over while others are answered is
//! not waited for indefinitely. The handshake counts as a request.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Tells the user which server has sent nothing, for how long, and after how long the client gives
/// up.
pub type Tell = fn(&str, Duration, Duration);

/// Notifies the user of a wait, only once until the server answers again.
pub(super) struct Sign {
    place: String,
    tell: Tell,
    told: AtomicBool,
}

/// The time limits of one connection.
pub(super) struct Timeouts {
    sign: Arc<Sign>,
    waits: Mutex<Waits>,
}

/// The pending requests and their progress.
#[derive(Debug)]
struct Waits {
    requests: Vec<Wait>,
    /// The last moment at which the server made progress.
    since: Instant,
    /// The number of bytes transferred since then.
    bytes: usize,
}

#[derive(Debug)]
struct Wait {
    cookie: u64,
    /// The number of data bytes transferred with the request, in either direction.
    payload: u64,
    limit: Duration,
    /// When its data and all previously pending data would be transferred on the slowest line.
    carried: Instant,
}

impl Sign {
    pub(super) fn new(place: String, tell: Tell) -> Arc<Self> {
        Arc::new(Self { place, tell, told: AtomicBool::new(false) })
    }

    fn tell(&self, quiet: Duration, limit: Duration) {
        if !self.told.swap(true, Ordering::Relaxed) {
            (self.tell)(&self.place, quiet, limit);
        }
    }
}

impl Timeouts {
    pub(super) fn new(sign: Arc<Sign>) -> Arc<Self> {
        Arc::new(Self { sign, waits: Mutex::new(Waits::new(Instant::now())) })
    }

    /// Called when a request with `payload` bytes of data is sent; the server may be silent for
    /// `limit`. The longest limit of all pending requests applies to each of them.
    pub(super) fn begin(&self, cookie: u64, payload: u64, limit: Duration) {
        self.waits().begin(Instant::now(), cookie, payload, limit);
    }

    /// Called when a request was answered.
    pub(super) fn end(&self, cookie: u64) {
        self.waits().end(Instant::now(), cookie);
        self.sign.told.store(false, Ordering::Relaxed);
    }

    /// Called when so many bytes have been transferred.
    pub(super) fn note(&self, bytes: usize) {
        self.waits().note(Instant::now(), bytes);
    }

    /// How long to wait before calling this again. Notifies the user when nothing has arrived for a
    /// while.
    ///
    /// # Errors
    /// `TimedOut` when the limit has been exceeded.
    pub(super) fn left(&self) -> io::Result<Duration> {
        let left = self.time()?;
        let waits = self.waits();
        let (quiet, limit) = (waits.since.elapsed(), waits.limit());
        drop(waits);
        match SAYS_SO_AFTER.saturating_sub(quiet) {
            Duration::ZERO => {
                self.sign.tell(quiet, limit);
                Ok(left)
            }
            moment => Ok(left.min(moment)),
        }
    }

    /// All of the remaining time.
    ///
    /// # Errors
    /// As [`Timeouts::left`].
    pub(super) fn time(&self) -> io::Result<Duration> {
        let waits = self.waits();
        match waits.left(Instant::now()) {
            Duration::ZERO => Err(too_slow(waits.limit())),
            left => Ok(left),
        }
    }

    /// The error for a caller that has detected a timeout by other means.
    pub(super) fn too_slow(&self) -> io::Error {
        too_slow(self.waits().limit())
    }

    /// Runs `work`, which observes the time limit itself, but cannot notify the user of the wait.
    pub(super) fn tell_during<T>(&self, work: impl FnOnce() -> T) -> T {
        let (done, wait) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let watch = move || {
                if wait.recv_timeout(SAYS_SO_AFTER) == Err(RecvTimeoutError::Timeout) {
                    let _ = self.left();
                }
            };
            // If no thread can be started, the user is not notified.
            let _ = thread::Builder::new().name("nbd-wait".to_owned()).spawn_scoped(scope, watch);
            let result = work();
            drop(done);
            result
        })
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waits {
    fn new(now: Instant) -> Self {
        Self { requests: Vec::new(), since: now, bytes: 0 }
    }

    fn begin(&mut self, now: Instant, cookie: u64, payload: u64, limit: Duration) {
        if self.requests.is_empty() {
            self.gets_on(now);
        }
        let all = self.requests.iter().map(|wait| wait.payload).fold(payload, u64::saturating_add);
        let carried = now + Duration::from_secs(all / SLOWEST);
        self.requests.push(Wait { cookie, payload, limit, carried });
    }

    fn end(&mut self, now: Instant, cookie: u64) {
        self.requests.retain(|wait| wait.cookie != cookie);
        self.gets_on(now);
    }

    fn note(&mut self, now: Instant, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes >= PIECE {
            self.gets_on(now);
        }
    }

    fn gets_on(&mut self, now: Instant) {
        (self.since, self.bytes) = (now, 0);
    }

    /// The longest limit of all: a server that is busy with a long request does not answer others
    /// either.
    fn limit(&self) -> Duration {
        self.requests.iter().map(|wait| wait.limit).max().unwrap_or(SAYS_SO_AFTER)
    }

    fn left(&self, now: Instant) -> Duration {
        let first = self.requests.iter().map(|wait| wait.carried).min();
        let first = first.unwrap_or(self.since);
        (self.since.min(first) + self.limit()).saturating_duration_since(now)
    }
}

fn too_slow(limit: Duration) -> io::Error {
    let limit = limit.as_secs_f64();
    let text = format!("the server did not answer within {limit} s; try again later, or allow more time");
    io::Error::new(ErrorKind::TimedOut, text)
}

/// After how long the user is notified of a wait.
const SAYS_SO_AFTER: Duration = Duration::from_secs(5);

/// The smallest transfer that counts as progress: 270 bytes a second, over a minute.
const PIECE: usize = 16 << 10;

/// The speed in bytes per second of the slowest line expected: the longest read, of 32 MiB, may
/// take half an hour.
const SLOWEST: u64 = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    const LIMIT: Duration = Duration::from_secs(60);

    /// A [`Waits`] that begins now, and a function returning the time after so many seconds.
    fn waits() -> (Waits, impl Fn(u64) -> Instant) {
        let start = Instant::now();
        (Waits::new(start), move |seconds| start + Duration::from_secs(seconds))
    }

    fn left(waits: &Waits, now: Instant) -> u64 {
        waits.left(now).as_secs()
    }

    #[test]
    fn silence_ends_with_the_limit() {
        let (mut waits, at) = waits();
        waits.begin(at(100), 1, 32 << 20, LIMIT);
        assert_eq!((left(&waits, at(100)), left(&waits, at(159)), left(&waits, at(161))), (60, 1, 0));
        // A request added in the meantime changes nothing: it is the server that is silent.
        waits.begin(at(150), 2, 512, LIMIT);
        assert_eq!(left(&waits, at(150)), 10);
    }

    #[test]
    fn a_trickle_puts_nothing_off() {
        let (mut waits, at) = waits();
        waits.begin(at(0), 1, 1 << 20, LIMIT);
        for second in 0..50 {
            waits.note(at(second), 300);
        }
        assert_eq!(left(&waits, at(50)), 10);
        waits.note(at(55), PIECE - 50 * 300 - 1);
        assert_eq!(left(&waits, at(55)), 5);
        waits.note(at(56), 1);
        assert_eq!(left(&waits, at(56)), 60);
        // The count starts again.
        waits.note(at(57), PIECE - 1);
        assert_eq!(left(&waits, at(57)), 59);
    }

    #[test]
    fn a_big_reply_on_a_slow_line_is_not_cut() {
        let (mut waits, at) = waits();
        waits.begin(at(0), 1, 32 << 20, LIMIT);
        waits.begin(at(0), 2, 32 << 20, LIMIT);
        // Each takes 2048 seconds, and the second waits for both.
        for second in 1..=4096 {
            waits.note(at(second), SLOWEST as usize);
            if second == 2048 {
                waits.end(at(second), 1);
            }
            assert_eq!(left(&waits, at(second)), 60, "{second}");
        }
        // But it has to end.
        waits.note(at(4155), 1 << 20);
        assert_eq!((left(&waits, at(4155)), left(&waits, at(4156))), (1, 0));
    }

    #[test]
    fn a_request_that_is_passed_over_ends() {
        let (mut waits, at) = waits();
        waits.begin(at(0), 1, 512, LIMIT);
        for second in 1..=59 {
            waits.begin(at(second), 1 + second, 512, LIMIT);
            waits.end(at(second), 1 + second);
            assert_eq!(left(&waits, at(second)), 60 - second);
        }
        assert_eq!(left(&waits, at(60)), 0);
        waits.end(at(60), 1);
        waits.begin(at(1000), 99, 512, LIMIT);
        assert_eq!(left(&waits, at(1000)), 60);
    }

    #[test]
    fn what_takes_long_keeps_others_waiting() {
        let (mut waits, at) = waits();
        waits.begin(at(0), 1, 0, 2 * LIMIT);
        waits.begin(at(1), 2, 512, LIMIT);
        assert_eq!(left(&waits, at(61)), 59);
        waits.end(at(70), 1);
        assert_eq!(left(&waits, at(60)), 1);
    }

    /// How long the server was silent, and the limit, in milliseconds; how often this was reported.
    static TOLD: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

    fn tell(place: &str, quiet: Duration, limit: Duration) {
        assert_eq!(place, "nbd://here");
        TOLD[0].store(quiet.as_millis() as u64, Ordering::SeqCst);
        TOLD[1].store(limit.as_millis() as u64, Ordering::SeqCst);
        TOLD[2].fetch_add(1, Ordering::SeqCst);
    }

    fn told() -> u64 {
        TOLD[2].load(Ordering::SeqCst)
    }

    /// Pretends that the server has been silent for so many seconds.
    fn quiet(timeouts: &Timeouts, seconds: u64) {
        let past = Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        *timeouts.waits() = Waits::new(past);
        timeouts.waits().begin(past, 7, 0, LIMIT);
    }

    #[test]
    fn who_waits_is_told_once_until_the_server_is_back() {
        let timeouts = Timeouts::new(Sign::new("nbd://here".to_owned(), tell));
        timeouts.begin(7, 0, LIMIT);
        let left = timeouts.left().unwrap();
        assert!(left <= SAYS_SO_AFTER && left > Duration::from_secs(1) && told() == 0, "{left:?}");
        assert!(timeouts.time().unwrap() > Duration::from_secs(30));

        for _ in 0..2 {
            quiet(&timeouts, 10);
            let left = timeouts.left().unwrap();
            assert!(left <= Duration::from_secs(50) && left > SAYS_SO_AFTER, "{left:?}");
            assert_eq!(told(), 1);
        }
        assert!((10_000..30_000).contains(&TOLD[0].load(Ordering::SeqCst)));
        assert_eq!(TOLD[1].load(Ordering::SeqCst), 60_000);
        timeouts.end(7);
        quiet(&timeouts, 10);
        timeouts.left().unwrap();
        assert_eq!(told(), 2);

        timeouts.note(PIECE);
        assert!(timeouts.left().unwrap() <= SAYS_SO_AFTER);
        quiet(&timeouts, 60);
        for error in [timeouts.left().unwrap_err(), timeouts.time().unwrap_err(), timeouts.too_slow()] {
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            assert!(error.to_string().contains("did not answer within 60 s; try again later"), "{error}");
        }
        // `work` that waits by itself is reported, too, by a thread; the thread does not delay work
        // that ends soon.
        timeouts.end(7);
        quiet(&timeouts, 10);
        assert_eq!(timeouts.tell_during(|| 5), 5);
        assert_eq!(told(), 2);
        let deadline = Instant::now() + LIMIT;
        timeouts.tell_during(|| {
            while told() == 2 && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(20));
            }
        });
        assert_eq!(told(), 3);
    }
}
