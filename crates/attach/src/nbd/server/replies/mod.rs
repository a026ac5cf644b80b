//! Replies in the transmission phase: they are gathered and sent together, their data directly from
//! the buffer in which it was decrypted. Only complete replies, and complete chunks, can be
//! gathered; a simple reply that is too long for that holds the [`Wire`] from its first byte to its
//! last ([`reads`]).

mod reads;
mod space;

pub(super) use space::{SPACE, Spaces};

use super::wire::Wire;
use crate::nbd::protocol::transmission::{chunk, chunk_flags, command};
use crate::nbd::protocol::{Chunk, Errno, Headers, Reply, Request};
use space::Space;
use std::io::{self, IoSlice};
use std::ops::Range;

/// The replies that one thread has ready.
pub(super) struct Replies<'a> {
    headers: Headers,
    wire: &'a Wire,
    space: Space<'a>,
    /// All headers, one after the other.
    heads: Vec<u8>,
    parts: Vec<Part>,
    /// How much of the space holds data.
    used: usize,
}

/// Header bytes, and the data that follows them.
struct Part {
    heads: Range<usize>,
    data: Range<usize>,
}

impl<'a> Replies<'a> {
    pub(super) fn new(headers: Headers, wire: &'a Wire, spaces: &'a Spaces) -> Self {
        let space = spaces.take();
        Self { headers, wire, space, heads: Vec::new(), parts: Vec::new(), used: 0 }
    }

    /// Whether enough has been gathered to be sent.
    pub(super) fn is_full(&self) -> bool {
        self.parts.len() >= MOST_PARTS || self.used >= BATCH
    }

    /// The buffer in which a payload, or data, of at most
    /// [`MAX_PAYLOAD`](crate::nbd::protocol::MAX_PAYLOAD) bytes is prepared; if there is no room,
    /// the gathered replies are sent first.
    ///
    /// # Errors
    /// If the connection broke.
    pub(super) fn room(&mut self, len: usize) -> io::Result<&mut [u8]> {
        if self.used + len > self.space.len() {
            self.send()?;
            self.space.grow(len);
        }
        Ok(&mut self.space.bytes()[self.used..self.used + len])
    }

    /// Adds a reply that reports success and nothing else.
    pub(super) fn done(&mut self, request: &Request) {
        let start = self.heads.len();
        // A read gets no simple reply if chunks were negotiated.
        if self.headers == Headers::Extended
            || (self.headers == Headers::Structured && request.kind == command::READ)
        {
            self.put_chunk(request, chunk_flags::DONE, chunk::NONE, 0);
        } else {
            Reply::Simple { cookie: request.cookie, error: None }.put(self.headers, &mut self.heads);
        }
        self.add(start, 0);
    }

    /// Adds an error, which ends the reply.
    pub(super) fn error(&mut self, request: &Request, errno: Errno, message: &str) {
        let start = self.heads.len();
        if self.headers == Headers::Simple {
            Reply::Simple { cookie: request.cookie, error: Some(errno) }.put(self.headers, &mut self.heads);
        } else {
            let message = &message.as_bytes()[..message.len().min(MOST_MESSAGE)];
            self.put_chunk(request, chunk_flags::DONE, chunk::ERROR, 6 + message.len() as u64);
            self.heads.extend_from_slice(&errno.0.to_be_bytes());
            self.heads.extend_from_slice(&(message.len() as u16).to_be_bytes());
            self.heads.extend_from_slice(message);
        }
        self.add(start, 0);
    }

    /// Adds the states of some blocks, which ends the reply.
    pub(super) fn block_status(&mut self, request: &Request, context: u32, extents: &[(u64, u32)]) {
        let start = self.heads.len();
        let count = extents.len() as u64;
        if self.headers == Headers::Extended {
            self.put_chunk(request, chunk_flags::DONE, chunk::BLOCK_STATUS_EXT, 8 + 16 * count);
            self.heads.extend_from_slice(&context.to_be_bytes());
            self.heads.extend_from_slice(&(count as u32).to_be_bytes());
            for (length, state) in extents {
                self.heads.extend_from_slice(&length.to_be_bytes());
                self.heads.extend_from_slice(&u64::from(*state).to_be_bytes());
            }
        } else {
            self.put_chunk(request, chunk_flags::DONE, chunk::BLOCK_STATUS, 4 + 8 * count);
            self.heads.extend_from_slice(&context.to_be_bytes());
            for (length, state) in extents {
                // (The request had a 32-bit length, and no extent is longer.)
                self.heads.extend_from_slice(&(*length as u32).to_be_bytes());
                self.heads.extend_from_slice(&state.to_be_bytes());
            }
        }
        self.add(start, 0);
    }

    /// Sends the gathered replies.
    ///
    /// # Errors
    /// If the connection broke.
    pub(super) fn send(&mut self) -> io::Result<()> {
        if self.parts.is_empty() {
            return Ok(());
        }
        let bytes = self.space.bytes();
        let mut slices = [IoSlice::new(&[]); 2 * (MOST_PARTS + 1)];
        let mut count = 0;
        for part in &self.parts {
            for slice in [&self.heads[part.heads.clone()], &bytes[part.data.clone()]] {
                if !slice.is_empty() {
                    slices[count] = IoSlice::new(slice);
                    count += 1;
                }
            }
        }
        let sent = self.wire.send(&mut slices[..count]);
        self.heads.clear();
        self.parts.clear();
        self.used = 0;
        sent
    }

    fn put_chunk(&mut self, request: &Request, flags: u16, kind: u16, length: u64) {
        let chunk = Chunk { flags, kind, cookie: request.cookie, offset: request.offset, length };
        chunk.put(self.headers, &mut self.heads);
    }

    fn add(&mut self, heads_start: usize, len: usize) {
        let heads = heads_start..self.heads.len();
        self.parts.push(Part { heads, data: self.used..self.used + len });
        // Reading sectors and running ciphers is fastest at multiples of a cache line.
        self.used += len.next_multiple_of(CACHE_LINE);
    }
}

/// How much data is gathered before it is sent.
const BATCH: usize = 64 << 10;

/// How many replies are sent at once.
const MOST_PARTS: usize = 32;

/// The maximum length of an error message, in bytes.
const MOST_MESSAGE: usize = 512;

const CACHE_LINE: usize = 64;
