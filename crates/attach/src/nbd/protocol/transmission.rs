//! The transmission phase: clients' requests and servers' replies.
//!
//! ```text
//! request           magic:32 flags:16 type:16 cookie:64 offset:64 length:32            [payload of a write]
//! extended request  magic:32 flags:16 type:16 cookie:64 offset:64 length:64            [payload]
//! simple reply      magic:32 error:32 cookie:64                                        [data of a read]
//! structured chunk  magic:32 flags:16 type:16 cookie:64           length:32            payload
//! extended chunk    magic:32 flags:16 type:16 cookie:64 offset:64 length:64            payload
//! ```

use super::{Errno, take_u16, take_u32, take_u64};

/// Begins a request.
pub(crate) const REQUEST_MAGIC: u32 = 0x2560_9513;
/// Begins a request if extended headers were negotiated.
pub(crate) const EXTENDED_REQUEST_MAGIC: u32 = 0x21e4_1c71;
/// Begins a simple reply.
pub(crate) const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// Begins a chunk of a structured reply.
pub(crate) const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;
/// Begins a chunk of a reply if extended headers were negotiated.
pub(crate) const EXTENDED_REPLY_MAGIC: u32 = 0x6e8a_278c;

/// "Request types".
pub mod command {
    /// Reads bytes.
    pub const READ: u16 = 0;
    /// Writes bytes.
    pub const WRITE: u16 = 1;
    /// Disconnects; there is no reply.
    pub const DISC: u16 = 2;
    /// Brings previous writes to stable storage.
    pub const FLUSH: u16 = 3;
    /// Discards bytes that are no longer needed.
    pub const TRIM: u16 = 4;
    /// Prefetches bytes that will be needed soon.
    pub const CACHE: u16 = 5;
    /// Fills a range with zeros.
    pub const WRITE_ZEROES: u16 = 6;
    /// Asks which bytes are allocated.
    pub const BLOCK_STATUS: u16 = 7;
    /// Changes the size of the export.
    pub const RESIZE: u16 = 8;
}

/// "Command flags".
pub mod command_flags {
    /// The reply is sent only once the data is on stable storage.
    pub const FUA: u16 = 1 << 0;
    /// WRITE_ZEROES: keep the zeros allocated.
    pub const NO_HOLE: u16 = 1 << 1;
    /// READ: reply in one chunk.
    pub const DF: u16 = 1 << 2;
    /// BLOCK_STATUS: reply with one extent.
    pub const REQ_ONE: u16 = 1 << 3;
    /// WRITE_ZEROES: only if that is faster than writing them.
    pub const FAST_ZERO: u16 = 1 << 4;
    /// The length is the length of a payload.
    pub const PAYLOAD_LEN: u16 = 1 << 5;
}

/// "Structured reply flags".
pub mod chunk_flags {
    /// The last chunk of this reply.
    pub const DONE: u16 = 1 << 0;
}

/// "Structured reply types"; errors have the highest bit set.
pub mod chunk {
    /// No further content.
    pub const NONE: u16 = 0;
    /// Offset:64, data.
    pub const OFFSET_DATA: u16 = 1;
    /// Offset:64, length:32 of zeros.
    pub(crate) const OFFSET_HOLE: u16 = 2;
    /// Context:32, then length:32 and state:32 for each extent.
    pub const BLOCK_STATUS: u16 = 5;
    /// Context:32, number of extents:32, then length:64 and state:64 for each extent.
    pub const BLOCK_STATUS_EXT: u16 = 6;

    /// Set in all of the following.
    pub(crate) const ERROR_BIT: u16 = 1 << 15;
    /// Error:32, length of the message:16, message.
    pub const ERROR: u16 = ERROR_BIT | 1;
}

/// States of an extent in the context "base:allocation".
pub mod state {
    /// Not allocated.
    pub(crate) const HOLE: u32 = 1 << 0;
    /// Reads as zeros.
    pub const ZERO: u32 = 1 << 1;
}

/// The header format of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Headers {
    /// Simple replies only.
    Simple,
    /// Structured replies.
    Structured,
    /// Extended requests and replies.
    Extended,
}

impl Headers {
    /// The length of a request without its payload, in bytes.
    pub(crate) const fn request_size(self) -> usize {
        match self {
            Self::Simple | Self::Structured => 28,
            Self::Extended => 32,
        }
    }

    /// The length of a chunk without its payload, in bytes.
    pub(crate) const fn chunk_size(self) -> usize {
        match self {
            Self::Simple | Self::Structured => 20,
            Self::Extended => 32,
        }
    }
}

/// The length of a simple reply without data, in bytes.
pub(crate) const SIMPLE_REPLY_SIZE: usize = 16;

/// The length of the longest header, in bytes.
pub const MAX_HEADER: usize = 32;

/// A request, without its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Flags from [`command_flags`].
    pub flags: u16,
    /// One of [`command`].
    pub kind: u16,
    /// Chosen by the client to identify the request.
    pub cookie: u64,
    /// The offset of the first byte.
    pub offset: u64,
    /// The length of the range in bytes.
    pub length: u64,
}

impl Request {
    /// Parses the header at the start of `bytes`; `None` when there are too few bytes or the magic
    /// number is wrong.
    pub fn parse(headers: Headers, mut bytes: &[u8]) -> Option<Self> {
        let bytes = &mut bytes;
        let extended = headers == Headers::Extended;
        let magic = if extended { EXTENDED_REQUEST_MAGIC } else { REQUEST_MAGIC };
        take_u32(bytes).filter(|m| *m == magic)?;
        Some(Self {
            flags: take_u16(bytes)?,
            kind: take_u16(bytes)?,
            cookie: take_u64(bytes)?,
            offset: take_u64(bytes)?,
            length: if extended { take_u64(bytes)? } else { take_u32(bytes)?.into() },
        })
    }

    /// Appends the header. A compact header has 32 bits for the length.
    pub fn put(&self, headers: Headers, out: &mut Vec<u8>) {
        let extended = headers == Headers::Extended;
        let magic = if extended { EXTENDED_REQUEST_MAGIC } else { REQUEST_MAGIC };
        out.extend_from_slice(&magic.to_be_bytes());
        out.extend_from_slice(&self.flags.to_be_bytes());
        out.extend_from_slice(&self.kind.to_be_bytes());
        out.extend_from_slice(&self.cookie.to_be_bytes());
        out.extend_from_slice(&self.offset.to_be_bytes());
        if extended {
            out.extend_from_slice(&self.length.to_be_bytes());
        } else {
            debug_assert!(self.length <= u64::from(u32::MAX));
            out.extend_from_slice(&(self.length as u32).to_be_bytes());
        }
    }

    /// Whether the flag is set.
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// The number of payload bytes that follow the header: for a write, and with extended headers
    /// for every request flagged as having a payload.
    pub fn payload(&self, headers: Headers) -> u64 {
        let says_so = headers == Headers::Extended && self.has(command_flags::PAYLOAD_LEN);
        if self.kind == command::WRITE || says_so { self.length } else { 0 }
    }
}

/// The header of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// A complete reply. The data of a successful read follows.
    Simple {
        /// The request's cookie.
        cookie: u64,
        /// Why the request failed.
        error: Option<Errno>,
    },
    /// A part of a reply.
    Chunk(Chunk),
}

/// The header of a part of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Flags from [`chunk_flags`].
    pub flags: u16,
    /// One of [`chunk`].
    pub kind: u16,
    /// The request's cookie.
    pub cookie: u64,
    /// The request's offset; sent with extended headers only.
    pub offset: u64,
    /// The length of the payload that follows, in bytes.
    pub length: u64,
}

impl Reply {
    /// The number of bytes that [`Reply::parse`] needs, given the first four; `None` if no reply
    /// may begin with these.
    pub fn size(headers: Headers, magic: [u8; 4]) -> Option<usize> {
        match (u32::from_be_bytes(magic), headers) {
            (SIMPLE_REPLY_MAGIC, Headers::Simple | Headers::Structured) => Some(SIMPLE_REPLY_SIZE),
            (STRUCTURED_REPLY_MAGIC, Headers::Structured) | (EXTENDED_REPLY_MAGIC, Headers::Extended) => {
                Some(headers.chunk_size())
            }
            _ => None,
        }
    }

    /// Parses the header at the start of `bytes`; `None` when there are too few bytes or no reply
    /// may begin with them.
    pub fn parse(headers: Headers, mut bytes: &[u8]) -> Option<Self> {
        Self::size(headers, *bytes.first_chunk()?)?;
        let bytes = &mut bytes;
        if take_u32(bytes)? == SIMPLE_REPLY_MAGIC {
            let error = take_u32(bytes)?;
            let error = (error != 0).then_some(Errno(error));
            return Some(Self::Simple { cookie: take_u64(bytes)?, error });
        }
        let (flags, kind, cookie) = (take_u16(bytes)?, take_u16(bytes)?, take_u64(bytes)?);
        let (offset, length) = match headers {
            Headers::Extended => (take_u64(bytes)?, take_u64(bytes)?),
            Headers::Simple | Headers::Structured => (0, take_u32(bytes)?.into()),
        };
        Some(Self::Chunk(Chunk { flags, kind, cookie, offset, length }))
    }

    /// Appends the header.
    pub fn put(&self, headers: Headers, out: &mut Vec<u8>) {
        match self {
            Self::Simple { cookie, error } => {
                out.extend_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
                out.extend_from_slice(&error.map_or(0, |e| e.0).to_be_bytes());
                out.extend_from_slice(&cookie.to_be_bytes());
            }
            Self::Chunk(chunk) => chunk.put(headers, out),
        }
    }
}

impl Chunk {
    /// Whether this is the last chunk of the reply.
    pub fn is_last(&self) -> bool {
        self.flags & chunk_flags::DONE != 0
    }

    /// Appends the header.
    pub fn put(&self, headers: Headers, out: &mut Vec<u8>) {
        let extended = headers == Headers::Extended;
        let magic = if extended { EXTENDED_REPLY_MAGIC } else { STRUCTURED_REPLY_MAGIC };
        out.extend_from_slice(&magic.to_be_bytes());
        out.extend_from_slice(&self.flags.to_be_bytes());
        out.extend_from_slice(&self.kind.to_be_bytes());
        out.extend_from_slice(&self.cookie.to_be_bytes());
        if extended {
            out.extend_from_slice(&self.offset.to_be_bytes());
            out.extend_from_slice(&self.length.to_be_bytes());
        } else {
            debug_assert!(self.length <= u64::from(u32::MAX));
            out.extend_from_slice(&(self.length as u32).to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_wire() {
        for headers in [Headers::Simple, Headers::Structured, Headers::Extended] {
            let request = Request {
                flags: 0x21,
                kind: command::WRITE,
                cookie: 0x0102_0304_0506_0708,
                offset: 9,
                length: 10,
            };
            let mut bytes = Vec::new();
            request.put(headers, &mut bytes);
            assert_eq!(bytes.len(), headers.request_size());
            assert_eq!(Request::parse(headers, &bytes), Some(request));
            assert_eq!(Request::parse(headers, &bytes[..bytes.len() - 1]), None);
            bytes[0] ^= 1;
            assert_eq!(Request::parse(headers, &bytes), None);
        }
    }

    #[test]
    fn replies_survive_the_wire_and_only_those_agreed_upon_are_known() {
        let simple = Reply::Simple { cookie: 7, error: Some(Errno::NOSPC) };
        let chunk =
            |offset| Reply::Chunk(Chunk { flags: 1, kind: chunk::NONE, cookie: 8, offset, length: 0 });
        let cases = [
            (Headers::Simple, simple, true),
            (Headers::Structured, simple, true),
            (Headers::Structured, chunk(0), true),
            (Headers::Extended, chunk(5), true),
            (Headers::Simple, chunk(0), false),
            (Headers::Extended, simple, false),
        ];
        for (headers, reply, allowed) in cases {
            let mut bytes = Vec::new();
            reply.put(headers, &mut bytes);
            assert_eq!(Reply::parse(headers, &bytes), allowed.then_some(reply), "{headers:?} {reply:?}");
        }
    }

    #[test]
    fn payloads_are_announced() {
        let request = |kind, flags| Request { flags, kind, cookie: 0, offset: 0, length: 512 };
        assert_eq!(request(command::WRITE, 0).payload(Headers::Simple), 512);
        assert_eq!(request(command::READ, command_flags::PAYLOAD_LEN).payload(Headers::Structured), 0);
        assert_eq!(
            request(command::BLOCK_STATUS, command_flags::PAYLOAD_LEN).payload(Headers::Extended),
            512
        );
    }
}
