//! The two directions of a connection: of a socket, or of TLS over it.

use super::Socket;
use super::polling::{Eagerness, Polling};
use std::cell::RefCell;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};

/// What a client sends.
pub(super) enum Incoming {
    /// In the clear.
    Plain(Socket),
    /// Through TLS.
    Tls(Box<dyn Read + Send>),
}

/// What a client receives.
pub(super) enum Outgoing {
    /// In the clear.
    Plain(Socket),
    /// Through TLS.
    Tls(Box<dyn Write + Send>),
}

impl Incoming {
    /// As [`Incoming::receive`], but polling before going to sleep.
    pub(super) fn receive_soon(
        &mut self,
        buffers: &mut [IoSliceMut<'_>],
        eagerness: &mut Eagerness,
        polling: &Polling,
    ) -> io::Result<usize> {
        let Self::Plain(socket) = self else { return self.receive(buffers) };
        // (The two closures cannot both borrow the buffers.)
        let buffers = RefCell::new(buffers);
        let ready = || socket.receive_now(&mut buffers.borrow_mut());
        eagerness.wait(polling, ready, || socket.receive(&mut buffers.borrow_mut()))
    }

    /// Receives what is available, waiting for the first byte; 0 at the end.
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

    /// Whether more has arrived. TLS does not reveal this, so it is assumed to have more.
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
