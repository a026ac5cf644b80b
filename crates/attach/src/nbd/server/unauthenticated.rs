//! Unauthenticated clients: connections whose clients have not chosen an export yet, and may be anybody. Their
//! number is limited, in total and per origin. If there are too many, a new one replaces the one
//! that has had the most time.
//!
//! The replaced client is told so where the protocol lets a server speak (doc/proto.md,
//! "Termination of the session during option haggling": "error inbound options until the client
//! gets the hint that it is unwelcome"): each option that is pending, or sent within [`LAST_WORD`],
//! is answered with NBD_REP_ERR_SHUTDOWN, which asks the client to disconnect. No other reply may
//! be sent without an option to reply to, so a client that says nothing, and one in the middle of
//! TLS, is only disconnected; so is one that names its export by NBD_OPT_EXPORT_NAME, which has no
//! error reply.

use super::deadline::Deadline;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The origin of a connection, for the purpose of counting: an IPv4 address, a 64-bit IPv6 network
/// (a host with one address in it can use all of them), or this machine's Unix sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Local,
    V4([u8; 4]),
    V6([u8; 8]),
}

impl From<IpAddr> for Origin {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.octets()),
            IpAddr::V6(address) => {
                let [a, b, c, d, e, f, g, h, ..] = address.octets();
                Self::V6([a, b, c, d, e, f, g, h])
            }
        }
    }
}

/// The unauthenticated clients, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Unauthenticated(Vec<Client>);

#[derive(Debug, Clone, Copy)]
struct Client {
    id: u64,
    origin: Origin,
    since: Instant,
}

/// Whether one more connection fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    Enough,
    /// Once this connection has been ended.
    InPlaceOf(u64),
    /// After this time: all are too recent to be replaced.
    After(Duration),
}

impl Unauthenticated {
    /// What has to happen before one more connection from `origin` can [enter](Self::enter).
    pub(super) fn room(&self, origin: Origin) -> Room {
        let mut alike = self.0.iter().filter(|client| client.origin == origin);
        let oldest = match (alike.clone().count() >= MOST_OF_ONE, self.0.len() >= MOST) {
            (true, _) => alike.next(),
            (false, true) => self.0.first(),
            (false, false) => None,
        };
        let Some(oldest) = oldest else { return Room::Enough };
        match LEAST_TIME.saturating_sub(oldest.since.elapsed()) {
            Duration::ZERO => Room::InPlaceOf(oldest.id),
            left => Room::After(left),
        }
    }

    pub(super) fn enter(&mut self, id: u64, origin: Origin) {
        self.0.push(Client { id, origin, since: Instant::now() });
    }

    /// The client has chosen its export, or has disconnected.
    pub(super) fn leave(&mut self, id: u64) {
        self.0.retain(|client| client.id != id);
    }
}

/// How long a connection may remain an unauthenticated client's, as seen by its own thread.
#[derive(Debug, Default)]
pub(super) struct Stay {
    is_unauthenticated: AtomicBool,
    /// Set when the connection has to make room.
    ends: Deadline,
}

impl Stay {
    /// Sets whether the client is unauthenticated.
    pub(super) fn set(&self, is_unauthenticated: bool) {
        self.is_unauthenticated.store(is_unauthenticated, Ordering::Relaxed);
    }

    /// Tells the connection to make room. (If the client chooses an export at this very moment, it
    /// is no longer unauthenticated, and stays.)
    pub(super) fn cut_short(&self) {
        self.ends.set(Some(Instant::now() + LAST_WORD));
    }

    pub(super) fn is_cut_short(&self) -> bool {
        !matches!(self.ends.left(), Ok(None))
    }

    /// How long to wait before calling this again: at most the time left until `deadline`. `None`
    /// for no limit.
    ///
    /// # Errors
    /// When no time is left.
    pub(super) fn left(&self, deadline: &Deadline) -> io::Result<Option<Duration>> {
        let left = deadline.left()?;
        if !self.is_unauthenticated.load(Ordering::Relaxed) {
            return Ok(left);
        }
        let shortest = [left, self.ends.left()?, Some(LOOKS)].into_iter().flatten().min();
        Ok(shortest)
    }
}

/// The maximum number of unauthenticated clients, in total and per origin.
pub(super) const MOST: usize = 64;
const MOST_OF_ONE: usize = 32;

/// Nobody is replaced earlier than this: a handshake takes some round trips.
const LEAST_TIME: Duration = Duration::from_millis(250);

/// How long a replaced client still has to be told so. Since a full set of new ones takes at least
/// [`LEAST_TIME`] to arrive, the replaced ones never outnumber them.
const LAST_WORD: Duration = LEAST_TIME;

/// How often a thread that waits for such a client checks whether it has to make room.
const LOOKS: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    fn old(count: u64, origin: impl Fn(u64) -> Origin) -> Unauthenticated {
        let since = Instant::now().checked_sub(LEAST_TIME).unwrap();
        Unauthenticated((0..count).map(|id| Client { id, origin: origin(id), since }).collect())
    }

    fn host(last: u64) -> Origin {
        Origin::V4([10, 0, 0, last as u8])
    }

    #[test]
    fn the_oldest_of_a_crowded_place_makes_room() {
        let here = |_| host(1);
        assert_eq!(old(MOST_OF_ONE as u64 - 1, here).room(host(1)), Room::Enough);
        let mut crowd = old(MOST_OF_ONE as u64, here);
        assert_eq!(crowd.room(host(2)), Room::Enough, "others have their own place");
        assert_eq!(crowd.room(host(1)), Room::InPlaceOf(0));
        crowd.leave(0);
        assert_eq!(crowd.room(host(1)), Room::Enough);
        crowd.enter(99, host(1));
        assert_eq!(crowd.room(host(1)), Room::InPlaceOf(1));
    }

    #[test]
    fn the_oldest_of_all_makes_room_when_there_are_too_many() {
        assert_eq!(old(MOST as u64 - 1, host).room(host(200)), Room::Enough);
        assert_eq!(old(MOST as u64, host).room(host(200)), Room::InPlaceOf(0));
    }

    #[test]
    fn nobody_is_sent_away_at_once() {
        let mut crowd = Unauthenticated::default();
        (0..MOST_OF_ONE as u64).for_each(|id| crowd.enter(id, host(1)));
        match crowd.room(host(1)) {
            Room::After(left) => assert!(!left.is_zero() && left <= LEAST_TIME),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_ipv6_network_is_one_place() {
        let origin = |text: &str| Origin::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(origin("2001:db8::1"), origin("2001:db8::ffff:1"));
        assert_ne!(origin("2001:db8::1"), origin("2001:db8:0:1::1"));
        assert_eq!(origin("::ffff:10.0.0.7"), host(7));
        assert_ne!(origin("10.0.0.7"), origin("10.0.0.8"));
    }

    #[test]
    fn a_stay_is_cut_short_and_that_of_a_client_is_not() {
        let (stay, deadline) = (Stay::default(), Deadline::default());
        assert_eq!(stay.left(&deadline).unwrap(), None);
        stay.set(true);
        assert_eq!(stay.left(&deadline).unwrap(), Some(LOOKS));
        deadline.set(Some(Instant::now() + Duration::from_secs(1000)));
        assert_eq!(stay.left(&deadline).unwrap(), Some(LOOKS));
        deadline.set(Some(Instant::now() + LOOKS));
        assert!(stay.left(&deadline).is_ok_and(|left| left < Some(LOOKS)) && !stay.is_cut_short());

        deadline.set(None);
        let before = Instant::now();
        stay.cut_short();
        assert!(stay.is_cut_short());
        while stay.left(&deadline).is_ok_and(|left| left <= Some(LOOKS)) {
            assert!(before.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(before.elapsed() >= LAST_WORD && stay.is_cut_short());
        assert_eq!(stay.left(&deadline).unwrap_err().kind(), io::ErrorKind::TimedOut);

        stay.set(false);
        assert_eq!(stay.left(&deadline).unwrap(), None);
        deadline.set(Some(Instant::now()));
        assert!(stay.left(&deadline).is_err());
    }
}
