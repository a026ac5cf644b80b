//! The NBD protocol: its numbers, and its messages as types.
//!
//! NetworkBlockDevice/nbd, doc/proto.md. Everything is big-endian. A connection begins with the
//! [`handshake`] (fixed newstyle) and then stays in the [`transmission`] phase, in which [`Errno`]
//! represents failures.

mod errno;
pub mod handshake;
pub mod transmission;

pub use errno::Errno;
pub use handshake::{OptionHeader, OptionReply};
pub use transmission::{Chunk, Headers, Reply, Request};

/// The maximum length of a string (name, description, message, query) in the protocol, in bytes.
pub(crate) const LONGEST_STRING: usize = 4096;

/// The maximum length in bytes of a payload that every server accepts and every client expects
/// ("Block size constraints").
pub const MAX_PAYLOAD: u64 = 32 << 20;

/// Splits `N` bytes off the front.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*head)
}

fn take_u16(bytes: &mut &[u8]) -> Option<u16> {
    take(bytes).map(u16::from_be_bytes)
}

fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    take(bytes).map(u32::from_be_bytes)
}

fn take_u64(bytes: &mut &[u8]) -> Option<u64> {
    take(bytes).map(u64::from_be_bytes)
}
