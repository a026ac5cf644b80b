//! The outgoing side of a connection on which many threads answer. A message is sent whole, or is
//! the last thing sent: no method here sends a part of one while others could send theirs, and
//! nothing follows a message that was left unfinished, because a client would take it for the
//! missing bytes.

use super::deadline::Limits;
use super::transport::Outgoing;
use std::io::{self, ErrorKind, IoSlice};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where complete messages are sent.
pub(super) struct Wire(Mutex<Line>);

struct Line {
    outgoing: Outgoing,
    limits: Limits,
    /// Whether a message was left unfinished.
    is_torn: bool,
}

impl Wire {
    pub(super) fn new(outgoing: Outgoing, limits: Limits) -> Self {
        Self(Mutex::new(Line { outgoing, limits, is_torn: false }))
    }

    /// Sends complete messages.
    ///
    /// # Errors
    /// If the connection broke, now or before.
    pub(super) fn send(&self, messages: &mut [IoSlice<'_>]) -> io::Result<()> {
        let mut line = self.line();
        line.limits.begin_reply(messages.iter().map(|piece| piece.len() as u64).sum());
        line.send(messages)
    }

    /// Sends the start of a message of which `left` more bytes follow. Other senders wait until
    /// they have been sent.
    ///
    /// # Errors
    /// As [`Wire::send`].
    pub(super) fn begin(&self, head: &[u8], left: u64) -> io::Result<Unfinished<'_>> {
        let mut line = self.line();
        line.limits.begin_reply(left);
        line.send(&mut [IoSlice::new(head)])?;
        Ok(Unfinished { line, left })
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn send(&mut self, pieces: &mut [IoSlice<'_>]) -> io::Result<()> {
        if self.is_torn {
            return Err(io::Error::new(ErrorKind::BrokenPipe, "a reply was cut off"));
        }
        // A panic leaves this set, too.
        self.is_torn = true;
        self.outgoing.send_all(pieces)?;
        self.is_torn = false;
        Ok(())
    }
}

/// The rest of a message. If dropped before its last byte was sent, it ends the connection.
#[must_use]
pub(super) struct Unfinished<'a> {
    line: MutexGuard<'a, Line>,
    left: u64,
}

impl Unfinished<'_> {
    /// Sends the next bytes.
    ///
    /// # Errors
    /// If the connection broke, or there are more bytes than announced.
    pub(super) fn send(&mut self, piece: &[u8]) -> io::Result<()> {
        let left = self.left.checked_sub(piece.len() as u64);
        let left = left.ok_or_else(|| io::Error::other("a reply is longer than announced"))?;
        self.line.send(&mut [IoSlice::new(piece)])?;
        self.left = left;
        Ok(())
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.line.is_torn |= self.left > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nbd::server::Socket;
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::thread;
    use std::time::{Duration, Instant};

    fn wire() -> (Wire, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let ours = Socket::from(ours);
        (Wire::new(Outgoing::Plain(ours.clone()), Limits::new(&ours, None)), theirs)
    }

    /// Everything that arrives.
    fn sent(wire: Wire, mut theirs: UnixStream) -> Vec<u8> {
        drop(wire);
        let mut bytes = Vec::new();
        theirs.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn nothing_gets_between_the_pieces_of_a_message() {
        let (wire, theirs) = wire();
        let mut long = wire.begin(b"head", 6).unwrap();
        thread::scope(|scope| {
            let other = scope.spawn(|| wire.send(&mut [IoSlice::new(b"other")]));
            long.send(b"abc").unwrap();
            // Long enough for the other thread to get in between if it could.
            thread::sleep(Duration::from_millis(50));
            assert!(!other.is_finished());
            long.send(b"def").unwrap();
            drop(long);
            other.join().unwrap().unwrap();
        });
        assert_eq!(sent(wire, theirs), b"headabcdefother");
    }

    #[test]
    fn nothing_follows_half_a_message() {
        let (wire, theirs) = wire();
        let mut long = wire.begin(b"head", 6).unwrap();
        long.send(b"abc").unwrap();
        drop(long);
        assert_eq!(wire.send(&mut [IoSlice::new(b"other")]).unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert!(wire.begin(b"another", 0).is_err());
        assert_eq!(sent(wire, theirs), b"headabc");
    }

    #[test]
    fn no_message_is_longer_than_announced() {
        let (wire, theirs) = wire();
        let mut long = wire.begin(b"head", 2).unwrap();
        assert!(long.send(b"abc").is_err());
        long.send(b"ab").unwrap();
        drop(long);
        wire.send(&mut [IoSlice::new(b"next")]).unwrap();
        assert_eq!(sent(wire, theirs), b"headabnext");
    }

    #[test]
    fn a_message_that_was_sent_in_part_is_the_last() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let ours = Socket::from(ours);
        ours.send_until(Some(Instant::now() + Duration::from_millis(20)));
        let wire = Wire::new(Outgoing::Plain(ours.clone()), Limits::new(&ours, None));
        drop(ours);
        // Nobody receives: only a part fits into the socket.
        assert!(wire.send(&mut [IoSlice::new(&vec![7; 8 << 20])]).is_err());
        let after = wire.send(&mut [IoSlice::new(b"other")]);
        assert_eq!(after.unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert!(sent(wire, theirs).iter().all(|byte| *byte == 7));
    }
}
