//! An NBD server: any number of exports to any number of clients.
//!
//! NetworkBlockDevice/nbd, doc/proto.md. Each connection has a thread of its own, and more when its requests are worth
//! spreading over the cores: see [`connection`]. Clients are not trusted: what they send is bounded in size and time, and one
//! that breaks the protocol loses its connection and nothing else.

mod commands;
mod connection;
mod handshake;
mod listener;
mod order;
mod pace;
mod patience;
mod replies;
mod requests;
mod socket;
mod starttls;
mod transport;
mod wire;

pub use listener::{Listening, percent_encoded};
pub use socket::Socket;

use crate::{Export, Result};
use patience::Patience;
use replies::Spaces;
use std::io::{self, Read, Write};
use std::net::ToSocketAddrs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Serves exports.
pub struct Server {
    exports: Vec<Export>,
    options: Options,
    clients: AtomicUsize,
    spaces: Spaces,
    patience: Patience,
}

/// What a server allows.
#[derive(Clone)]
pub struct Options {
    /// The most threads that work for one connection. More than there are cores are used only while the storage lets its
    /// callers wait.
    pub threads: usize,
    /// The most connections at a time; further ones are closed at once.
    pub connections: usize,
    /// How long a client may take to choose its export.
    pub handshake: Duration,
    /// When given, clients can begin TLS.
    pub tls: Option<Arc<dyn StartTls>>,
    /// Whether they then have to, before they learn or get anything.
    pub tls_required: bool,
    /// Whether a Unix socket is for this user and root alone, whatever its permissions are.
    pub own_user_only: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 16,
            connections: 128,
            handshake: Duration::from_secs(20),
            tls: None,
            tls_required: true,
            own_user_only: false,
        }
    }
}

/// Both directions of an encrypted connection, for two threads.
pub type Halves = (Box<dyn Read + Send>, Box<dyn Write + Send>);

/// The server's side of TLS.
pub trait StartTls: Send + Sync {
    /// Shakes hands over `socket`, whose receives and sends time out while this runs.
    ///
    /// # Errors
    /// The client is not who it should be, or does not answer. Its connection ends.
    fn accept(&self, socket: Socket) -> io::Result<Halves>;
}

impl Server {
    /// Serves `exports`, whose names differ. A client that names none gets the one without a name, or the only one.
    pub fn new(exports: Vec<Export>, options: Options) -> Arc<Self> {
        let (clients, spaces) = (AtomicUsize::new(0), Spaces::default());
        Arc::new(Self { exports, options, clients, spaces, patience: Patience::new() })
    }

    /// Listens on a Unix socket that only its owner may connect to. A socket that nobody listens on any more is replaced.
    ///
    /// # Errors
    /// [`Error::Busy`](crate::Error::Busy) when somebody listens there, or something else is there;
    /// [`Error::Io`](crate::Error::Io) when the socket cannot be made.
    pub fn unix(self: &Arc<Self>, path: &Path) -> Result<Listening> {
        Listening::unix(Arc::clone(self), path)
    }

    /// Listens on a TCP port; 0 takes a free one, which [`Door::place`](crate::Door::place) then tells.
    ///
    /// # Errors
    /// The address is unknown or taken.
    pub fn tcp(self: &Arc<Self>, address: impl ToSocketAddrs) -> Result<Listening> {
        Listening::tcp(Arc::clone(self), address)
    }

    /// Serves one client on this thread, until it goes.
    ///
    /// # Errors
    /// The client broke the protocol or the connection.
    pub fn serve(&self, socket: impl Into<Socket>) -> io::Result<()> {
        self.serve_until(&socket.into(), &AtomicBool::new(false))
    }

    /// How many clients are connected now.
    pub fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// As [`Server::serve`]; once `stopping` is set, requests are refused.
    fn serve_until(&self, socket: &Socket, stopping: &AtomicBool) -> io::Result<()> {
        self.clients.fetch_add(1, Ordering::Relaxed);
        let _counted = Counted(&self.clients);
        socket.tune();
        match handshake::shake_hands(self, socket, stopping)? {
            Some(agreed) => connection::serve(self, socket, agreed, stopping),
            None => Ok(()),
        }
    }

    fn flush(&self) -> io::Result<()> {
        self.exports.iter().filter(|export| !export.read_only).try_for_each(|export| export.storage.flush())
    }

    /// The export that a client means by `name`.
    fn export(&self, name: &str) -> Option<&Export> {
        match (self.exports.iter().find(|export| export.name == name), self.exports.as_slice()) {
            (None, [only]) if name.is_empty() => Some(only),
            (found, _) => found,
        }
    }
}

/// Counts a client until dropped.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
