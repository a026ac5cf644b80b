//! A client's socket: sends whole messages, receives whatever has arrived, with deadlines for both.

use super::deadline::Deadline;
use super::unauthenticated::Stay;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{
    RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A connected stream socket. Clones refer to the same socket.
#[derive(Debug, Clone)]
pub struct Socket {
    fd: Arc<OwnedFd>,
    is_tcp: bool,
    deadlines: Arc<Deadlines>,
}

#[derive(Debug, Default)]
struct Deadlines {
    receive: Deadline,
    send: Deadline,
    stay: Stay,
}

impl Socket {
    fn new(fd: OwnedFd, is_tcp: bool) -> Self {
        Self { fd: Arc::new(fd), is_tcp, deadlines: Arc::default() }
    }

    /// Whether this is a network socket, as opposed to a local one.
    pub(super) fn is_tcp(&self) -> bool {
        self.is_tcp
    }

    /// Receives what is available into `buffers`, waiting for the first byte; 0 at the end.
    ///
    /// # Errors
    /// If the connection is broken, or [the deadline has passed](Self::receive_until).
    pub fn receive(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        loop {
            let Some(left) = self.deadlines.stay.left(&self.deadlines.receive)? else {
                return self.receive_with(buffers, RecvFlags::empty());
            };
            if let Some(received) = self.receive_now(buffers)? {
                return Ok(received);
            }
            self.wait(PollFlags::IN, left)?;
        }
    }

    /// As [`Socket::receive`], but `None` when nothing has arrived yet.
    pub(super) fn receive_now(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<Option<usize>> {
        match self.receive_with(buffers, RecvFlags::DONTWAIT) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            received => received.map(Some),
        }
    }

    fn receive_with(&self, buffers: &mut [IoSliceMut<'_>], flags: RecvFlags) -> io::Result<usize> {
        loop {
            match recvmsg(&*self.fd, buffers, &mut RecvAncillaryBuffer::default(), flags) {
                Ok(message) => return Ok(message.bytes),
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Sends all of `buffers`.
    ///
    /// # Errors
    /// If the connection is broken, or [the deadline has passed](Self::send_until).
    pub(crate) fn send_all(&self, mut buffers: &mut [IoSlice<'_>]) -> io::Result<()> {
        while !buffers.is_empty() {
            let left = self.deadlines.stay.left(&self.deadlines.send)?;
            let flags = if left.is_some() { SendFlags::DONTWAIT } else { SendFlags::empty() };
            // The kernel refuses more buffers than this in one call.
            let now = &buffers[..buffers.len().min(MOST_BUFFERS)];
            match sendmsg(&*self.fd, now, &mut SendAncillaryBuffer::default(), flags | SendFlags::NOSIGNAL) {
                Ok(sent) => IoSlice::advance_slices(&mut buffers, sent),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if left.is_some() => self.wait(PollFlags::OUT, left.unwrap_or_default())?,
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Waits until the socket is ready for receiving or sending, or some time has passed.
    fn wait(&self, what: PollFlags, most: Duration) -> io::Result<()> {
        let time = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&*self.fd, what)], Some(&time)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Whether something has arrived that was not received yet.
    pub(crate) fn is_readable(&self) -> bool {
        let mut fds = [PollFd::new(&*self.fd, PollFlags::IN)];
        matches!(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(1))
    }

    /// Receives fail from then on, regardless of what was received before; `None` for no deadline.
    pub(super) fn receive_until(&self, at: Option<Instant>) {
        self.deadlines.receive.set(at);
    }

    /// Sends fail from then on, regardless of what was sent before; `None` for no deadline.
    pub(super) fn send_until(&self, at: Option<Instant>) {
        self.deadlines.send.set(at);
    }

    /// How long this may remain an unauthenticated client's connection.
    pub(super) fn stay(&self) -> &Stay {
        &self.deadlines.stay
    }

    /// Sets the options for a busy connection: room for a few large messages; for TCP, immediate
    /// sending and detection of peers that are gone. Options that the kernel refuses are ignored.
    pub(super) fn tune(&self) {
        if self.is_tcp {
            let _ = sockopt::set_tcp_nodelay(&*self.fd, true);
            let _ = sockopt::set_socket_keepalive(&*self.fd, true);
            let _ = sockopt::set_tcp_keepidle(&*self.fd, KEEPALIVE);
            let _ = sockopt::set_tcp_keepintvl(&*self.fd, KEEPALIVE / 6);
        } else {
            // (TCP sizes its buffers automatically, unless a size is set.)
            let _ = sockopt::set_socket_send_buffer_size(&*self.fd, BUFFER);
            let _ = sockopt::set_socket_recv_buffer_size(&*self.fd, BUFFER);
        }
    }

    /// Stops receiving anything beyond what has already arrived.
    pub(super) fn end_input(&self) {
        let _ = rustix::net::shutdown(&*self.fd, Shutdown::Read);
    }

    /// Shuts the socket down; threads waiting for it notice.
    pub(super) fn end(&self) {
        let _ = rustix::net::shutdown(&*self.fd, Shutdown::Both);
    }
}

impl From<UnixStream> for Socket {
    fn from(stream: UnixStream) -> Self {
        Self::new(stream.into(), false)
    }
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Self {
        Self::new(stream.into(), true)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Read for Socket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.receive(&mut [IoSliceMut::new(buf)])
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.receive(buffers)
    }
}

impl Write for Socket {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.send_all(&mut [IoSlice::new(buf)])?;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// IOV_MAX in Linux (uapi/linux/uio.h).
const MOST_BUFFERS: usize = 1024;

/// How long a network client may be silent before it is probed; further probes follow at a sixth of
/// this interval.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// The buffer size of a Unix socket for each direction, in bytes; the kernel uses less if
/// net.core.wmem_max is less.
const BUFFER: usize = 2 << 20;
