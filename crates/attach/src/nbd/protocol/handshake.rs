//! The handshake, fixed newstyle: what a server offers, and the options that a client sends.
//!
//! ```text
//! server  NBDMAGIC IHAVEOPT flags:16              client  flags:32
//! client  IHAVEOPT option:32 length:32 data       server  REPLY_MAGIC option:32 type:32 length:32 data
//! ```

use super::{LONGEST_STRING, take_u32, take_u64};

/// "NBDMAGIC": a server's first eight bytes.
pub(crate) const NBDMAGIC: u64 = 0x4e42_444d_4147_4943;
/// "IHAVEOPT": its next eight, and the first of every option.
pub const IHAVEOPT: u64 = 0x4948_4156_454f_5054;
/// The first eight bytes of every reply to an option.
pub(crate) const REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;

/// The maximum length of an option's data that a server accepts: room for two strings and some
/// lists.
pub const MAX_OPTION: u32 = 64 << 10;

/// "Handshake flags" of a server and "client flags": the same bits.
pub mod flags {
    /// More options than EXPORT_NAME, and a reply to each.
    pub const FIXED_NEWSTYLE: u16 = 1 << 0;
    /// No 124 zeros after the answer to EXPORT_NAME.
    pub const NO_ZEROES: u16 = 1 << 1;
}

/// "Option types".
pub mod option {
    /// Chooses an export; the server can refuse only by hanging up.
    pub const EXPORT_NAME: u32 = 1;
    /// Ends the negotiation.
    pub const ABORT: u32 = 2;
    /// Lists the exports.
    pub const LIST: u32 = 3;
    /// Starts TLS for the rest of the connection.
    pub const STARTTLS: u32 = 5;
    /// Requests information about an export.
    pub const INFO: u32 = 6;
    /// Chooses an export.
    pub const GO: u32 = 7;
    /// Enables replies in chunks.
    pub const STRUCTURED_REPLY: u32 = 8;
    /// Lists the metadata contexts.
    pub const LIST_META_CONTEXT: u32 = 9;
    /// Chooses metadata contexts.
    pub const SET_META_CONTEXT: u32 = 10;
    /// Enables 64-bit lengths, and replies in chunks.
    pub const EXTENDED_HEADERS: u32 = 11;
}

/// "Option reply types"; errors have the highest bit set.
pub mod reply {
    /// Success.
    pub const ACK: u32 = 1;
    /// An export: length of its name, name, description.
    pub const SERVER: u32 = 2;
    /// An information item: see [`super::info`].
    pub const INFO: u32 = 3;
    /// A metadata context: its id and name.
    pub const META_CONTEXT: u32 = 4;

    /// Set in all of the following.
    pub const ERROR: u32 = 1 << 31;
    /// An unknown option.
    pub const ERR_UNSUP: u32 = ERROR | 1;
    /// Forbidden here.
    pub const ERR_POLICY: u32 = ERROR | 2;
    /// Invalid.
    pub const ERR_INVALID: u32 = ERROR | 3;
    /// TLS is required.
    pub const ERR_TLS_REQD: u32 = ERROR | 5;
    /// There is no such export.
    pub const ERR_UNKNOWN: u32 = ERROR | 6;
    /// The server is shutting down.
    pub const ERR_SHUTDOWN: u32 = ERROR | 7;
    /// The request is too long.
    pub const ERR_TOO_BIG: u32 = ERROR | 9;
    /// Extended headers are required.
    pub const ERR_EXT_HEADER_REQD: u32 = ERROR | 10;
}

/// "Information types" of [`option::INFO`] and [`option::GO`].
pub mod info {
    /// Size:64, transmission flags:16.
    pub const EXPORT: u16 = 0;
    /// The name.
    pub const NAME: u16 = 1;
    /// The description.
    pub const DESCRIPTION: u16 = 2;
    /// Minimum:32, preferred:32 and maximum:32 request size, in bytes.
    pub const BLOCK_SIZE: u16 = 3;
}

/// "Transmission flags": what an export supports.
pub mod export {
    /// Always set.
    pub const HAS_FLAGS: u16 = 1 << 0;
    /// Writes are refused.
    pub const READ_ONLY: u16 = 1 << 1;
    /// FLUSH is supported.
    pub const SEND_FLUSH: u16 = 1 << 2;
    /// The flag FUA is supported.
    pub const SEND_FUA: u16 = 1 << 3;
    /// TRIM is supported.
    pub const SEND_TRIM: u16 = 1 << 5;
    /// WRITE_ZEROES is supported.
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// The flag DF is supported.
    pub(crate) const SEND_DF: u16 = 1 << 7;
    /// A flush on one connection covers the writes of all.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
    /// CACHE is supported.
    pub const SEND_CACHE: u16 = 1 << 10;
    /// The flag FAST_ZERO is supported.
    pub const SEND_FAST_ZERO: u16 = 1 << 11;
}

/// The metadata context defined by the protocol document: what is allocated, and what reads as
/// zeros.
pub const BASE_ALLOCATION: &str = "base:allocation";

/// An option's first 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionHeader {
    /// One of [`option`].
    pub option: u32,
    /// Length of the data that follows, in bytes.
    pub length: u32,
}

impl OptionHeader {
    /// Length in bytes.
    pub const SIZE: usize = 16;

    /// `None` when the magic number is wrong.
    pub fn parse(bytes: &[u8; Self::SIZE]) -> Option<Self> {
        let bytes = &mut bytes.as_slice();
        take_u64(bytes).filter(|magic| *magic == IHAVEOPT)?;
        Some(Self { option: take_u32(bytes)?, length: take_u32(bytes)? })
    }

    /// The encoded header.
    pub fn encode(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..8].copy_from_slice(&IHAVEOPT.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.option.to_be_bytes());
        bytes[12..].copy_from_slice(&self.length.to_be_bytes());
        bytes
    }
}

/// The first 20 bytes of a reply to an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionReply {
    /// The option being answered.
    pub option: u32,
    /// One of [`reply`].
    pub kind: u32,
    /// Length of the data that follows, in bytes.
    pub length: u32,
}

impl OptionReply {
    /// Length in bytes.
    pub const SIZE: usize = 20;

    /// `None` when the magic number is wrong.
    pub fn parse(bytes: &[u8; Self::SIZE]) -> Option<Self> {
        let bytes = &mut bytes.as_slice();
        take_u64(bytes).filter(|magic| *magic == REPLY_MAGIC)?;
        Some(Self { option: take_u32(bytes)?, kind: take_u32(bytes)?, length: take_u32(bytes)? })
    }

    /// The encoded header.
    pub fn encode(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..8].copy_from_slice(&REPLY_MAGIC.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.option.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.kind.to_be_bytes());
        bytes[16..].copy_from_slice(&self.length.to_be_bytes());
        bytes
    }
}

/// Splits a string preceded by its 32-bit length off the front of an option's data. `None` when the
/// data ends too early, or the string is too long or not UTF-8.
pub(crate) fn take_string<'a>(data: &mut &'a [u8]) -> Option<&'a str> {
    let length = usize::try_from(take_u32(data)?).ok()?;
    if length > LONGEST_STRING {
        return None;
    }
    let (string, rest) = data.split_at_checked(length)?;
    *data = rest;
    std::str::from_utf8(string).ok().filter(|text| !text.contains('\0'))
}

/// Appends a string preceded by its 32-bit length.
pub fn put_string(data: &mut Vec<u8>, string: &str) {
    data.extend_from_slice(&(string.len() as u32).to_be_bytes());
    data.extend_from_slice(string.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_what_was_encoded_and_nothing_else() {
        let header = OptionHeader { option: option::GO, length: 77 };
        assert_eq!(OptionHeader::parse(&header.encode()), Some(header));
        assert_eq!(&header.encode()[..8], b"IHAVEOPT");
        let reply = OptionReply { option: option::GO, kind: reply::ERR_UNKNOWN, length: 5 };
        let mut bytes = reply.encode();
        assert_eq!(OptionReply::parse(&bytes), Some(reply));
        bytes[7] ^= 1;
        assert_eq!(OptionReply::parse(&bytes), None);
    }

    #[test]
    fn strings_end_where_they_say() {
        let mut data = Vec::new();
        put_string(&mut data, "home");
        put_string(&mut data, "");
        let rest = &mut data.as_slice();
        assert_eq!((take_string(rest), take_string(rest), take_string(rest)), (Some("home"), Some(""), None));
        for wrong in [&b"\0\0\0\x05home"[..], b"\0\0\x10\x01", b"\0\0\0\x01\xff", b"\0\0\0\x01\0", b"\0\0"] {
            assert_eq!(take_string(&mut &*wrong), None, "{wrong:?}");
        }
    }
}
