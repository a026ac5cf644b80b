//! A client's connections: as many as are busy, up to a limit, if the server supports several; and
//! a new one when one is lost.

use super::Options;
use super::connection::{Connection, Trouble};
use super::dial::Dialer;
use super::handshake::Agreed;
use super::identity::{Change, Identity};
use super::journal::Journal;
use super::reply::Reply;
use crate::nbd::Uri;
use crate::nbd::protocol::Request;
use crate::nbd::protocol::handshake::export;
use crate::nbd::protocol::transmission::command;
use crate::tls;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Connections to one export.
pub(super) struct Pool {
    dialer: Dialer,
    options: Options,
    agreed: Agreed,
    journal: Journal,
    identity: Identity,
    open: Mutex<Open>,
    /// Held while a lost connection is being replaced.
    reconnecting: Mutex<()>,
}

struct Open {
    connections: Vec<Arc<Connection>>,
    /// The maximum number of connections.
    most: usize,
    /// Whether a thread is opening another one.
    is_opening: bool,
}

impl Pool {
    pub(super) fn connect(uri: &Uri, tls: Option<tls::Client>, options: Options) -> io::Result<Self> {
        let dialer = Dialer::new(uri, tls, options)?;
        let first = dialer.dial(options.handshake)?;
        let agreed = first.agreed().clone();
        let identity = if options.recognise { Identity::take(&first)? } else { Identity::default() };
        let most = if agreed.has(export::CAN_MULTI_CONN) { options.connections.max(1) } else { 1 };
        let open = Open { connections: vec![Arc::new(first)], most, is_opening: false };
        Ok(Self {
            dialer,
            options,
            agreed,
            journal: Journal::default(),
            identity,
            open: Mutex::new(open),
            reconnecting: Mutex::new(()),
        })
    }

    pub(super) fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// Sends a request and waits for the answer. If a connection is lost, a request that changes
    /// nothing is repeated over a new one. One that changes something is sent again only if no part
    /// of it was sent before: the server may execute the first one late, and would then overwrite
    /// later changes.
    pub(super) fn ask(&self, request: Request, payload: &[u8], buf: &mut [u8]) -> io::Result<Reply> {
        let mut losses = 0;
        loop {
            if changes(request.kind) || request.kind == command::FLUSH {
                self.journal.check()?;
            }
            let connection = self.pick()?;
            let error = match self.ask_once(&connection, request, payload, buf) {
                Ok(reply) => return Ok(reply),
                Err(Trouble::Refused(error)) => return Err(error),
                Err(Trouble::NotSent(error)) => error,
                Err(Trouble::Lost(error)) if changes(request.kind) => {
                    self.drop_broken(&error);
                    let text = format!("the connection was lost ({error}) before the write was acknowledged");
                    return Err(io::Error::new(ErrorKind::ConnectionAborted, text));
                }
                Err(Trouble::Lost(error)) => error,
            };
            self.drop_broken(&error);
            losses += 1;
            let was_silent = error.kind() == ErrorKind::TimedOut;
            if losses > if was_silent { MOST_SILENCES } else { MOST_LOSSES } {
                return Err(error);
            }
        }
    }

    fn ask_once(
        &self,
        connection: &Connection,
        request: Request,
        payload: &[u8],
        buf: &mut [u8],
    ) -> Result<Reply, Trouble> {
        match request.kind {
            command::FLUSH => {
                let mark = self.journal.flush_begins();
                let reply = connection.ask(request, payload, buf)?;
                self.journal.flush_succeeded(mark);
                Ok(reply)
            }
            kind if changes(kind) => {
                self.journal.write_begins();
                self.identity.begin(&request);
                let result = connection.ask(request, payload, buf);
                self.identity.end(&request, &self.change_of(kind, payload, &result));
                result
            }
            _ => connection.ask(request, payload, buf),
        }
    }

    /// The outcome of a change, for the journal and the identity.
    fn change_of<'a>(&self, kind: u16, payload: &'a [u8], result: &Result<Reply, Trouble>) -> Change<'a> {
        match result {
            Ok(_) => {
                let answered = self.journal.write_ends();
                if kind == command::WRITE { Change::Written(payload, answered) } else { Change::Unknown }
            }
            Err(Trouble::Refused(_)) => {
                self.journal.write_ends();
                Change::Unknown
            }
            Err(Trouble::NotSent(_)) => {
                self.journal.write_stays();
                Change::NotSent
            }
            Err(Trouble::Lost(_)) => Change::Unknown,
        }
    }

    /// The least busy connection; another one if all are busy and the limit is not reached.
    fn pick(&self) -> io::Result<Arc<Connection>> {
        let mut open = self.open();
        open.connections.retain(|connection| !connection.is_broken());
        let Some(idlest) = open.connections.iter().min_by_key(|connection| connection.load()).cloned() else {
            drop(open);
            return self.reconnect();
        };
        if idlest.load() == 0 || open.is_opening || open.connections.len() >= open.most {
            return Ok(idlest);
        }
        open.is_opening = true;
        drop(open);
        // A server that accepts no more connections may leave this one waiting indefinitely.
        let another = self.dialer.dial(ANOTHER);
        let another = another
            .and_then(|another| self.identity.check(&another, self.journal.flushed()).map(|()| another));
        let mut open = self.open();
        open.is_opening = false;
        match another {
            Ok(another) if *another.agreed() == self.agreed => {
                let another = Arc::new(another);
                open.connections.push(Arc::clone(&another));
                Ok(another)
            }
            _ => {
                open.most = open.connections.len().max(1);
                Ok(idlest)
            }
        }
    }

    /// Dials until it succeeds, the export turns out to be another one, or [`Options::reconnect`]
    /// has elapsed.
    fn reconnect(&self) -> io::Result<Arc<Connection>> {
        let _turn = self.reconnecting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(standing) = self.open().connections.iter().find(|connection| !connection.is_broken()) {
            return Ok(Arc::clone(standing));
        }
        let deadline = Instant::now() + self.options.reconnect;
        let mut pause = FIRST_PAUSE;
        loop {
            match self.dial_again() {
                Ok(connection) => {
                    let connection = Arc::new(connection);
                    self.open().connections.push(Arc::clone(&connection));
                    return Ok(connection);
                }
                Err(error) if is_another(&error) || Instant::now() + pause >= deadline => return Err(error),
                Err(_) => thread::sleep(pause),
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Makes a connection to the same volume.
    fn dial_again(&self) -> io::Result<Connection> {
        let connection = self.dialer.dial(self.options.handshake)?;
        self.check_unchanged(connection.agreed())?;
        self.identity.check(&connection, self.journal.flushed())?;
        Ok(connection)
    }

    /// Requests are split by the limits that were negotiated at first.
    fn check_unchanged(&self, now: &Agreed) -> io::Result<()> {
        if *now == self.agreed {
            return Ok(());
        }
        let what = if now.size == self.agreed.size {
            "the server offers other features than before".to_owned()
        } else {
            format!("the export now has {} bytes, it had {}", now.size, self.agreed.size)
        };
        Err(io::Error::new(ErrorKind::InvalidData, what))
    }

    fn drop_broken(&self, why: &io::Error) {
        self.journal.connection_lost(why);
        self.open().connections.retain(|connection| !connection.is_broken());
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether retrying is pointless because a server answers, but with another volume.
fn is_another(error: &io::Error) -> bool {
    error.kind() == ErrorKind::InvalidData
}

/// Whether a request changes what the export holds.
fn changes(kind: u16) -> bool {
    matches!(kind, command::WRITE | command::TRIM | command::WRITE_ZEROES)
}

/// After so many lost connections a request is given up.
const MOST_LOSSES: u32 = 3;
/// After a silence a request is worth another connection, but not another long wait after that.
const MOST_SILENCES: u32 = 1;
/// How long opening one more connection may take.
const ANOTHER: Duration = Duration::from_secs(1);
/// The pauses between attempts to reconnect.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
