//! The client's side of the handshake: fixed newstyle, using as much as the server offers.
//!
//! NetworkBlockDevice/nbd, doc/proto.md, "Fixed newstyle negotiation": STARTTLS where the URI asks
//! for it, then extended headers or structured replies, the context "base:allocation", and GO with
//! the block sizes.

use super::transport::{Socket, Transport};
use crate::nbd::protocol::handshake::{
    BASE_ALLOCATION, IHAVEOPT, NBDMAGIC, OptionHeader, OptionReply, export, flags, info, option, put_string,
    reply,
};
use crate::nbd::protocol::{Headers, LONGEST_STRING, MAX_PAYLOAD};
use crate::tls;
use std::io::{self, ErrorKind};

/// The outcome of the handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Agreed {
    /// The export's length in bytes.
    pub(super) size: u64,
    /// Flags from [`export`].
    pub(super) flags: u16,
    /// The block size in bytes, of which offsets and lengths must be multiples; a power of two.
    pub(super) block: u64,
    /// The maximum length of a read or write; a multiple of `block`.
    pub(super) longest: u64,
    /// The format of requests and replies.
    pub(super) headers: Headers,
    /// The id of "base:allocation".
    pub(super) allocation: Option<u32>,
}

impl Agreed {
    pub(super) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// Performs the handshake for the export `name`, encrypted if `tls` is given.
pub(super) fn shake_hands(
    socket: Socket,
    name: &str,
    tls: Option<&tls::Client>,
) -> io::Result<(Transport, Agreed)> {
    let transport = Transport::Plain(socket);
    greet(&transport)?;
    let transport = match tls {
        Some(tls) => encrypt(transport, tls)?,
        None => transport,
    };
    let peer = Peer { transport: &transport };
    let headers = if peer.agrees_to(option::EXTENDED_HEADERS)? {
        Headers::Extended
    } else if peer.agrees_to(option::STRUCTURED_REPLY)? {
        Headers::Structured
    } else {
        Headers::Simple
    };
    let allocation = if headers == Headers::Simple { None } else { peer.choose_allocation(name)? };
    let export = peer.go(name)?;
    let agreed = export.agree(headers, allocation)?;
    Ok((transport, agreed))
}

/// Exchanges the initial greetings.
fn greet(transport: &Transport) -> io::Result<()> {
    let mut hello = [0; 18];
    transport.read_exact(&mut hello[..16])?;
    let magic = |at: usize| hello[at..at + 8].iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    match (magic(0), magic(8)) {
        (NBDMAGIC, IHAVEOPT) => {}
        (NBDMAGIC, OLDSTYLE) => {
            return Err(garbage("the server speaks the old NBD handshake, which has no exports"));
        }
        _ => return Err(garbage("this is not an NBD server")),
    }
    transport.read_exact(&mut hello[16..])?;
    let offered = u16::from_be_bytes([hello[16], hello[17]]);
    if offered & flags::FIXED_NEWSTYLE == 0 {
        return Err(garbage("the server is too old: it lacks the fixed newstyle handshake"));
    }
    let answer = offered & (flags::FIXED_NEWSTYLE | flags::NO_ZEROES);
    send(transport, &u32::from(answer).to_be_bytes(), &[])
}

/// STARTTLS. Nothing that was sent in the clear is trusted afterwards: there is no buffer that
/// could hold any of it.
fn encrypt(transport: Transport, tls: &tls::Client) -> io::Result<Transport> {
    let peer = Peer { transport: &transport };
    peer.ask(option::STARTTLS, &[])?;
    match peer.answer(option::STARTTLS)? {
        (reply::ACK, _) => {}
        (kind, message) => {
            return Err(refusal(kind, &message, "the server has no TLS; nbd:// works without it"));
        }
    }
    match transport {
        Transport::Plain(socket) => Ok(Transport::Encrypted(Box::new(tls.connect(socket)?))),
        encrypted @ Transport::Encrypted(_) => Ok(encrypted),
    }
}

/// The server during option negotiation.
struct Peer<'a> {
    transport: &'a Transport,
}

impl Peer<'_> {
    fn ask(&self, option: u32, data: &[u8]) -> io::Result<()> {
        let header = OptionHeader { option, length: data.len() as u32 };
        send(self.transport, &header.encode(), data)
    }

    /// The next reply: its kind and its data.
    fn answer(&self, option: u32) -> io::Result<(u32, Vec<u8>)> {
        let mut header = [0; OptionReply::SIZE];
        self.transport.read_exact(&mut header)?;
        let header = OptionReply::parse(&header)
            .ok_or_else(|| garbage("a reply to an option lacks its magic number"))?;
        if header.option != option {
            return Err(garbage("the server answers an option that was not requested"));
        }
        if header.length > LONGEST_ANSWER {
            return Err(garbage("a reply to an option is too long"));
        }
        let (mut data, mut piece) = (Vec::new(), [0; 1024]);
        while data.len() < header.length as usize {
            let piece = &mut piece[..(header.length as usize - data.len()).min(1024)];
            self.transport.read_exact(piece)?;
            data.extend_from_slice(piece);
        }
        if header.kind == reply::ERR_TLS_REQD {
            let text = "the server demands TLS: write nbds:// or nbds+unix://";
            return Err(io::Error::new(ErrorKind::PermissionDenied, text));
        }
        // Whatever was requested: "If the client receives NBD_REP_ERR_SHUTDOWN", it has to
        // disconnect.
        if header.kind == reply::ERR_SHUTDOWN {
            return Err(refusal(header.kind, &data, "the server accepts no more clients now"));
        }
        Ok((header.kind, data))
    }

    /// Requests an option without data. A server that lacks the option says so.
    fn agrees_to(&self, option: u32) -> io::Result<bool> {
        self.ask(option, &[])?;
        match self.answer(option)?.0 {
            reply::ACK => Ok(true),
            kind if kind & reply::ERROR != 0 => Ok(false),
            _ => Err(garbage("an option got an unexpected reply")),
        }
    }

    /// The id of "base:allocation", if the server supports it.
    fn choose_allocation(&self, name: &str) -> io::Result<Option<u32>> {
        let mut data = Vec::new();
        put_string(&mut data, name);
        data.extend_from_slice(&1u32.to_be_bytes());
        put_string(&mut data, BASE_ALLOCATION);
        self.ask(option::SET_META_CONTEXT, &data)?;
        let mut id = None;
        for _ in 0..MOST_ANSWERS {
            match self.answer(option::SET_META_CONTEXT)? {
                (reply::META_CONTEXT, data) => {
                    let (number, context) = data
                        .split_first_chunk()
                        .ok_or_else(|| garbage("a metadata context without its id"))?;
                    if context == BASE_ALLOCATION.as_bytes() {
                        id = Some(u32::from_be_bytes(*number));
                    }
                }
                (reply::ACK, _) => return Ok(id),
                (kind, _) if kind & reply::ERROR != 0 => return Ok(None),
                _ => return Err(garbage("a metadata context got an unexpected reply")),
            }
        }
        Err(garbage("the server's list of metadata contexts does not end"))
    }

    /// Chooses the export; returns the server's description of it.
    fn go(&self, name: &str) -> io::Result<Described> {
        let mut data = Vec::new();
        put_string(&mut data, name);
        data.extend_from_slice(&1u16.to_be_bytes());
        data.extend_from_slice(&info::BLOCK_SIZE.to_be_bytes());
        self.ask(option::GO, &data)?;
        let mut described = Described::default();
        for _ in 0..MOST_ANSWERS {
            match self.answer(option::GO)? {
                (reply::INFO, data) => described.take(&data)?,
                (reply::ACK, _) => return Ok(described),
                (kind, message) => {
                    let what = match (kind, name) {
                        (reply::ERR_UNKNOWN, "") => "the server has no default export; name one".to_owned(),
                        (reply::ERR_UNKNOWN, name) => format!("the server has no export {name:?}"),
                        (reply::ERR_UNSUP, _) => "the server is too old: it lacks NBD_OPT_GO".to_owned(),
                        _ => format!("the server refuses the export {name:?}"),
                    };
                    return Err(refusal(kind, &message, &what));
                }
            }
        }
        Err(garbage("the server's description of the export does not end"))
    }
}

/// What a server reports about an export.
#[derive(Default)]
struct Described {
    export: Option<(u64, u16)>,
    blocks: Option<(u32, u32)>,
}

impl Described {
    /// Processes an information item. Unknown ones are ignored, as the protocol demands.
    fn take(&mut self, data: &[u8]) -> io::Result<()> {
        let (kind, data) = data
            .split_first_chunk()
            .ok_or_else(|| garbage("information about the export without its type"))?;
        match (u16::from_be_bytes(*kind), data) {
            (info::EXPORT, [size @ .., f0, f1]) if size.len() == 8 => {
                let size = size.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
                self.export = Some((size, u16::from_be_bytes([*f0, *f1])));
            }
            (info::BLOCK_SIZE, [a, b, c, d, _, _, _, _, e, f, g, h]) => {
                self.blocks =
                    Some((u32::from_be_bytes([*a, *b, *c, *d]), u32::from_be_bytes([*e, *f, *g, *h])));
            }
            (info::EXPORT | info::BLOCK_SIZE, _) => {
                return Err(garbage("information about the export of the wrong length"));
            }
            _ => {}
        }
        Ok(())
    }

    fn agree(&self, headers: Headers, allocation: Option<u32>) -> io::Result<Agreed> {
        let (size, flags) =
            self.export.ok_or_else(|| garbage("the server does not report the export's length"))?;
        if size > i64::MAX as u64 {
            return Err(garbage("the export is longer than 2^63 bytes"));
        }
        // "A client wanting maximum interoperability SHOULD constrain its
        // requests to a minimum block size of 512".
        let unsaid = if size.is_multiple_of(512) { 512 } else { 1 };
        let (block, longest) = self.blocks.unwrap_or((unsaid, MAX_PAYLOAD as u32));
        if !block.is_power_of_two() || block > LARGEST_BLOCK || longest < block {
            return Err(garbage("the server's block sizes are impossible"));
        }
        let (block, longest) = (u64::from(block), u64::from(longest).min(MAX_PAYLOAD));
        let flags = if flags & export::HAS_FLAGS == 0 { 0 } else { flags };
        // An incomplete block at the end cannot be accessed.
        Ok(Agreed {
            size: size - size % block,
            flags,
            block,
            longest: longest - longest % block,
            headers,
            allocation,
        })
    }
}

fn send(transport: &Transport, header: &[u8], data: &[u8]) -> io::Result<()> {
    transport.send(header, data, &mut false)
}

/// The error for a server that violates the protocol.
pub(super) fn garbage(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

/// The server's refusal, including its own message if there is one.
fn refusal(kind: u32, message: &[u8], what: &str) -> io::Error {
    let as_kind = match kind {
        reply::ERR_UNKNOWN => ErrorKind::NotFound,
        reply::ERR_POLICY => ErrorKind::PermissionDenied,
        reply::ERR_SHUTDOWN => ErrorKind::ConnectionAborted,
        kind if kind & reply::ERROR != 0 => ErrorKind::Unsupported,
        _ => ErrorKind::InvalidData,
    };
    io::Error::new(as_kind, format!("{what}{}", words(message)))
}

/// A server's message, reduced to what can be printed safely.
pub(super) fn words(message: &[u8]) -> String {
    let message = String::from_utf8_lossy(&message[..message.len().min(LONGEST_STRING)]);
    if message.is_empty() { String::new() } else { format!(" (it says {message:?})") }
}

/// "cliserv_magic" of the oldstyle negotiation.
const OLDSTYLE: u64 = 0x0000_4202_8186_1253;
/// A context or a description has at most two strings.
const LONGEST_ANSWER: u32 = 16 << 10;
/// A server that sends more answers than this is considered malicious.
const MOST_ANSWERS: usize = 64;
/// "The minimum block size … SHOULD NOT be larger than 2^16".
const LARGEST_BLOCK: u32 = 64 << 10;
