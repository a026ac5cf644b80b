//! The two directions of a connection: a socket's, or those of TLS over it.

use super::Socket;
use super::patience::{Eagerness, Patience};
use std::cell::RefCell;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};

/// What a client sends.
pub(super) enum Incoming {
    /// In the clear.
    Plain(Socket),
    /// Through TLS.
    Tls(Box<dyn Read + Send>),
}

/// What a client gets.
pub(super) enum Outgoing {
    /// In the clear.
    Plain(Socket),
    /// Through TLS.
    Tls(Box<dyn Write + Send>),
}

impl Incoming {
    /// As [`Incoming::receive`], without falling asleep at once.
    pub(super) fn receive_soon(
        &mut self,
        buffers: &mut [IoSliceMut<'_>],
        eagerness: &mut Eagerness,
        patience: &Patience,
    ) -> io::Result<usize> {
        let Self::Plain(socket) = self else { return self.receive(buffers) };
        // (Both cannot have the buffers at a time.)
        let buffers = RefCell::new(buffers);
        let ready = || socket.receive_now(&mut buffers.borrow_mut());
        eagerness.wait(patience, ready, || socket.receive(&mut buffers.borrow_mut()))
    }

    /// Receives what is there, but waits for the first byte; 0 at the end.
    pub(super) fn receive(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.receive(buffers),
            Self::Tls(stream) => loop {
                match stream.read_vectored(buffers) {
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    other => return other,
                }
            },
        }
    }

    /// Whether more has come in. TLS keeps that to itself, and is taken for busy.
    pub(super) fn has_more(&self) -> bool {
        match self {
            Self::Plain(socket) => socket.is_readable(),
            Self::Tls(_) => true,
        }
    }
}

impl Outgoing {
    /// Sends all of `buffers`.
    pub(super) fn send_all(&mut self, mut buffers: &mut [IoSlice<'_>]) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.send_all(buffers),
            Self::Tls(stream) => {
                while !buffers.is_empty() {
                    match stream.write_vectored(buffers) {
                        Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                        Ok(sent) => IoSlice::advance_slices(&mut buffers, sent),
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                        Err(e) => return Err(e),
                    }
                }
                stream.flush()
            }
        }
    }
}
