//! An NBD server: any number of exports for any number of clients.
//!
//! NetworkBlockDevice/nbd, doc/proto.md. Each connection has its own thread, and more when its
//! requests are worth spreading over several cores: see [`connection`]. Clients are not trusted:
//! what they send is bounded in size and time, and a client that violates the protocol loses its
//! connection, with no effect on others.

mod commands;
mod connection;
mod deadline;
mod encryption;
mod handshake;
mod latency;
mod listener;
mod node;
mod order;
mod polling;
mod replies;
mod requests;
mod socket;
mod starttls;
mod transport;
mod unauthenticated;
mod wire;

pub use encryption::{Encryption, Halves, StartTls, exposed};
pub use listener::{Listening, percent_encoded};
pub use socket::Socket;

use crate::{Export, Result};
use deadline::Times;
use polling::Polling;
use replies::Spaces;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Serves exports.
pub struct Server {
    exports: Vec<Export>,
    options: Options,
    /// How many clients have chosen an export.
    slots: AtomicUsize,
    spaces: Spaces,
    polling: Polling,
}

/// A server's limits and permissions.
#[derive(Clone)]
pub struct Options {
    /// The maximum number of threads that work for one connection. More threads than cores are used
    /// only while the storage blocks its callers.
    pub threads: usize,
    /// The maximum number of simultaneous clients; further ones get an error.
    pub connections: usize,
    /// How long a client may take to choose its export, including TLS.
    pub handshake: Duration,
    /// How long a network client may be idle before it is disconnected; `None` for no limit.
    pub idle: Option<Duration>,
    /// How long a network client may take to send the rest of a request, in addition to the time
    /// that its length takes on a line of one megabit per second.
    pub request: Duration,
    /// The same for receiving a reply.
    pub reply: Duration,
    /// Which clients may or must start TLS.
    pub encryption: Encryption,
    /// Whether users of other machines may connect without TLS.
    pub insecure_network: bool,
    /// Whether a Unix socket is for this user and root only, regardless of its permissions.
    pub own_user_only: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 16,
            connections: 128,
            handshake: Duration::from_secs(10),
            idle: Some(Duration::from_secs(3600)),
            request: Duration::from_secs(10),
            reply: Duration::from_secs(60),
            encryption: Encryption::Off,
            insecure_network: false,
            own_user_only: false,
        }
    }
}

impl Options {
    /// The time limits for this client; users of a Unix socket are local and have none.
    fn times(&self, socket: &Socket) -> Option<Times> {
        let times = Times { idle: self.idle, request: self.request, reply: self.reply };
        socket.is_tcp().then_some(times)
    }
}

impl Server {
    /// Serves `exports`, which must have distinct names. A client that names none gets the one
    /// without a name, or the only one.
    pub fn new(exports: Vec<Export>, options: Options) -> Arc<Self> {
        let (slots, spaces) = (AtomicUsize::new(0), Spaces::default());
        Arc::new(Self { exports, options, slots, spaces, polling: Polling::new() })
    }

    /// Listens on a Unix socket that only its owner may connect to. A socket that nobody listens on
    /// any more is replaced.
    ///
    /// # Errors
    /// [`Error::Busy`](crate::Error::Busy) when somebody listens there, or something else is there;
    /// [`Error::Io`](crate::Error::Io) when the socket cannot be created.
    pub fn unix(self: &Arc<Self>, path: &Path) -> Result<Listening> {
        Listening::unix(Arc::clone(self), path)
    }

    /// Listens on the first of these addresses that is usable; port 0 selects a free port, which
    /// [`FrontEnd::place`](crate::FrontEnd::place) then reports.
    ///
    /// # Errors
    /// If the address is unknown or taken; [`Error::Refused`](crate::Error::Refused) when unauthenticated clients
    /// could connect in the clear and [`Options::insecure_network`] does not allow it.
    pub fn tcp(self: &Arc<Self>, addresses: &[SocketAddr]) -> Result<Listening> {
        Listening::tcp(Arc::clone(self), addresses)
    }

    /// Serves one client on this thread, until it disconnects.
    ///
    /// # Errors
    /// If the client violated the protocol or the connection broke.
    pub fn serve(&self, socket: impl Into<Socket>) -> io::Result<()> {
        self.serve_until(&socket.into(), &AtomicBool::new(false), || ())
    }

    /// As [`Server::serve`]; once `stopping` is set, requests are refused. `agreed` is called when
    /// the handshake is over.
    fn serve_until(&self, socket: &Socket, stopping: &AtomicBool, agreed: impl FnOnce()) -> io::Result<()> {
        socket.tune();
        let Some(chosen) = handshake::shake_hands(self, socket, stopping)? else { return Ok(()) };
        agreed();
        connection::serve(self, socket, chosen, stopping)
    }

    /// Reserves a place for a client, if there is one left.
    fn slot(&self) -> Option<Slot<'_>> {
        let most = self.options.connections;
        let one_more = |taken: usize| (taken < most).then_some(taken + 1);
        self.slots.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more).ok()?;
        Some(Slot(&self.slots))
    }

    fn flush(&self) -> io::Result<()> {
        self.unsettled().try_for_each(|export| export.storage.flush())
    }

    /// Exports that may have data that is not on stable storage.
    fn unsettled(&self) -> impl Iterator<Item = &Export> {
        self.exports.iter().filter(|export| !export.rights.read_only && !export.storage.is_settled())
    }

    /// The export that a client refers to by `name`.
    fn export(&self, name: &str) -> Option<&Export> {
        match (self.exports.iter().find(|export| export.name == name), self.exports.as_slice()) {
            (None, [only]) if name.is_empty() => Some(only),
            (found, _) => found,
        }
    }
}

/// A client's place, released on drop.
struct Slot<'a>(&'a AtomicUsize);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
