//! Deadlines for clients: for the handshake, for a message, for being idle.
//!
//! They are points in time rather than limits on single receives, so a byte now and then does not
//! extend them.

use super::Socket;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A point in time shared by threads; initially none.
#[derive(Debug, Default)]
pub(super) struct Deadline(AtomicU64);

impl Deadline {
    pub(super) fn set(&self, at: Option<Instant>) {
        let micros = at.map_or(0, |at| at.saturating_duration_since(*epoch()).as_micros() as u64 + 1);
        self.0.store(micros, Ordering::Relaxed);
    }

    /// The remaining time; `None` when there is no deadline.
    ///
    /// # Errors
    /// When no time remains.
    pub(super) fn left(&self) -> io::Result<Option<Duration>> {
        let micros = match self.0.load(Ordering::Relaxed) {
            0 => return Ok(None),
            micros => micros - 1,
        };
        let left = Duration::from_micros(micros).saturating_sub(epoch().elapsed());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

/// How long a client may take to send and receive messages once it has chosen its export.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    socket: Socket,
    times: Option<Times>,
}

/// The time limits for network clients.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// Until the next request arrives; `None` for no limit.
    pub(super) idle: Option<Duration>,
    /// For the rest of a request, in addition to the time that its length allows.
    pub(super) request: Duration,
    /// For receiving a reply, in addition to the time that its length allows.
    pub(super) reply: Duration,
}

impl Limits {
    /// `None` for clients without time limits.
    pub(super) fn new(socket: &Socket, times: Option<Times>) -> Self {
        Self { socket: socket.clone(), times }
    }

    /// Starts the deadline for the next request.
    pub(super) fn await_request(&self) {
        if let Some(times) = self.times {
            self.socket.receive_until(times.idle.map(|idle| Instant::now() + idle));
        }
    }

    /// Starts the deadline for receiving `len` bytes of a request.
    pub(super) fn await_payload(&self, len: usize) {
        if let Some(times) = self.times {
            self.socket.receive_until(Some(Instant::now() + times.request + transfer_time(len as u64)));
        }
    }

    /// Starts the deadline for the client to receive a reply of `len` bytes.
    pub(super) fn begin_reply(&self, len: u64) {
        if let Some(times) = self.times {
            self.socket.send_until(Some(Instant::now() + times.reply + transfer_time(len)));
        }
    }
}

fn transfer_time(len: u64) -> Duration {
    Duration::from_millis(len.saturating_mul(1000) / SLOWEST)
}

fn epoch() -> &'static Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    EPOCH.get_or_init(Instant::now)
}

/// The speed in bytes per second of the slowest line expected of clients: one megabit.
const SLOWEST: u64 = 128 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{IoSlice, IoSliceMut, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_deadline_is_a_point_in_time() {
        let deadline = Deadline::default();
        assert_eq!(deadline.left().unwrap(), None);
        deadline.set(Some(Instant::now() + Duration::from_secs(1000)));
        let left = deadline.left().unwrap().unwrap();
        assert!(left > Duration::from_secs(900) && left <= Duration::from_secs(1000), "{left:?}");
        deadline.set(Some(Instant::now()));
        assert_eq!(deadline.left().unwrap_err().kind(), io::ErrorKind::TimedOut);
        deadline.set(None);
        assert_eq!(deadline.left().unwrap(), None);
    }

    #[test]
    fn long_messages_may_take_longer() {
        assert_eq!(transfer_time(0), Duration::ZERO);
        assert_eq!(transfer_time(64 << 10), Duration::from_millis(500));
        assert_eq!(transfer_time(32 << 20), Duration::from_secs(256));
    }

    #[test]
    fn each_step_has_its_time() {
        let (never, now, later) = (None, Some(Duration::ZERO), Some(Duration::from_secs(1000)));
        let long = 1 << 30;
        let can_receive = |times, step: &dyn Fn(&Limits)| {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            theirs.write_all(b"x").unwrap();
            let ours = Socket::from(ours);
            step(&Limits::new(&ours, times));
            ours.receive(&mut [IoSliceMut::new(&mut [0])]).is_ok()
        };
        let can_send = |times, len| {
            let (ours, _theirs) = UnixStream::pair().unwrap();
            let ours = Socket::from(ours);
            Limits::new(&ours, times).begin_reply(len);
            ours.send_all(&mut [IoSlice::new(b"x")]).is_ok()
        };
        let times = |idle, other: Option<Duration>| {
            let other = other.unwrap_or_default();
            Some(Times { idle, request: other, reply: other })
        };
        for (idle, in_time) in [(never, true), (now, false), (later, true)] {
            assert_eq!(can_receive(times(idle, now), &Limits::await_request), in_time, "{idle:?}");
        }
        for (other, len, in_time) in [(now, 0, false), (later, 0, true), (now, long, true)] {
            let payload = |limits: &Limits| limits.await_payload(len);
            assert_eq!(can_receive(times(now, other), &payload), in_time, "{other:?}, {len} bytes");
            assert_eq!(can_send(times(now, other), len as u64), in_time, "{other:?}, {len} bytes");
        }
        assert!(can_receive(None, &|limits| limits.await_payload(0)) && can_send(None, 0));
    }
}
