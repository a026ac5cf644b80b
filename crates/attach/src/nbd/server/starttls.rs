//! [`tls::Server`] for the connections of an NBD server: one half of the encrypted stream for each
//! of its threads.

use super::{Halves, Socket, StartTls};
use crate::tls;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::sync::Arc;

impl StartTls for tls::Server {
    fn verifies_clients(&self) -> bool {
        Self::verifies_clients(self)
    }

    fn accept(&self, socket: Socket) -> io::Result<Halves> {
        let stream = Arc::new(Self::accept(self, socket)?);
        Ok((Box::new(Incoming(Arc::clone(&stream))), Box::new(Outgoing(stream))))
    }
}

impl tls::Socket for Socket {
    fn receive(&self, buf: &mut [u8]) -> io::Result<usize> {
        Self::receive(self, &mut [IoSliceMut::new(buf)])
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.send_all(&mut [IoSlice::new(bytes)])
    }
}

struct Incoming(Arc<tls::Stream<Socket>>);

struct Outgoing(Arc<tls::Stream<Socket>>);

impl Read for Incoming {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buf)
    }
}

impl Write for Outgoing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self.0).write_vectored(pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        // If the client is gone, it need not be told.
        let _ = self.0.close();
    }
}
