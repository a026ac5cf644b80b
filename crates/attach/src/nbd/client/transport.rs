//! The transport of a client's connection: a TCP or Unix socket, with TLS over it if negotiated.

use super::timeouts::Timeouts;
use crate::local::peer;
use crate::nbd::uri::Address;
use crate::tls;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, SocketAddrUnix, SocketFlags,
    SocketType, connect, recv, sendmsg, shutdown, socket_with,
};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A connected socket whose server is waited for according to [`Timeouts`].
pub(super) struct Socket {
    stream: Stream,
    timeouts: Arc<Timeouts>,
    /// The receive timeout currently set in the kernel, in microseconds; it is set again only when
    /// it has changed.
    armed: AtomicU64,
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects, within the time allowed by `timeouts`.
    pub(super) fn connect(address: &Address, timeouts: Arc<Timeouts>) -> io::Result<Self> {
        let stream = timeouts.tell_during(|| match address {
            Address::Tcp { host, port } => connect_tcp(host, *port, &timeouts).map(Stream::Tcp),
            Address::Unix(path) => connect_unix(path, &timeouts).map(Stream::Unix),
        })?;
        Ok(Self { stream, timeouts, armed: AtomicU64::new(0) })
    }

    pub(super) fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    /// Refuses a Unix socket whose listener belongs to another user.
    pub(super) fn check_peer(&self) -> io::Result<()> {
        match &self.stream {
            Stream::Tcp(_) => Ok(()),
            Stream::Unix(socket) => {
                let other = |why| io::Error::new(ErrorKind::PermissionDenied, why);
                peer::check(socket).map_err(|why| other(why.to_string()))
            }
        }
    }

    fn hang_up(&self) {
        // A socket that is already broken cannot be shut down, and need not be.
        let _ = shutdown(self, Shutdown::Both);
    }

    /// Whether the other side has hung up, checked without waiting.
    fn has_ended(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match recv(self, &mut [0; 1][..], flags) {
            Ok((received, _)) => received == 0,
            Err(error) => error != Errno::AGAIN,
        }
    }

    /// Has the kernel end a receive after this time, or about this time.
    fn arm(&self, left: Duration) -> io::Result<()> {
        let (wanted, armed) = (left.as_micros() as u64, self.armed.load(Ordering::Relaxed));
        if wanted.abs_diff(armed) > wanted / 8 {
            // (Zero would mean no timeout.)
            set_socket_timeout(self, Timeout::Recv, Some(left.max(Duration::from_millis(1))))?;
            self.armed.store(wanted, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Waits until the socket can be written to.
    fn wait_to_send(&self) -> io::Result<()> {
        let left = self.timeouts.left()?;
        let time = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(self, PollFlags::OUT)], Some(&time)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Stream::Tcp(socket) => socket.as_fd(),
            Stream::Unix(socket) => socket.as_fd(),
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            self.arm(self.timeouts.left()?)?;
            match recv(*self, &mut *buf, RecvFlags::empty()) {
                Ok((count, _)) => {
                    self.timeouts.note(count);
                    return Ok(count);
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(buf)])
    }

    /// Sends without the signal that a broken connection would otherwise cause in programs that did
    /// not disable it, and without blocking in the kernel, where a server that accepts a little now
    /// and then could hold it up.
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        loop {
            match sendmsg(*self, bufs, &mut SendAncillaryBuffer::default(), flags) {
                Ok(count) => {
                    self.timeouts.note(count);
                    return Ok(count);
                }
                Err(Errno::AGAIN) => self.wait_to_send()?,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
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

/// A plain or encrypted socket.
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
        let read = match self {
            Self::Plain(socket) => (&mut &*socket).read(buf),
            Self::Encrypted(stream) => (&mut &**stream).read(buf),
        };
        match read {
            Ok(0) => Err(io::Error::new(ErrorKind::UnexpectedEof, "the server closed the connection")),
            done => done,
        }
    }

    pub(super) fn read_exact(&self, mut buf: &mut [u8]) -> io::Result<()> {
        while !buf.is_empty() {
            let count = self.read(buf)?;
            buf = &mut buf[count..];
        }
        Ok(())
    }

    /// Sends `header` and `payload`. After a failure, `sent` tells whether any byte may have
    /// reached the server.
    pub(super) fn send(&self, header: &[u8], payload: &[u8], sent: &mut bool) -> io::Result<()> {
        let mut pieces = [IoSlice::new(header), IoSlice::new(payload)];
        let mut pieces = &mut pieces[..];
        // For an encrypted stream it is unknown how much was sent before the failure.
        *sent = matches!(self, Self::Encrypted(_));
        while pieces.iter().any(|piece| !piece.is_empty()) {
            let written = match self {
                Self::Plain(socket) => (&mut &*socket).write_vectored(pieces),
                Self::Encrypted(stream) => (&mut &**stream).write_vectored(pieces),
            };
            let count = written?;
            *sent |= count > 0;
            IoSlice::advance_slices(&mut pieces, count);
        }
        Ok(())
    }

    pub(super) fn has_ended(&self) -> bool {
        self.socket().has_ended()
    }

    /// Ends the connection; threads waiting for it notice.
    pub(super) fn hang_up(&self) {
        self.socket().hang_up();
    }

    /// Ends an encrypted stream properly.
    pub(super) fn close(&self) {
        if let Self::Encrypted(stream) = self {
            // If this fails, nobody is listening any longer.
            let _ = stream.close();
        }
    }
}

/// Divides the time evenly among the addresses.
fn connect_tcp(host: &str, port: u16, timeouts: &Timeouts) -> io::Result<TcpStream> {
    let addresses = keyway_resolve::resolve(host, port, timeouts.time()?)?;
    let mut last = io::Error::new(ErrorKind::NotFound, "the host has no address");
    for (tried, address) in addresses.iter().enumerate() {
        let share = timeouts.time()? / (addresses.len() - tried) as u32;
        match TcpStream::connect_timeout(address, share) {
            Ok(socket) => {
                // Requests are sent whole, so waiting for more data would only delay them.
                socket.set_nodelay(true)?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A path that starts with NUL is a name in Linux's abstract namespace.
fn connect_unix(path: &Path, timeouts: &Timeouts) -> io::Result<UnixStream> {
    let bytes = path.as_os_str().as_bytes();
    let address = match bytes.split_first() {
        Some((0, name)) => SocketAddrUnix::new_abstract_name(name),
        _ => SocketAddrUnix::new(bytes),
    }?;
    let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // Otherwise a listener that accepts nobody would be waited for indefinitely.
    set_socket_timeout(&fd, Timeout::Send, Some(timeouts.time()?))?;
    match connect(&fd, &address) {
        Err(Errno::AGAIN) => Err(timeouts.too_slow()),
        done => done.map(|()| fd.into()).map_err(io::Error::from),
    }
}
