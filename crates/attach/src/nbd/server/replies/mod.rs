//! What a client gets in the transmission phase: replies are gathered and sent
//! together, their data from where it was decrypted. Only complete replies, and
//! complete chunks of one, can be gathered; a simple reply that is too long for that
//! holds the [`Wire`] from its first byte to its last ([`reads`]).

mod reads;
mod space;

pub(super) use space::{SPACE, Spaces};

use super::wire::Wire;
use crate::nbd::protocol::transmission::{chunk, chunk_flags, command};
use crate::nbd::protocol::{Chunk, Errno, Headers, Reply, Request};
use space::Space;
use std::io::{self, IoSlice};
use std::ops::Range;

/// Replies that one thread has ready.
pub(super) struct Replies<'a> {
    headers: Headers,
    wire: &'a Wire,
    space: Space<'a>,
    /// All headers, one behind the other.
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

    /// Whether these are so many that they should be on their way.
    pub(super) fn is_full(&self) -> bool {
        self.parts.len() >= MOST_PARTS || self.used >= BATCH
    }

    /// Where a payload, or data, of at most [`MAX_PAYLOAD`](crate::nbd::protocol::MAX_PAYLOAD)
    /// bytes is prepared; what is gathered goes first if there is no room.
    ///
    /// # Errors
    /// The connection broke.
    pub(super) fn room(&mut self, len: usize) -> io::Result<&mut [u8]> {
        if self.used + len > self.space.len() {
            self.send()?;
            self.space.grow(len);
        }
        Ok(&mut self.space.bytes()[self.used..self.used + len])
    }

    /// Adds a reply that says no more than that it is done.
    pub(super) fn done(&mut self, request: &Request) {
        let start = self.heads.len();
        // A read gets no simple reply once chunks were agreed upon.
        if self.headers == Headers::Extended
            || (self.headers == Headers::Structured && request.kind == command::READ)
        {
            self.put_chunk(request, chunk_flags::DONE, chunk::NONE, 0);
        } else {
            Reply::Simple { cookie: request.cookie, error: None }.put(self.headers, &mut self.heads);
        }
        self.add(start, 0);
    }

    /// Adds a failure, which ends the reply.
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

    /// Adds the state of some blocks, which ends the reply.
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
                // (The request had 32 bits for its length, and no extent is longer.)
                self.heads.extend_from_slice(&(*length as u32).to_be_bytes());
                self.heads.extend_from_slice(&state.to_be_bytes());
            }
        }
        self.add(start, 0);
    }

    /// Sends what is gathered.
    ///
    /// # Errors
    /// The connection broke.
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
        // Sectors are read, and ciphers run, fastest at multiples of a cache line.
        self.used += len.next_multiple_of(CACHE_LINE);
    }
}

/// So much data is on its way before more is read.
const BATCH: usize = 64 << 10;

/// So many replies are sent at once.
const MOST_PARTS: usize = 32;

/// The longest message with an error, in bytes.
const MOST_MESSAGE: usize = 512;

const CACHE_LINE: usize = 64;
