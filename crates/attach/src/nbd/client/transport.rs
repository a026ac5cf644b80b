//! What carries a client's connection: a TCP or Unix socket, with TLS over it where that was agreed upon.

use crate::local::peer;
use crate::nbd::uri::Address;
use crate::tls;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};
use std::ffi::OsStr;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::time::Duration;

/// A connected socket.
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects; each address of a host may take `patience`.
    pub(super) fn connect(address: &Address, patience: Duration) -> io::Result<Self> {
        match address {
            Address::Tcp { host, port } => {
                let mut last = io::Error::new(ErrorKind::NotFound, "the host has no address");
                for address in keyway_resolve::resolve(host, *port, patience)? {
                    match TcpStream::connect_timeout(&address, patience) {
                        Ok(socket) => {
                            // Requests are sent whole: waiting for more to send would only delay them.
                            socket.set_nodelay(true)?;
                            return Ok(Self::Tcp(socket));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
            Address::Unix(path) => connect_unix(path).map(Self::Unix),
        }
    }

    /// Refuses a Unix socket that another user listens on.
    pub(super) fn check_peer(&self) -> io::Result<()> {
        match self {
            Self::Tcp(_) => Ok(()),
            Self::Unix(socket) => {
                let other = |why| io::Error::new(ErrorKind::PermissionDenied, why);
                peer::check(socket).map_err(|why| other(why.to_string()))
            }
        }
    }

    /// How long a read or write may wait.
    pub(super) fn set_timeout(&self, patience: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => {
                socket.set_read_timeout(Some(patience))?;
                socket.set_write_timeout(Some(patience))
            }
            Self::Unix(socket) => {
                socket.set_read_timeout(Some(patience))?;
                socket.set_write_timeout(Some(patience))
            }
        }
    }

    fn hang_up(&self) {
        // A socket that is broken already cannot be shut down, and need not be.
        let _ = match self {
            Self::Tcp(socket) => socket.shutdown(Shutdown::Both),
            Self::Unix(socket) => socket.shutdown(Shutdown::Both),
        };
    }

    /// Whether the other side has hung up, told without waiting.
    fn has_ended(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match recv(self, &mut [0; 1][..], flags) {
            Ok((received, _)) => received == 0,
            Err(error) => io::Error::from(error).kind() != ErrorKind::WouldBlock,
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => (&mut &*socket).read(buf),
            Socket::Unix(socket) => (&mut &*socket).read(buf),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(buf)])
    }

    /// Without the signal that a broken connection would mean to programs that did not ask for none.
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let sent = sendmsg(*self, bufs, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL);
        sent.map_err(io::Error::from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl tls::Socket for Socket {
    fn receive(&self, buf: &mut [u8]) -> io::Result<usize> {
        (&mut &*self).read(buf)
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        (&mut &*self).write_all(bytes)
    }
}

/// A socket as it is, or encrypted.
pub(super) enum Transport {
    Plain(Socket),
    Encrypted(Box<tls::Stream<Socket>>),
}

impl Transport {
    pub(super) fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Encrypted(stream) => stream.socket(),
        }
    }

    pub(super) fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match self {
                Self::Plain(socket) => (&mut &*socket).read(buf),
                Self::Encrypted(stream) => (&mut &**stream).read(buf),
            };
            match read {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(too_slow()),
                Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "the server hung up")),
                done => return done,
            }
        }
    }

    pub(super) fn read_exact(&self, mut buf: &mut [u8]) -> io::Result<()> {
        while !buf.is_empty() {
            let count = self.read(buf)?;
            buf = &mut buf[count..];
        }
        Ok(())
    }

    /// Sends `header` and `payload`. `sent` tells after a failure whether any byte may have arrived.
    pub(super) fn send(&self, header: &[u8], payload: &[u8], sent: &mut bool) -> io::Result<()> {
        let mut pieces = [IoSlice::new(header), IoSlice::new(payload)];
        let mut pieces = &mut pieces[..];
        // Of an encrypted stream nobody knows how much left before it failed.
        *sent = matches!(self, Self::Encrypted(_));
        while pieces.iter().any(|piece| !piece.is_empty()) {
            let written = match self {
                Self::Plain(socket) => (&mut &*socket).write_vectored(pieces),
                Self::Encrypted(stream) => (&mut &**stream).write_vectored(pieces),
            };
            match written {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(too_slow()),
                Err(error) => return Err(error),
                Ok(count) => {
                    *sent |= count > 0;
                    IoSlice::advance_slices(&mut pieces, count);
                }
            }
        }
        Ok(())
    }

    pub(super) fn has_ended(&self) -> bool {
        self.socket().has_ended()
    }

    /// Ends the connection; whoever waits for it finds that out.
    pub(super) fn hang_up(&self) {
        self.socket().hang_up();
    }

    /// The last words of an encrypted stream.
    pub(super) fn close(&self) {
        if let Self::Encrypted(stream) = self {
            // Nobody listens any longer if it fails.
            let _ = stream.close();
        }
    }
}

/// A path that starts with NUL is a name in Linux's abstract namespace.
fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    match path.as_os_str().as_bytes().split_first() {
        Some((0, name)) => {
            UnixStream::connect_addr(&SocketAddr::from_abstract_name(OsStr::from_bytes(name).as_bytes())?)
        }
        _ => UnixStream::connect(path),
    }
}

fn too_slow() -> io::Error {
    io::Error::new(ErrorKind::TimedOut, "the server did not answer in time")
}
