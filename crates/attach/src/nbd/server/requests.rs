//! A client's messages in the transmission phase, received through a buffer: one receive fetches
//! many small requests, whose payloads are processed in the buffer; large payloads are received
//! directly into the buffer in which they are processed.

use super::deadline::Limits;
use super::polling::{Eagerness, Polling};
use super::transport::Incoming;
use crate::nbd::protocol::{Headers, Request};
use std::io::{self, IoSliceMut};

/// The receiving side of a connection.
pub(super) struct Requests<'a> {
    incoming: Incoming,
    polling: &'a Polling,
    eagerness: Eagerness,
    limits: Limits,
    headers: Headers,
    buffer: Box<[u8]>,
    /// The received but not yet consumed bytes: `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Set while large payloads arrive: anything received too early has to be copied.
    cautious: bool,
}

impl<'a> Requests<'a> {
    pub(super) fn new(incoming: Incoming, headers: Headers, polling: &'a Polling, limits: Limits) -> Self {
        let buffer = vec![0; BUFFER].into();
        let eagerness = Eagerness::default();
        Self { incoming, polling, eagerness, limits, headers, buffer, start: 0, end: 0, cautious: false }
    }

    /// Waits for the next request; `None` when the client has disconnected.
    ///
    /// # Errors
    /// If the connection broke within a request, or the data is not a request.
    pub(super) fn next(&mut self) -> io::Result<Option<Request>> {
        let size = self.headers.request_size();
        if self.received().len() < size {
            self.limits.await_request();
        }
        while self.received().len() < size {
            let most = if self.cautious { size } else { BUFFER };
            if !self.receive(size, most)? {
                let nothing = self.received().is_empty();
                return if nothing { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
        }
        let request = Request::parse(self.headers, self.received());
        self.start += size;
        request.map(Some).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "this is not a request"))
    }

    /// Whether the next request, with its payload, has been received already.
    pub(super) fn is_next_here(&self) -> bool {
        let received = self.received();
        Request::parse(self.headers, received).is_some_and(|request| {
            let size = self.headers.request_size() as u64;
            request.payload(self.headers).saturating_add(size) <= received.len() as u64
        })
    }

    /// Whether the client has sent more than was consumed so far.
    pub(super) fn has_more(&self) -> bool {
        self.start < self.end || self.incoming.has_more()
    }

    /// A small payload, in the buffer; the caller may overwrite it.
    ///
    /// # Errors
    /// If the connection broke.
    pub(super) fn small_payload(&mut self, len: usize) -> io::Result<&mut [u8]> {
        debug_assert!(len <= SMALL);
        if self.received().len() < len {
            self.limits.await_payload(len);
        }
        while self.received().len() < len {
            if !self.receive(len, BUFFER)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.cautious = false;
        let payload = self.start..self.start + len;
        self.start = payload.end;
        Ok(&mut self.buffer[payload])
    }

    /// Fills `payload`; the header of the next request may be received along with it.
    ///
    /// # Errors
    /// If the connection broke.
    pub(super) fn large_payload(&mut self, payload: &mut [u8]) -> io::Result<()> {
        let here = self.received().len().min(payload.len());
        payload[..here].copy_from_slice(&self.received()[..here]);
        self.start += here;
        let mut rest = &mut payload[here..];
        if rest.is_empty() {
            return Ok(());
        }
        self.cautious = true;
        self.limits.await_payload(rest.len());
        (self.start, self.end) = (0, 0);
        while !rest.is_empty() {
            let next = &mut self.buffer[..self.headers.request_size()];
            let received = self.incoming.receive(&mut [IoSliceMut::new(rest), IoSliceMut::new(next)])?;
            if received == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let taken = received.min(rest.len());
            self.end = received - taken;
            rest = &mut rest[taken..];
        }
        Ok(())
    }

    /// Discards a payload.
    ///
    /// # Errors
    /// If the connection broke.
    pub(super) fn skip_payload(&mut self, len: u64) -> io::Result<()> {
        let mut left = len;
        while left > 0 {
            let now = left.min(SMALL as u64) as usize;
            self.small_payload(now)?;
            left -= now as u64;
        }
        Ok(())
    }

    fn received(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Receives at most `most` more bytes, making room for `wanted` contiguous bytes; `false` at
    /// the end.
    fn receive(&mut self, wanted: usize, most: usize) -> io::Result<bool> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start + wanted > BUFFER {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let space = self.end..BUFFER.min(self.end.saturating_add(most));
        let space = &mut [IoSliceMut::new(&mut self.buffer[space])];
        let received = self.incoming.receive_soon(space, &mut self.eagerness, self.polling)?;
        self.end += received;
        Ok(received > 0)
    }
}

/// The maximum length of a payload that is processed in the buffer, in bytes.
pub(super) const SMALL: usize = 32 << 10;

/// Room for a few dozen requests with payloads of a page, in bytes.
const BUFFER: usize = 256 << 10;
