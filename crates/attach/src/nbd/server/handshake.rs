//! The server's side of the handshake: doc/proto.md, "Fixed newstyle negotiation" and "Option
//! types".
//!
//! A client that makes an error for which the document provides a reply gets that reply and may go
//! on; after any other error it loses the connection. The whole handshake has to end within a time
//! limit, however slowly the bytes arrive.

use super::transport::{Incoming, Outgoing};
use super::{Server, Slot, Socket};
use crate::Export;
use crate::nbd::protocol::handshake::{
    BASE_ALLOCATION, IHAVEOPT, MAX_OPTION, NBDMAGIC, export, flags, info, option, put_string, reply,
    take_string,
};
use crate::nbd::protocol::{Headers, MAX_PAYLOAD, OptionHeader, OptionReply};
use std::io::{self, IoSlice, IoSliceMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The outcome of the handshake.
pub(super) struct Agreed<'a> {
    pub(super) export: &'a Export,
    pub(super) headers: Headers,
    /// Whether the client may ask for the state of blocks.
    pub(super) allocation: bool,
    pub(super) incoming: Incoming,
    pub(super) outgoing: Outgoing,
    pub(super) slot: Slot<'a>,
}

/// Performs the handshake with a client; `None` when the client ends it.
pub(super) fn shake_hands<'a>(
    server: &'a Server,
    socket: &Socket,
    stopping: &AtomicBool,
) -> io::Result<Option<Agreed<'a>>> {
    // Applies to all traffic on the socket, including TLS.
    let deadline = Some(Instant::now() + server.options.handshake);
    socket.receive_until(deadline);
    socket.send_until(deadline);
    socket.stay().set(true);
    let mut handshake = Handshake {
        server,
        socket,
        stopping,
        incoming: Incoming::Plain(socket.clone()),
        outgoing: Outgoing::Plain(socket.clone()),
        encrypted: false,
        no_zeroes: false,
        headers: Headers::Simple,
        allocation_of: None,
    };
    let chosen = handshake.run()?;
    socket.stay().set(false);
    socket.receive_until(None);
    socket.send_until(None);
    Ok(chosen.map(|(export, slot)| Agreed {
        export,
        slot,
        headers: handshake.headers,
        allocation: handshake.allocation_of.as_deref() == Some(export.name.as_str()),
        incoming: handshake.incoming,
        outgoing: handshake.outgoing,
    }))
}

/// The flags that tell a client what `export` supports.
fn transmission_flags(export: &Export, headers: Headers) -> u16 {
    let mut flags = export::HAS_FLAGS
        | export::SEND_FLUSH
        | export::SEND_FUA
        | export::SEND_CACHE
        | export::CAN_MULTI_CONN;
    if headers >= Headers::Structured {
        flags |= export::SEND_DF;
    }
    flags
        | if export.rights.read_only || export.storage.is_read_only() {
            export::READ_ONLY
        } else {
            export::SEND_TRIM | export::SEND_WRITE_ZEROES | export::SEND_FAST_ZERO
        }
}

struct Handshake<'a, 's> {
    server: &'a Server,
    socket: &'s Socket,
    stopping: &'s AtomicBool,
    incoming: Incoming,
    outgoing: Outgoing,
    encrypted: bool,
    no_zeroes: bool,
    headers: Headers,
    /// The name of the export whose allocation the client wants to ask for.
    allocation_of: Option<String>,
}

/// The outcome of an option.
enum Next<'a> {
    Option,
    Transmission(&'a Export, Slot<'a>),
    End,
}

impl<'a> Handshake<'a, '_> {
    fn run(&mut self) -> io::Result<Option<(&'a Export, Slot<'a>)>> {
        self.greet()?;
        loop {
            let mut header = [0; OptionHeader::SIZE];
            self.read_exact(&mut header)?;
            let header = OptionHeader::parse(&header).ok_or_else(|| broken("this is not an option"))?;
            match self.answer(header)? {
                Next::Option => {}
                Next::Transmission(export, slot) => return Ok(Some((export, slot))),
                Next::End => return Ok(None),
            }
        }
    }

    fn greet(&mut self) -> io::Result<()> {
        let offered = flags::FIXED_NEWSTYLE | flags::NO_ZEROES;
        let mut hello = Vec::with_capacity(18);
        hello.extend_from_slice(&NBDMAGIC.to_be_bytes());
        hello.extend_from_slice(&IHAVEOPT.to_be_bytes());
        hello.extend_from_slice(&offered.to_be_bytes());
        self.send(&hello)?;
        let mut chosen = [0; 4];
        self.read_exact(&mut chosen)?;
        let chosen = u32::from_be_bytes(chosen);
        if chosen & !u32::from(offered) != 0 {
            return Err(broken("unknown client flags"));
        }
        self.no_zeroes = chosen & u32::from(flags::NO_ZEROES) != 0;
        Ok(())
    }

    fn answer(&mut self, header: OptionHeader) -> io::Result<Next<'a>> {
        let OptionHeader { option, length } = header;
        let Some(data) = self.data(length)? else {
            return match option {
                option::EXPORT_NAME => Err(broken("the name of the export is not valid")),
                _ => self.reply(option, reply::ERR_TOO_BIG, b"too long"),
            };
        };
        let needs_tls = self.server.options.encryption.is_required() && !self.encrypted;
        match option {
            option::ABORT => {
                // The client may have hung up already.
                let _ = self.reply(option, reply::ACK, &[]);
                Ok(Next::End)
            }
            option::EXPORT_NAME if needs_tls => Err(broken("the export needs TLS")),
            option::EXPORT_NAME if self.socket.stay().is_cut_short() => {
                Err(broken("too many clients are connecting"))
            }
            option::EXPORT_NAME => self.export_name(&data),
            _ if self.stopping.load(Ordering::Relaxed) => {
                self.reply(option, reply::ERR_SHUTDOWN, b"shutting down")
            }
            _ if self.socket.stay().is_cut_short() => {
                self.reply(option, reply::ERR_SHUTDOWN, b"too many clients are connecting; try again later")
            }
            option::STARTTLS => self.start_tls(&data),
            _ if needs_tls => self.reply(option, reply::ERR_TLS_REQD, b"begin TLS first"),
            option::LIST => self.list(&data),
            option::INFO | option::GO => self.info(option, &data),
            option::STRUCTURED_REPLY | option::EXTENDED_HEADERS => self.choose_headers(option, &data),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(option, &data),
            _ => self.reply(option, reply::ERR_UNSUP, b"unknown option"),
        }
    }

    /// The data of an option; `None` when it was longer than any valid data, and was discarded. No
    /// memory is allocated for data that is merely announced.
    fn data(&mut self, length: u32) -> io::Result<Option<Vec<u8>>> {
        let (mut data, mut piece) = (Vec::new(), [0; 4096]);
        let mut left = length as usize;
        while left > 0 {
            let piece = &mut piece[..left.min(4096)];
            self.read_exact(piece)?;
            left -= piece.len();
            if length <= MAX_OPTION {
                data.extend_from_slice(piece);
            }
        }
        Ok((length <= MAX_OPTION).then_some(data))
    }

    fn export_name(&mut self, name: &[u8]) -> io::Result<Next<'a>> {
        let export = std::str::from_utf8(name).ok().and_then(|name| self.server.export(name));
        let export = export.ok_or_else(|| broken("there is no such export"))?;
        let slot = self.server.slot().ok_or_else(|| broken("there are too many clients"))?;
        let mut facts = self.facts(export);
        if !self.no_zeroes {
            facts.extend_from_slice(&[0; 124]);
        }
        self.send(&facts)?;
        Ok(Next::Transmission(export, slot))
    }

    /// Size and transmission flags.
    fn facts(&self, export: &Export) -> Vec<u8> {
        let mut facts = export.storage.len().to_be_bytes().to_vec();
        facts.extend_from_slice(&transmission_flags(export, self.headers).to_be_bytes());
        facts
    }

    fn list(&mut self, data: &[u8]) -> io::Result<Next<'a>> {
        if !data.is_empty() {
            return self.reply(option::LIST, reply::ERR_INVALID, b"LIST takes no data");
        }
        for export in &self.server.exports {
            let mut entry = Vec::new();
            put_string(&mut entry, &export.name);
            entry.extend_from_slice(export.description.as_bytes());
            self.reply(option::LIST, reply::SERVER, &entry)?;
        }
        self.reply(option::LIST, reply::ACK, &[])
    }

    fn info(&mut self, option: u32, data: &[u8]) -> io::Result<Next<'a>> {
        let Some((name, wanted)) = parse_info(data) else {
            return self.reply(option, reply::ERR_INVALID, b"the lengths contradict each other");
        };
        let Some(export) = self.server.export(name) else {
            return self.reply(option, reply::ERR_UNKNOWN, b"there is no such export");
        };
        let slot = if option == option::GO { Some(self.server.slot()) } else { None };
        if let Some(None) = slot {
            return self.reply(option, reply::ERR_POLICY, b"too many clients are connected; try again later");
        }
        self.tell(option, info::EXPORT, &self.facts(export))?;
        for wanted in wanted {
            match wanted {
                info::NAME => self.tell(option, info::NAME, export.name.as_bytes())?,
                info::DESCRIPTION => self.tell(option, info::DESCRIPTION, export.description.as_bytes())?,
                info::BLOCK_SIZE => self.tell(option, info::BLOCK_SIZE, &block_sizes(export))?,
                _ => {}
            }
        }
        self.reply(option, reply::ACK, &[])?;
        Ok(slot.flatten().map_or(Next::Option, |slot| Next::Transmission(export, slot)))
    }

    fn tell(&mut self, option: u32, kind: u16, fact: &[u8]) -> io::Result<()> {
        let data = [kind.to_be_bytes().as_slice(), fact].concat();
        self.reply(option, reply::INFO, &data).map(drop)
    }

    fn choose_headers(&mut self, option: u32, data: &[u8]) -> io::Result<Next<'a>> {
        let wanted = if option == option::EXTENDED_HEADERS { Headers::Extended } else { Headers::Structured };
        if !data.is_empty() {
            return self.reply(option, reply::ERR_INVALID, b"this option takes no data");
        }
        if self.headers == Headers::Extended && wanted == Headers::Structured {
            return self.reply(option, reply::ERR_EXT_HEADER_REQD, b"extended headers have been negotiated");
        }
        if self.headers == wanted {
            return self.reply(option, reply::ERR_INVALID, b"this has already been negotiated");
        }
        self.headers = wanted;
        self.reply(option, reply::ACK, &[])
    }

    fn contexts(&mut self, option: u32, data: &[u8]) -> io::Result<Next<'a>> {
        let set = option == option::SET_META_CONTEXT;
        if set {
            self.allocation_of = None;
        }
        if self.headers < Headers::Structured {
            return self.reply(option, reply::ERR_INVALID, b"negotiate structured replies first");
        }
        let Some((name, queries)) = parse_contexts(data) else {
            return self.reply(option, reply::ERR_INVALID, b"the lengths contradict each other");
        };
        let Some(export) = self.server.export(name) else {
            return self.reply(option, reply::ERR_UNKNOWN, b"there is no such export");
        };
        let everything = !set && queries.is_empty();
        // "base:" lists a namespace; to choose a context, it has to be named in full.
        let meant = |query: &str| query == BASE_ALLOCATION || (!set && query == "base:");
        if everything || queries.into_iter().any(meant) {
            if set {
                self.allocation_of = Some(export.name.clone());
            }
            let id = if set { ALLOCATION_CONTEXT } else { 0 };
            let context = [id.to_be_bytes().as_slice(), BASE_ALLOCATION.as_bytes()].concat();
            self.reply(option, reply::META_CONTEXT, &context)?;
        }
        self.reply(option, reply::ACK, &[])
    }

    fn start_tls(&mut self, data: &[u8]) -> io::Result<Next<'a>> {
        let option = option::STARTTLS;
        let Some(tls) = self.server.options.encryption.tls() else {
            return self.reply(option, reply::ERR_POLICY, b"this server has no certificate");
        };
        if self.encrypted || !data.is_empty() {
            return self.reply(option, reply::ERR_INVALID, b"TLS cannot begin now");
        }
        self.reply(option, reply::ACK, &[])?;
        let (incoming, outgoing) = tls.accept(self.socket.clone())?;
        self.incoming = Incoming::Tls(incoming);
        self.outgoing = Outgoing::Tls(outgoing);
        self.encrypted = true;
        // Data sent in the clear may have come from anybody.
        (self.headers, self.allocation_of) = (Headers::Simple, None);
        Ok(Next::Option)
    }

    fn reply(&mut self, option: u32, kind: u32, data: &[u8]) -> io::Result<Next<'a>> {
        let header = OptionReply { option, kind, length: data.len() as u32 };
        self.send(&[&header.encode(), data].concat())?;
        Ok(Next::Option)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.outgoing.send_all(&mut [IoSlice::new(bytes)])
    }

    fn read_exact(&mut self, mut buf: &mut [u8]) -> io::Result<()> {
        while !buf.is_empty() {
            match self.incoming.receive(&mut [IoSliceMut::new(buf)])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                received => buf = &mut buf[received..],
            }
        }
        Ok(())
    }
}

/// The name and the requested items of INFO and GO.
fn parse_info(mut data: &[u8]) -> Option<(&str, Vec<u16>)> {
    let name = take_string(&mut data)?;
    let (count, wanted) = data.split_first_chunk().map(|(count, rest)| (u16::from_be_bytes(*count), rest))?;
    let (wanted, rest) = wanted.as_chunks::<2>();
    let fits = rest.is_empty() && wanted.len() == usize::from(count);
    fits.then(|| (name, wanted.iter().map(|kind| u16::from_be_bytes(*kind)).collect()))
}

/// The name and queries of LIST_META_CONTEXT and SET_META_CONTEXT.
fn parse_contexts(mut data: &[u8]) -> Option<(&str, Vec<&str>)> {
    let name = take_string(&mut data)?;
    let (count, mut rest) =
        data.split_first_chunk().map(|(count, rest)| (u32::from_be_bytes(*count), rest))?;
    let queries = (0..count).map(|_| take_string(&mut rest)).collect::<Option<Vec<_>>>()?;
    rest.is_empty().then_some((name, queries))
}

/// "Block size constraints": a request may cover any bytes; whole encryption sectors, and pages of
/// memory, are cheaper.
fn block_sizes(export: &Export) -> Vec<u8> {
    let preferred = export.storage.unit().clamp(4096, 64 << 10).next_power_of_two() as u32;
    [1, preferred, MAX_PAYLOAD as u32].into_iter().flat_map(u32::to_be_bytes).collect()
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The id of "base:allocation" for clients.
pub(super) const ALLOCATION_CONTEXT: u32 = 1;
