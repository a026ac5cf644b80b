//! An NBD client: an export of any NBD server as a [`Storage`].
//!
//! NetworkBlockDevice/nbd, doc/proto.md. Many threads can issue requests at the same time, over one
//! connection or several ([`Options::connections`], if the server promises that they see each
//! other's writes).
//!
//! **Blocks.** Requests are multiples of the server's smallest block, and no longer than its
//! longest. A write of less than a block is a read-modify-write cycle with exclusive access to the
//! export.
//!
//! **A lost connection** is re-established for up to [`Options::reconnect`]. Reads are repeated. A
//! write that was not acknowledged fails and is not sent again: it is unknown whether the server
//! has executed it, and if the server does so late, it overwrites later writes. Another volume
//! behind the same address is refused ([`identity`]). If there were writes that had not been
//! flushed, every later write and flush fails, too: a restarted server has lost those writes, and
//! would report a flush of nothing as a success.
//!
//! **A slow server** is waited for as described in [`timeouts`]. A request to a server that fell
//! silent is repeated once, over a new connection.
//!
//! **Nothing that a server says is trusted** before it has been checked against the request
//! ([`reply`]). A server that violates the protocol is treated as if its connection were lost.

mod connection;
mod dial;
mod handshake;
mod holes;
mod identity;
mod journal;
mod pool;
mod reply;
mod timeouts;
mod transport;

use super::protocol::Request;
use super::protocol::handshake::export;
use super::protocol::transmission::{command, command_flags};
use super::uri::{Address, Uri};
use crate::{Error, Refusal, Result, tls};
use handshake::Agreed;
use holes::Next;
use keyway_volume::Storage;
use pool::Pool;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
pub use timeouts::Tell;

/// A client's time limits and other settings.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The maximum number of simultaneous connections.
    pub connections: usize,
    /// The time limit for resolving the host name, connecting and the handshake together.
    pub handshake: Duration,
    /// How long the server may send nothing, or next to nothing, while requests are pending.
    pub timeout: Duration,
    /// The same, if it is longer, while changes or a flush are pending: these may be a lot of work,
    /// and cannot be repeated.
    pub changes: Duration,
    /// How long to try to re-establish a lost connection.
    pub reconnect: Duration,
    /// Whether a Unix socket must belong to a listener running as this user or root.
    pub own_user_only: bool,
    /// Whether a new connection has to lead to the same volume. A few reads at the start record
    /// which one it is.
    pub recognise: bool,
    /// Called when the client is waiting for a server.
    pub tell: Tell,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections: 4,
            handshake: Duration::from_secs(15),
            timeout: Duration::from_secs(120),
            changes: Duration::from_secs(120),
            reconnect: Duration::from_secs(10),
            own_user_only: false,
            recognise: true,
            tell: |_, _, _| (),
        }
    }
}

/// An export on a server. Clones share their connections.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    read_only: bool,
}

struct Shared {
    pool: Pool,
    /// Whether the server may be on another machine.
    distant: bool,
    /// Shared by writers of whole blocks; a read-modify-write cycle holds it exclusively.
    blocks: RwLock<()>,
}

impl Client {
    /// Connects to the export that `uri` names, which the errors do not: the caller knows it.
    ///
    /// [`Error::NotFound`] if there is no such host, socket or export, [`Error::Permission`] when
    /// the server requires TLS or refuses, [`Error::Refused`] when the server violates the
    /// protocol, [`Error::Connect`] for other failures, and the errors of [`tls::Client`].
    pub fn connect(uri: &Uri, options: Options) -> Result<Self> {
        let name = uri.tls_hostname.as_deref().or(match &uri.address {
            Address::Tcp { host, .. } => Some(host.as_str()),
            Address::Unix(_) => None,
        });
        let directory = uri.tls_certificates.as_deref();
        let encryption = || tls::Client::from_directory(directory, name, uri.tls_verify_peer);
        let tls = uri.tls.then(encryption).transpose()?;
        let pool = Pool::connect(uri, tls, options).map_err(explain)?;
        let read_only = pool.agreed().has(export::READ_ONLY);
        let distant = matches!(uri.address, Address::Tcp { .. });
        Ok(Self { shared: Arc::new(Shared { pool, distant, blocks: RwLock::new(()) }), read_only })
    }

    /// The same export, but refusing writes.
    pub fn read_only(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), read_only: true }
    }

    fn agreed(&self) -> &Agreed {
        self.shared.pool.agreed()
    }

    /// Sends a request without payload and waits for its answer.
    fn ask(&self, kind: u16, flags: u16, range: Range<u64>) -> io::Result<reply::Reply> {
        self.shared.pool.ask(request(kind, flags, &range), &[], &mut [])
    }

    /// Reads whole blocks.
    fn read_blocks(&self, buf: &mut [u8], mut offset: u64) -> io::Result<()> {
        for piece in buf.chunks_mut(self.agreed().longest as usize) {
            let range = offset..offset + piece.len() as u64;
            offset = range.end;
            self.shared.pool.ask(request(command::READ, 0, &range), &[], piece)?;
        }
        Ok(())
    }

    /// Writes whole blocks.
    fn write_blocks(&self, buf: &[u8], mut offset: u64) -> io::Result<()> {
        for piece in buf.chunks(self.agreed().longest as usize) {
            let range = offset..offset + piece.len() as u64;
            offset = range.end;
            self.shared.pool.ask(request(command::WRITE, 0, &range), piece, &mut [])?;
        }
        Ok(())
    }

    /// Changes a part of the blocks around `range`, to which the caller has exclusive access.
    fn merge(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let around = self.around(offset..offset + buf.len() as u64);
        let mut blocks = vec![0; (around.end - around.start) as usize];
        self.read_blocks(&mut blocks, around.start)?;
        let within = (offset - around.start) as usize;
        blocks[within..within + buf.len()].copy_from_slice(buf);
        self.write_blocks(&blocks, around.start)
    }

    /// The smallest range of whole blocks that contains `range`.
    fn around(&self, range: Range<u64>) -> Range<u64> {
        let block = self.agreed().block;
        range.start - range.start % block..range.end.next_multiple_of(block)
    }

    /// The whole blocks within `range`; empty when there are none.
    fn inside(&self, range: &Range<u64>) -> Range<u64> {
        let block = self.agreed().block;
        let (start, end) = (range.start.next_multiple_of(block), range.end - range.end % block);
        start..end.max(start)
    }

    fn check_range(&self, len: usize, offset: u64, kind: ErrorKind) -> io::Result<()> {
        match offset.checked_add(len as u64) {
            Some(end) if end <= self.len() => Ok(()),
            _ => {
                let text =
                    format!("the export ends at byte {}, {len} bytes at {offset} were requested", self.len());
                Err(io::Error::new(kind, text))
            }
        }
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.read_only { Err(ErrorKind::ReadOnlyFilesystem.into()) } else { Ok(()) }
    }

    /// Sends a request for whole blocks in pieces of bounded length.
    fn ask_in_pieces(&self, kind: u16, flags: u16, range: Range<u64>) -> io::Result<()> {
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min(at + LONGEST_RANGE);
            self.ask(kind, flags, at..end)?;
            at = end;
        }
        Ok(())
    }

    fn write_zero_blocks(&self, range: Range<u64>, may_discard: bool) -> io::Result<()> {
        let flags = if may_discard { 0 } else { command_flags::NO_HOLE };
        if self.agreed().has(export::SEND_WRITE_ZEROES) {
            match self.ask_in_pieces(command::WRITE_ZEROES, flags, range.clone()) {
                Err(error) if error.kind() == ErrorKind::Unsupported => {}
                done => return done,
            }
        }
        let zeros = vec![0; (range.end - range.start).min(ZEROS) as usize];
        let mut at = range.start;
        while at < range.end {
            let len = (range.end - at).min(ZEROS);
            self.write_blocks(&zeros[..len as usize], at)?;
            at += len;
        }
        Ok(())
    }
}

impl Storage for Client {
    fn len(&self) -> u64 {
        self.agreed().size
    }

    fn can_flush(&self) -> bool {
        self.agreed().has(export::SEND_FLUSH)
    }

    fn is_distant(&self) -> bool {
        self.shared.distant
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.check_range(buf.len(), offset, ErrorKind::UnexpectedEof)?;
        let range = offset..offset + buf.len() as u64;
        if self.around(range.clone()) == range {
            return self.read_blocks(buf, offset);
        }
        let inside = self.inside(&range);
        if inside.is_empty() {
            return self.read_part(buf, offset);
        }
        let (head, rest) = buf.split_at_mut((inside.start - range.start) as usize);
        let (body, tail) = rest.split_at_mut((inside.end - inside.start) as usize);
        self.read_part(head, range.start)?;
        self.read_blocks(body, inside.start)?;
        self.read_part(tail, inside.end)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.check_writable()?;
        self.check_range(buf.len(), offset, ErrorKind::StorageFull)?;
        if buf.is_empty() {
            return Ok(());
        }
        let range = offset..offset + buf.len() as u64;
        if self.around(range.clone()) == range {
            let _with_others = self.shared.blocks.read().unwrap_or_else(PoisonError::into_inner);
            return self.write_blocks(buf, offset);
        }
        let _alone = self.shared.blocks.write().unwrap_or_else(PoisonError::into_inner);
        self.merge(buf, offset)
    }

    fn flush(&self) -> io::Result<()> {
        if self.read_only || !self.agreed().has(export::SEND_FLUSH) {
            return Ok(());
        }
        self.ask(command::FLUSH, 0, 0..0).map(drop)
    }

    /// Discards the whole blocks in the range, if the server supports it.
    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.check_writable()?;
        let inside = self.inside(&(range.start..range.end.min(self.len())));
        if inside.is_empty() || !self.agreed().has(export::SEND_TRIM) {
            return Ok(());
        }
        let _with_others = self.shared.blocks.read().unwrap_or_else(PoisonError::into_inner);
        match self.ask_in_pieces(command::TRIM, 0, inside) {
            Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
            done => done,
        }
    }

    fn write_zeroes(&self, range: Range<u64>, may_discard: bool) -> io::Result<()> {
        self.check_writable()?;
        let len = usize::try_from(range.end - range.start).map_err(|_| ErrorKind::StorageFull)?;
        self.check_range(len, range.start, ErrorKind::StorageFull)?;
        let inside = self.inside(&range);
        if inside.is_empty() {
            return self.write_at(&vec![0; len], range.start);
        }
        self.write_at(&vec![0; (inside.start - range.start) as usize], range.start)?;
        {
            let _with_others = self.shared.blocks.read().unwrap_or_else(PoisonError::into_inner);
            self.write_zero_blocks(inside.clone(), may_discard)?;
        }
        self.write_at(&vec![0; (range.end - inside.end) as usize], inside.end)
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Uses block status: a hole is what the server does not store and reads as zeros.
    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        if self.agreed().allocation.is_none() {
            return Ok((offset < self.len()).then(|| offset..self.len()));
        }
        self.next_data_within(offset, MOST_ANSWERS)
    }

    fn unit(&self) -> u64 {
        self.agreed().block
    }
}

impl Client {
    /// The next data, of which the server may say so in this many answers at most.
    fn next_data_within(&self, offset: u64, most: u32) -> io::Result<Option<Range<u64>>> {
        let mut at = offset;
        for _ in 0..most {
            if at >= self.len() {
                return Ok(None);
            }
            let asked = self.around(at..self.len().min(at + LONGEST_RANGE));
            let reply = self.ask(command::BLOCK_STATUS, 0, asked.clone())?;
            match holes::next(&reply.extents, &asked, at) {
                Next::Data(data) => return Ok(Some(data)),
                Next::Hole { end } => at = end,
            }
        }
        let text = format!(
            "the server needed {most} answers to describe bytes {offset} to {at} of {} as holes, and is not \
             asked further; work on a part of the export, or do not ask for its holes",
            self.len()
        );
        Err(io::Error::new(ErrorKind::TimedOut, text))
    }

    /// Reads a part of one or two blocks.
    fn read_part(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let around = self.around(offset..offset + buf.len() as u64);
        let mut blocks = vec![0; (around.end - around.start) as usize];
        self.read_blocks(&mut blocks, around.start)?;
        let within = (offset - around.start) as usize;
        buf.copy_from_slice(&blocks[within..within + buf.len()]);
        Ok(())
    }
}

fn request(kind: u16, flags: u16, range: &Range<u64>) -> Request {
    Request { flags, kind, cookie: 0, offset: range.start, length: range.end - range.start }
}

/// Translates a failure to connect into an [`Error`].
fn explain(error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::NotFound(error.to_string()),
        ErrorKind::PermissionDenied => Error::Permission(error.to_string()),
        ErrorKind::InvalidData | ErrorKind::Unsupported => Refusal::Server.because(error.to_string()),
        _ => Error::Connect(error),
    }
}

/// A longer TRIM, WRITE_ZEROES or BLOCK_STATUS is split into several requests: each has to end
/// before the timeout, and compact headers have 32-bit lengths.
const LONGEST_RANGE: u64 = 1 << 30;
/// How many answers without data are taken one after the other: holes of a pebibyte, two minutes of
/// a fast server.
const MOST_ANSWERS: u32 = 1 << 20;
/// How many zeros are sent at once where the server cannot write them itself.
const ZEROS: u64 = 1 << 20;

#[cfg(test)]
mod tests;
