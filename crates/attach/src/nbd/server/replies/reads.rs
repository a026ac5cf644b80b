//! The replies to reads: one message, several chunks, or, if headers are simple and the data is
//! long, one message sent piece by piece while nobody else can send.

use super::{Replies, SPACE};
use crate::nbd::protocol::transmission::{chunk, chunk_flags, command_flags};
use crate::nbd::protocol::{Errno, Headers, Reply, Request};
use keyway_volume::Storage;
use std::io;

impl Replies<'_> {
    /// Answers a read whose range lies within `storage`. Errors of the storage are reported to the
    /// client.
    ///
    /// # Errors
    /// If the connection broke, or has to be ended because the storage failed after success was
    /// promised.
    pub(in super::super) fn read(&mut self, request: &Request, storage: &dyn Storage) -> io::Result<()> {
        let whole = request.has(command_flags::DF) || self.headers == Headers::Simple;
        match request.length as usize {
            0 => self.done(request),
            len if len <= PIECE || (whole && len <= SPACE) => self.read_whole(request, len, storage)?,
            _ if self.headers == Headers::Simple => self.read_twice(request, storage)?,
            _ => self.read_chunks(request, storage)?,
        }
        Ok(())
    }

    fn read_whole(&mut self, request: &Request, len: usize, storage: &dyn Storage) -> io::Result<()> {
        match storage.read_at(self.room(len)?, request.offset) {
            Ok(()) if self.headers == Headers::Simple => self.simple_data(request, len),
            Ok(()) => self.data_chunk(request, request.offset, len, true),
            Err(e) => self.error(request, Errno::from(&e), &e.to_string()),
        }
        Ok(())
    }

    /// Sends one chunk after another: each is sent from the cache in which it was decrypted, and
    /// little memory is needed. Other replies may be sent in between.
    fn read_chunks(&mut self, request: &Request, storage: &dyn Storage) -> io::Result<()> {
        for (offset, len, last) in pieces(request) {
            match storage.read_at(self.room(len)?, offset) {
                Ok(()) => self.data_chunk(request, offset, len, last),
                Err(e) => {
                    self.error(request, Errno::from(&e), &e.to_string());
                    return Ok(());
                }
            }
            self.send()?;
        }
        Ok(())
    }

    /// A long simple reply: its header promises success, so all the data has to be read beforehand,
    /// and then read again because it must not be in memory all at once.
    fn read_twice(&mut self, request: &Request, storage: &dyn Storage) -> io::Result<()> {
        for (offset, len, _) in pieces(request) {
            if let Err(e) = storage.read_at(self.room(len)?, offset) {
                self.error(request, Errno::from(&e), &e.to_string());
                return Ok(());
            }
        }
        self.send()?;
        let mut head = Vec::new();
        Reply::Simple { cookie: request.cookie, error: None }.put(self.headers, &mut head);
        let mut rest = self.wire.begin(&head, request.length)?;
        for (offset, len, _) in pieces(request) {
            // A failure now ends the connection, as the protocol demands: the rest is never sent.
            let room = &mut self.space.bytes()[..len];
            storage.read_at(room, offset)?;
            rest.send(room)?;
        }
        Ok(())
    }

    /// Adds a simple reply with the `len` bytes in the room.
    fn simple_data(&mut self, request: &Request, len: usize) {
        let start = self.heads.len();
        Reply::Simple { cookie: request.cookie, error: None }.put(self.headers, &mut self.heads);
        self.add(start, len);
    }

    /// Adds a chunk with the `len` bytes in the room.
    fn data_chunk(&mut self, request: &Request, offset: u64, len: usize, last: bool) {
        let start = self.heads.len();
        let flags = if last { chunk_flags::DONE } else { 0 };
        self.put_chunk(request, flags, chunk::OFFSET_DATA, 8 + len as u64);
        self.heads.extend_from_slice(&offset.to_be_bytes());
        self.add(start, len);
    }
}

/// The offset and length of each piece of a read, and whether it is the last.
fn pieces(request: &Request) -> impl Iterator<Item = (u64, usize, bool)> + use<> {
    let (start, end) = (request.offset, request.offset + request.length);
    (start..end).step_by(PIECE).map(move |offset| {
        let len = (end - offset).min(PIECE as u64);
        (offset, len as usize, offset + len == end)
    })
}

/// Longer reads are answered in pieces of this size, which fits into a core's own cache.
const PIECE: usize = 256 << 10;
