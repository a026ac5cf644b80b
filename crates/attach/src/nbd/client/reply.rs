//! The parts of a reply received so far, and what may still arrive. Everything that a server sends
//! is checked against the request: no chunk lies outside it, none overlaps another, and none is
//! missing at the end.

use super::handshake::{garbage, words};
use super::transport::Transport;
use crate::nbd::protocol::transmission::{chunk, command};
use crate::nbd::protocol::{Chunk, Errno, Headers, Request};
use std::io;
use std::ops::Range;

/// A reply that is being received.
#[derive(Debug, Default)]
pub(super) struct Reply {
    /// The data of a read, if received by another thread; the read's own thread copies it.
    pub(super) data: Option<Vec<u8>>,
    /// Lengths and states of extents, starting at the request's offset.
    pub(super) extents: Vec<(u64, u64)>,
    /// Why the server failed.
    pub(super) error: Option<io::Error>,
    covered: Covered,
}

/// Received bytes that have not been consumed yet.
pub(super) struct Inbox {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; INBOX].into(), start: 0, end: 0 }
    }

    /// Fills `buf`. Reads longer than the inbox bypass it.
    pub(super) fn read_exact(&mut self, transport: &Transport, mut buf: &mut [u8]) -> io::Result<()> {
        while !buf.is_empty() {
            if self.start == self.end {
                if buf.len() >= self.bytes.len() {
                    return transport.read_exact(buf);
                }
                self.end = transport.read(&mut self.bytes)?;
                self.start = 0;
            }
            let count = buf.len().min(self.end - self.start);
            let (now, rest) = buf.split_at_mut(count);
            now.copy_from_slice(&self.bytes[self.start..self.start + count]);
            self.start += count;
            buf = rest;
        }
        Ok(())
    }

    fn read_array<const N: usize>(&mut self, transport: &Transport) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.read_exact(transport, &mut bytes)?;
        Ok(bytes)
    }
}

/// Where a message is read from, and where the data of a read goes.
pub(super) struct Arrival<'a> {
    pub(super) inbox: &'a mut Inbox,
    pub(super) transport: &'a Transport,
    pub(super) request: &'a Request,
    pub(super) headers: Headers,
    pub(super) allocation: Option<u32>,
    /// The buffer, as long as the request; empty unless it is a read.
    pub(super) buf: &'a mut [u8],
}

impl Reply {
    /// Processes a simple reply, which is complete by itself.
    pub(super) fn take_simple(&mut self, from: &mut Arrival<'_>, error: Option<Errno>) -> io::Result<()> {
        if let Some(errno) = error {
            self.error = Some(errno.to_io());
            return Ok(());
        }
        if from.request.kind != command::READ {
            return Ok(());
        }
        if from.headers != Headers::Simple {
            return Err(garbage("a read was answered by a simple reply"));
        }
        self.covered.add(0..from.request.length)?;
        from.inbox.read_exact(from.transport, from.buf)
    }

    /// Processes one chunk with its payload.
    pub(super) fn take_chunk(&mut self, from: &mut Arrival<'_>, header: &Chunk) -> io::Result<()> {
        if from.headers == Headers::Extended && header.offset != from.request.offset {
            return Err(garbage("a chunk's offset is not that of its request"));
        }
        let reads = from.request.kind == command::READ;
        let asks = from.request.kind == command::BLOCK_STATUS;
        match header.kind {
            chunk::NONE if header.length == 0 && header.is_last() => {}
            chunk::OFFSET_DATA if reads => self.take_data(from, header.length)?,
            chunk::OFFSET_HOLE if reads && header.length == 12 => self.take_hole(from)?,
            chunk::BLOCK_STATUS if asks && from.headers == Headers::Structured => {
                self.take_extents(from, header.length, false)?;
            }
            chunk::BLOCK_STATUS_EXT if asks && from.headers == Headers::Extended => {
                self.take_extents(from, header.length, true)?;
            }
            kind if kind & chunk::ERROR_BIT != 0 => self.take_error(from, header.length)?,
            _ => return Err(garbage("a chunk that does not belong in its reply")),
        }
        if header.is_last() && self.error.is_none() {
            self.check_complete(from.request)?;
        }
        Ok(())
    }

    fn take_data(&mut self, from: &mut Arrival<'_>, length: u64) -> io::Result<()> {
        let length = length.checked_sub(8).filter(|length| *length > 0);
        let length = length.ok_or_else(|| garbage("a chunk of data without data"))?;
        let offset = u64::from_be_bytes(from.inbox.read_array(from.transport)?);
        let place = within(from.request, offset, length)?;
        self.covered.add(place.clone())?;
        let buf = &mut from.buf[place.start as usize..place.end as usize];
        from.inbox.read_exact(from.transport, buf)
    }

    fn take_hole(&mut self, from: &mut Arrival<'_>) -> io::Result<()> {
        let offset = u64::from_be_bytes(from.inbox.read_array(from.transport)?);
        let length = u32::from_be_bytes(from.inbox.read_array(from.transport)?);
        let place = within(from.request, offset, length.into())?;
        self.covered.add(place.clone())?;
        from.buf[place.start as usize..place.end as usize].fill(0);
        Ok(())
    }

    fn take_extents(&mut self, from: &mut Arrival<'_>, length: u64, extended: bool) -> io::Result<()> {
        let (front, each) = if extended { (8, 16) } else { (4, 8) };
        let fits = length > front && length <= LONGEST_STATUS && (length - front).is_multiple_of(each);
        if !fits || !self.extents.is_empty() {
            return Err(garbage("a list of extents of the wrong length"));
        }
        let number = |bytes: &[u8]| bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        let (mut bytes, count) = ([0; 16], (length - front) / each);
        let head = &mut bytes[..front as usize];
        from.inbox.read_exact(from.transport, head)?;
        if Some(number(&head[..4])) != from.allocation.map(u64::from) {
            return Err(garbage("a list of extents is for a context that was not requested"));
        }
        if extended && number(&head[4..]) != count {
            return Err(garbage("a list of extents is not as long as stated"));
        }
        // One at a time, so that memory is allocated only for data that has arrived.
        for _ in 0..count {
            let extent = &mut bytes[..each as usize];
            from.inbox.read_exact(from.transport, extent)?;
            let (length, state) = extent.split_at(each as usize / 2);
            if number(length) == 0 {
                return Err(garbage("an extent without length"));
            }
            self.extents.push((number(length), number(state)));
        }
        Ok(())
    }

    fn take_error(&mut self, from: &mut Arrival<'_>, length: u64) -> io::Result<()> {
        if !(6..=LONGEST_ERROR).contains(&length) {
            return Err(garbage("an error of the wrong length"));
        }
        let mut payload = vec![0; length as usize];
        from.inbox.read_exact(from.transport, &mut payload)?;
        let errno = Errno(u32::from_be_bytes([payload[0], payload[1], payload[2], payload[3]]));
        let message = payload.get(6..6 + usize::from(u16::from_be_bytes([payload[4], payload[5]])));
        let message = message.ok_or_else(|| garbage("an error's message is longer than the error"))?;
        let error = errno.to_io();
        let words = words(message);
        let error =
            if words.is_empty() { error } else { io::Error::new(error.kind(), format!("{error}{words}")) };
        self.error.get_or_insert(error);
        Ok(())
    }

    /// Checks that everything requested has arrived.
    fn check_complete(&self, request: &Request) -> io::Result<()> {
        match request.kind {
            command::READ if !self.covered.is(request.length) => {
                Err(garbage("a reply ended before all of its data arrived"))
            }
            command::BLOCK_STATUS if self.extents.is_empty() => Err(garbage("a reply without extents")),
            _ => Ok(()),
        }
    }
}

/// Which bytes of a request have arrived: sorted, non-adjacent ranges.
#[derive(Debug, Default)]
struct Covered(Vec<Range<u64>>);

impl Covered {
    fn add(&mut self, range: Range<u64>) -> io::Result<()> {
        let next = self.0.partition_point(|known| known.end <= range.start);
        if self.0.get(next).is_some_and(|known| known.start < range.end) {
            return Err(garbage("the same bytes were sent twice"));
        }
        let touches_next = self.0.get(next).is_some_and(|known| known.start == range.end);
        match next.checked_sub(1).filter(|previous| self.0[*previous].end == range.start) {
            Some(previous) if touches_next => {
                self.0[previous].end = self.0[next].end;
                self.0.remove(next);
            }
            Some(previous) => self.0[previous].end = range.end,
            None if touches_next => self.0[next].start = range.start,
            None if self.0.len() >= MOST_PIECES => return Err(garbage("a reply has too many pieces")),
            None => self.0.insert(next, range),
        }
        Ok(())
    }

    /// Whether everything from 0 to `length` is covered.
    fn is(&self, length: u64) -> bool {
        matches!(self.0.as_slice(), [all] if *all == (0..length))
    }
}

/// The position of a chunk's bytes within the request.
fn within(request: &Request, offset: u64, length: u64) -> io::Result<Range<u64>> {
    let start = offset.checked_sub(request.offset);
    let place = start.and_then(|start| Some(start..start.checked_add(length)?));
    let place = place.filter(|place| !place.is_empty() && place.end <= request.length);
    place.ok_or_else(|| garbage("a chunk lies outside of its request"))
}

/// The maximum number of non-adjacent pieces of a read: servers send them in order, or a few at a
/// time.
const MOST_PIECES: usize = 1024;
/// Several small replies arrive with one system call; of a long one only little is copied.
const INBOX: usize = 16 << 10;
/// Error number, two lengths, message and offset.
const LONGEST_ERROR: u64 = 6 + 4096 + 8;
/// A million extents, which is nbdkit's own limit.
const LONGEST_STATUS: u64 = (16 << 20) + 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_and_never_overlap() {
        let mut covered = Covered::default();
        covered.add(10..20).unwrap();
        covered.add(0..5).unwrap();
        assert!(!covered.is(20));
        assert!(covered.add(4..6).is_err() && covered.add(19..30).is_err() && covered.add(5..11).is_err());
        covered.add(5..10).unwrap();
        assert!(covered.is(20) && !covered.is(21));
        covered.add(20..21).unwrap();
        assert!(covered.is(21));
        assert!(covered.add(0..21).is_err());
    }

    #[test]
    fn a_reply_in_crumbs_is_refused() {
        let mut covered = Covered::default();
        (0..MOST_PIECES as u64).for_each(|n| covered.add(2 * n..2 * n + 1).unwrap());
        let end = 2 * MOST_PIECES as u64;
        assert!(covered.add(end..end + 1).is_err());
        // A piece that joins others does not add to the count.
        (0..MOST_PIECES as u64).for_each(|n| covered.add(2 * n + 1..2 * n + 2).unwrap());
        assert!(covered.is(end));
    }

    #[test]
    fn chunks_lie_in_their_request() {
        let request = Request { flags: 0, kind: command::READ, cookie: 1, offset: 1000, length: 100 };
        assert_eq!(within(&request, 1000, 100).unwrap(), 0..100);
        assert_eq!(within(&request, 1099, 1).unwrap(), 99..100);
        for (offset, length) in [(999, 1), (1000, 101), (1100, 1), (1000, 0), (u64::MAX, 2), (1050, u64::MAX)]
        {
            assert!(within(&request, offset, length).is_err(), "{offset} {length}");
        }
    }
}
