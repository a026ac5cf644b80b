//! A listening socket and the connections accepted from it.

use super::node::Node;
use super::unauthenticated::{Origin, Room, Unauthenticated};
use super::{Server, Socket, exposed};
use crate::local::peer;
use crate::{Error, FrontEnd, Refusal, Result};
use rustix::fs::Mode;
use rustix::net::{AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType};
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A listening server. Dropping it does not stop it.
pub struct Listening {
    shared: Arc<Shared>,
}

struct Shared {
    server: Arc<Server>,
    listener: Listener,
    place: String,
    stopping: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

enum Listener {
    /// With the node that was created for it.
    Unix(UnixListener, Node),
    Tcp(TcpListener),
}

#[derive(Default)]
struct State {
    connections: HashMap<u64, Socket>,
    /// The connections that have not chosen an export.
    unauthenticated: Unauthenticated,
    next: u64,
    /// Set by the thread that stops the listener.
    stopped: bool,
    /// Why nobody can connect any more, although nobody has stopped the listener.
    failed: Option<io::Error>,
}

impl Listening {
    pub(super) fn unix(server: Arc<Server>, path: &Path) -> Result<Self> {
        let at = |source| Error::Io { what: format!("listening on {}", path.display()), source };
        remove_stale(path)?;
        let fd =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .map_err(|e| at(e.into()))?;
        // The node gets the socket's own mode (Linux, net/unix/af_unix.c), so nobody else can
        // connect at any time.
        let private = Mode::RUSR | Mode::WUSR;
        rustix::fs::fchmod(&fd, private).map_err(|e| at(e.into()))?;
        let address = SocketAddrUnix::new(path).map_err(|e| at(e.into()))?;
        rustix::net::bind(&fd, &address).map_err(|e| match e {
            rustix::io::Errno::ADDRINUSE => Error::Busy(format!("{} already exists", path.display())),
            e => at(e.into()),
        })?;
        let node = Node::find(path).map_err(at)?.ok_or_else(|| at(io::ErrorKind::NotFound.into()))?;
        if node.mode().is_none_or(|mode| !private.contains(mode)) {
            let _ = node.remove();
            return Err(Error::Permission(format!("{}: other users could connect", path.display())));
        }
        rustix::net::listen(&fd, BACKLOG).map_err(|e| at(e.into()))?;
        let socket = percent_encoded(std::path::absolute(path).map_err(at)?.as_os_str().as_bytes());
        let scheme = if server.options.encryption.tls().is_some() { "nbds+unix" } else { "nbd+unix" };
        let place = format!("{scheme}:///{}?socket={socket}", only_export(&server));
        Self::begin(server, Listener::Unix(fd.into(), node), place)
    }

    pub(super) fn tcp(server: Arc<Server>, addresses: &[SocketAddr]) -> Result<Self> {
        let wanted: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
        let at = |source| Error::Io { what: format!("listening on {}", wanted.join(", ")), source };
        let options = &server.options;
        if let Some(open) = exposed(addresses, &options.encryption)
            && !options.insecure_network
        {
            let why = "anyone who can connect would get the plaintext, over an unencrypted connection";
            return Err(Refusal::Exposed.because(format!("listening on {open} without TLS: {why}")));
        }
        let listener = TcpListener::bind(addresses).map_err(at)?;
        rustix::net::listen(&listener, BACKLOG).map_err(|e| at(e.into()))?;
        let scheme = if options.encryption.tls().is_some() { "nbds" } else { "nbd" };
        let place = format!("{scheme}://{}/{}", listener.local_addr().map_err(at)?, only_export(&server));
        Self::begin(server, Listener::Tcp(listener), place)
    }

    fn begin(server: Arc<Server>, listener: Listener, place: String) -> Result<Self> {
        let shared = Arc::new(Shared {
            server,
            listener,
            place,
            stopping: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let accepting = Arc::clone(&shared);
        thread::Builder::new()
            .name("nbd-accept".to_owned())
            .spawn(move || accepting.accept_all())
            .map_err(|source| Error::Io { what: "starting a thread".to_owned(), source })?;
        Ok(Self { shared })
    }
}

impl FrontEnd for Listening {
    /// The NBD URI.
    fn place(&self) -> String {
        self.shared.place.clone()
    }

    fn clients(&self) -> usize {
        self.shared.state().connections.len()
    }

    fn wait(&self) -> Result<()> {
        let mut state = self.shared.state();
        while !state.stopped && state.failed.is_none() {
            state = self.shared.wait(state);
        }
        match state.failed.take() {
            Some(source) => Err(Error::Io { what: format!("serving {}", self.shared.place), source }),
            None => Ok(()),
        }
    }

    /// Clients that do not receive their answers are disconnected after a few seconds. A storage
    /// that does not answer is waited for while there may be unwritten data.
    fn stop(&self) -> Result<()> {
        let shared = &*self.shared;
        if shared.stopping.swap(true, Ordering::SeqCst) {
            return self.wait();
        }
        shared.listener.close();
        shared.end_connections();
        let flushed = shared.server.flush();
        shared.state().stopped = true;
        shared.changed.notify_all();
        flushed.map_err(|source| Error::Io { what: "flushing".to_owned(), source })
    }
}

impl Shared {
    fn accept_all(self: Arc<Self>) {
        loop {
            match self.listener.accept() {
                Ok((socket, origin)) => self.admit(socket, origin),
                Err(_) if self.stopping.load(Ordering::SeqCst) => return,
                Err(e) if is_passing(&e) => thread::sleep(PAUSE),
                Err(e) => {
                    self.state().failed = Some(e);
                    self.changed.notify_all();
                    return;
                }
            }
        }
    }

    /// Starts a connection's thread. While there are too many unauthenticated clients, each gets a short time,
    /// and further ones wait to be accepted.
    fn admit(self: &Arc<Self>, socket: Socket, origin: Origin) {
        if self.server.options.own_user_only && peer::check(&socket).is_err() {
            return;
        }
        let mut state = self.state();
        loop {
            match state.unauthenticated.room(origin) {
                _ if self.stopping.load(Ordering::SeqCst) => return,
                Room::Enough => break,
                Room::InPlaceOf(oldest) => {
                    state.unauthenticated.leave(oldest);
                    state.connections.get(&oldest).into_iter().for_each(|one| one.stay().cut_short());
                }
                Room::After(moment) => {
                    let waited = self.changed.wait_timeout(state, moment);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
        let (id, shared, mine) = (state.next, Arc::clone(self), socket.clone());
        let serve = move || {
            // The reason why a client left is not recorded; a panic must not leave its connection
            // behind.
            let serving = std::panic::AssertUnwindSafe(|| {
                let agreed = || shared.forget_unauthenticated(id);
                shared.server.serve_until(&mine, &shared.stopping, agreed)
            });
            let _ = std::panic::catch_unwind(serving);
            mine.end();
            shared.state().connections.remove(&id);
            shared.forget_unauthenticated(id);
        };
        if thread::Builder::new().name("nbd".to_owned()).spawn(serve).is_ok() {
            state.connections.insert(id, socket);
            state.unauthenticated.enter(id, origin);
            state.next += 1;
        }
    }

    fn forget_unauthenticated(&self, id: u64) {
        self.state().unauthenticated.leave(id);
        self.changed.notify_all();
    }

    /// Returns when all connections have ended and all received requests are answered. A storage
    /// that does not answer is waited for only if data would be lost otherwise.
    fn end_connections(&self) {
        let deadline = Instant::now() + GRACE;
        self.state().connections.values().for_each(Socket::end_input);
        if self.have_ended_by(deadline) {
            return;
        }
        self.state().connections.values().for_each(Socket::end);
        while !self.have_ended_by(Instant::now() + LAST_MOMENT) {
            // (`unsettled` shows whether this succeeded.)
            let _ = self.server.flush();
            if self.server.unsettled().next().is_none() {
                return;
            }
        }
    }

    /// Waits until all connections have ended, or the deadline has passed.
    fn have_ended_by(&self, deadline: Instant) -> bool {
        let mut state = self.state();
        while !state.connections.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener {
    fn accept(&self) -> io::Result<(Socket, Origin)> {
        match self {
            Self::Unix(listener, _) => listener.accept().map(|(client, _)| (client.into(), Origin::Local)),
            Self::Tcp(listener) => {
                listener.accept().map(|(client, address)| (client.into(), address.ip().into()))
            }
        }
    }

    /// Wakes the accepting thread, and removes the socket's node.
    fn close(&self) {
        let _ = rustix::net::shutdown(self, Shutdown::Both);
        if let Self::Unix(_, node) = self {
            let _ = node.remove();
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(listener, _) => listener.as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        }
    }
}

/// Removes the node of a socket that nobody listens on.
fn remove_stale(path: &Path) -> Result<()> {
    let at = |source| Error::Io { what: format!("removing {}", path.display()), source };
    let Some(node) = Node::find(path).map_err(at)? else { return Ok(()) };
    match UnixStream::connect(path) {
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => node.remove().map_err(at),
        _ => Err(Error::Busy(format!("another process already listens on {}", path.display()))),
    }
}

/// Whether the error is temporary, so that the next client may succeed.
fn is_passing(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let passing = [
        Errno::CONNABORTED,
        Errno::INTR,
        Errno::AGAIN,
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOBUFS,
        Errno::NOMEM,
        Errno::PROTO,
        Errno::PERM,
    ];
    error.raw_os_error().is_some_and(|code| passing.iter().any(|errno| errno.raw_os_error() == code))
}

/// The name to put into the URI: a client that names none gets the only export anyway.
fn only_export(server: &Server) -> String {
    match server.exports.as_slice() {
        [only] => percent_encoded(only.name.as_bytes()),
        _ => String::new(),
    }
}

/// Percent-encodes bytes for a URI (RFC 3986, section 2.1); slashes are kept, as in a path.
pub fn percent_encoded(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(byte.into());
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// How many clients may wait to be accepted.
const BACKLOG: i32 = 128;

/// How long a client may take to receive its last answers.
const GRACE: Duration = Duration::from_millis(4000);

/// How long a connection may take to end after its socket was shut down, if its storage answers.
const LAST_MOMENT: Duration = Duration::from_millis(250);

/// The pause before trying to accept again.
const PAUSE: Duration = Duration::from_millis(50);
