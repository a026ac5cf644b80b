//! "Request types": the effect of each request on the storage, and its reply.

use super::connection::Connection;
use super::handshake::ALLOCATION_CONTEXT;
use super::replies::{Replies, SPACE};
use crate::nbd::protocol::transmission::{command, command_flags, state};
use crate::nbd::protocol::{Errno, Headers, MAX_PAYLOAD, Request};
use std::io;
use std::sync::atomic::Ordering;

impl Connection<'_> {
    /// Answers a request. Errors of the storage are reported to the client; an error returned here
    /// ends the connection.
    pub(super) fn perform(
        &self,
        request: &Request,
        payload: &mut [u8],
        replies: &mut Replies<'_>,
    ) -> io::Result<()> {
        if let Some((errno, message)) = self.refusal(request) {
            replies.error(request, errno, message);
            return Ok(());
        }
        let done = match request.kind {
            command::READ => return replies.read(request, &*self.export.storage),
            command::BLOCK_STATUS => self.block_status(request).map(Some),
            _ => self.change(request, payload).map(|()| None),
        };
        match done {
            Ok(Some(extents)) => replies.block_status(request, ALLOCATION_CONTEXT, &extents),
            Ok(None) => replies.done(request),
            Err(e) => replies.error(request, Errno::from(&e), &e.to_string()),
        }
        Ok(())
    }

    /// As [`Connection::perform`], with the payload in the room of `replies`.
    pub(super) fn perform_in_room(
        &self,
        request: &Request,
        payload: usize,
        replies: &mut Replies<'_>,
    ) -> io::Result<()> {
        match self.change(request, replies.room(payload)?) {
            Ok(()) => replies.done(request),
            Err(e) => replies.error(request, Errno::from(&e), &e.to_string()),
        }
        Ok(())
    }

    /// Why a request is rejected without being tried.
    pub(super) fn refusal(&self, request: &Request) -> Option<(Errno, &'static str)> {
        if self.stopping.load(Ordering::Relaxed) {
            return Some((Errno::SHUTDOWN, "the server is shutting down"));
        }
        let writes = matches!(request.kind, command::WRITE | command::TRIM | command::WRITE_ZEROES);
        if request.flags & !allowed_flags(request.kind, self.headers) != 0 {
            return Some((Errno::INVAL, "this command does not take that flag"));
        }
        if writes && (self.export.rights.read_only || self.export.storage.is_read_only()) {
            return Some((Errno::PERM, "the export is read-only"));
        }
        let end = request.offset.checked_add(request.length);
        let inside = end.is_some_and(|end| end <= self.export.storage.len());
        match request.kind {
            command::FLUSH => None,
            command::WRITE | command::WRITE_ZEROES if !inside => {
                Some((Errno::NOSPC, "the export ends before"))
            }
            command::READ | command::TRIM | command::CACHE | command::BLOCK_STATUS if !inside => {
                Some((Errno::INVAL, "the export ends before"))
            }
            command::WRITE_ZEROES if request.has(command_flags::FAST_ZERO) => {
                Some((Errno::NOTSUP, "zeros are encrypted and written like other data"))
            }
            command::READ => self.refused_read(request),
            command::BLOCK_STATUS if !self.allocation => {
                Some((Errno::INVAL, "no metadata context has been negotiated"))
            }
            command::BLOCK_STATUS if request.length == 0 => {
                Some((Errno::INVAL, "a block status of zero bytes"))
            }
            command::WRITE
            | command::WRITE_ZEROES
            | command::TRIM
            | command::CACHE
            | command::BLOCK_STATUS => None,
            _ => Some((Errno::INVAL, "unknown command")),
        }
    }

    fn refused_read(&self, request: &Request) -> Option<(Errno, &'static str)> {
        let most = if request.has(command_flags::DF) { SPACE as u64 } else { MAX_PAYLOAD };
        (request.length > most).then_some((Errno::OVERFLOW, "more than fits into one reply"))
    }

    /// Requests that change the storage, or its caches.
    fn change(&self, request: &Request, payload: &mut [u8]) -> io::Result<()> {
        let storage = &self.export.storage;
        let range = request.offset..request.offset.saturating_add(request.length);
        match request.kind {
            command::WRITE => storage.write_from(payload, request.offset)?,
            command::WRITE_ZEROES if !range.is_empty() => {
                storage.write_zeroes(
                    range,
                    !request.has(command_flags::NO_HOLE) && self.export.rights.discards,
                )?;
            }
            command::TRIM if self.export.rights.discards => storage.discard(range)?,
            command::FLUSH => return storage.flush(),
            // CACHE does nothing: the data is fetched when it is read.
            _ => return Ok(()),
        }
        if request.has(command_flags::FUA) { storage.flush() } else { Ok(()) }
    }

    /// The lengths and states of the extents in the request's range, from its start on. A hole was
    /// never written; on an encrypted volume it reads as noise, not as zeros.
    fn block_status(&self, request: &Request) -> io::Result<Vec<(u64, u32)>> {
        let most = if request.has(command_flags::REQ_ONE) { 1 } else { MOST_EXTENTS };
        let end = request.offset + request.length;
        let mut extents = Vec::new();
        let mut at = request.offset;
        while at < end && extents.len() < most {
            let data = self.export.storage.next_data(at)?.unwrap_or(end..end);
            if data.start > at {
                let hole_end = data.start.min(end);
                extents.push((hole_end - at, state::HOLE));
                at = hole_end;
            } else {
                // Guards against an empty extent, which would make this loop forever.
                let data_end = if data.end > at { data.end.min(end) } else { end };
                extents.push((data_end - at, 0));
                at = data_end;
            }
        }
        Ok(extents)
    }
}

fn allowed_flags(kind: u16, headers: Headers) -> u16 {
    let extended = headers == Headers::Extended;
    command_flags::FUA
        | match kind {
            command::READ if headers >= Headers::Structured => command_flags::DF,
            command::WRITE if extended => command_flags::PAYLOAD_LEN,
            command::WRITE_ZEROES => command_flags::NO_HOLE | command_flags::FAST_ZERO,
            command::BLOCK_STATUS => command_flags::REQ_ONE,
            _ => 0,
        }
}

/// The maximum number of extents in one answer; clients ask for the rest.
const MOST_EXTENTS: usize = 1024;
