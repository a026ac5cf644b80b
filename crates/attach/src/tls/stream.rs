//! An encrypted stream over a socket, for one reading thread and several writing ones.
//!
//! rustls keeps the keys of both directions in one session, so encryption and decryption take
//! turns. The session is not held while waiting for the socket, so reading never blocks writing.
//! Writers take turns from the first byte that they encrypt to the last that they send, because
//! records must arrive in the order of their numbers.

use crate::socket::Socket;
use rustls::Connection;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A socket and the TLS session over it. It can be read and written through shared references.
pub struct Stream<S> {
    socket: S,
    session: Mutex<Connection>,
    inbox: Mutex<Inbox>,
    outbox: Mutex<Vec<u8>>,
}

impl<S: Socket> Stream<S> {
    /// Performs the handshake.
    pub(super) fn start(socket: S, mut session: Connection) -> io::Result<Self> {
        session.complete_io(&mut Ends(&socket)).map_err(|error| explain(&error))?;
        // Data is sent as soon as it is written; a limit would only cut it into pieces.
        session.set_buffer_limit(None);
        Ok(Self { socket, session: Mutex::new(session), inbox: Mutex::default(), outbox: Mutex::default() })
    }

    /// The underlying socket, for setting its timeouts and hanging up.
    pub fn socket(&self) -> &S {
        &self.socket
    }

    /// Tells the other side that nothing more will come.
    ///
    /// # Errors
    /// If the connection is already broken.
    pub fn close(&self) -> io::Result<()> {
        let mut outbox = locked(&self.outbox);
        locked(&self.session).send_close_notify();
        self.send_pending(&mut outbox)
    }

    /// Decrypts what has arrived, waiting if there is nothing yet. 0 at the end.
    fn read_plaintext(&self, buf: &mut [u8]) -> io::Result<usize> {
        let mut inbox = locked(&self.inbox);
        loop {
            match inbox.decrypt(&mut locked(&self.session), buf) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                done => return done,
            }
            inbox.receive(&self.socket)?;
        }
    }

    /// Encrypts and sends everything, combining small pieces.
    fn write_plaintext<'a>(&self, bytes: impl Iterator<Item = &'a [u8]>) -> io::Result<()> {
        let mut outbox = locked(&self.outbox);
        let mut unsent = 0;
        for piece in bytes.flat_map(|bytes| bytes.chunks(PIECE)) {
            locked(&self.session).writer().write_all(piece)?;
            unsent += piece.len();
            if unsent >= PIECE {
                self.send_pending(&mut outbox)?;
                unsent = 0;
            }
        }
        if unsent > 0 { self.send_pending(&mut outbox) } else { Ok(()) }
    }

    /// Sends what the session has encrypted.
    fn send_pending(&self, outbox: &mut Vec<u8>) -> io::Result<()> {
        outbox.clear();
        {
            let mut session = locked(&self.session);
            while session.wants_write() {
                session.write_tls(outbox)?;
            }
        }
        self.socket.send(outbox)
    }
}

impl<S: Socket> Read for &Stream<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() { Ok(0) } else { self.read_plaintext(buf) }
    }
}

impl<S: Socket> Write for &Stream<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_plaintext(std::iter::once(bytes))?;
        Ok(bytes.len())
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.write_plaintext(pieces.iter().map(|piece| &**piece))?;
        Ok(pieces.iter().map(|piece| piece.len()).sum())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Encrypted bytes that have arrived.
struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { bytes: vec![0; INBOX], start: 0, end: 0, ended: false }
    }
}

impl Inbox {
    /// Fills `buf` as far as the received data goes; `WouldBlock` when there is not even a byte.
    fn decrypt(&mut self, session: &mut Connection, buf: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        loop {
            match session.reader().read(&mut buf[filled..]) {
                // The other side has signalled the end.
                Ok(0) => return Ok(filled),
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) if filled > 0 => return Ok(filled),
                Err(error) => return Err(error),
            }
            if filled == buf.len() {
                return Ok(filled);
            }
            let mut arrived = &self.bytes[self.start..self.end];
            if arrived.is_empty() && !self.ended {
                return if filled > 0 { Ok(filled) } else { Err(ErrorKind::WouldBlock.into()) };
            }
            let before = arrived.len();
            session.read_tls(&mut arrived)?;
            self.start += before - arrived.len();
            session.process_new_packets().map_err(|why| io::Error::new(ErrorKind::InvalidData, why))?;
        }
    }

    /// Waits for more data and receives it.
    fn receive(&mut self, socket: &impl Socket) -> io::Result<()> {
        (self.start, self.end) = (0, 0);
        self.end = loop {
            match socket.receive(&mut self.bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                received => break received?,
            }
        };
        self.ended = self.end == 0;
        Ok(())
    }
}

/// Adapts a socket for [`Connection::complete_io`].
struct Ends<'a, S>(&'a S);

impl<S: Socket> Read for Ends<'_, S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.receive(buf)
    }
}

impl<S: Socket> Write for Ends<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Prefixes a handshake error with an explanation.
fn explain(error: &io::Error) -> io::Error {
    let what = match error.kind() {
        ErrorKind::UnexpectedEof => {
            "the other side closed the connection during the TLS handshake".to_owned()
        }
        _ => format!("the TLS handshake failed: {error}"),
    };
    io::Error::new(error.kind(), what)
}

/// A panic in another thread cannot leave the session in an intermediate state that matters here:
/// rustls refuses records out of order.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How much is encrypted before it is sent: four records, which stay in the cache.
const PIECE: usize = 64 << 10;

/// How much is received at once.
const INBOX: usize = 128 << 10;
