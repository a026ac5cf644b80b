//! A client that sends what it is told to and shows what comes back.

use keyway_attach::Export;
use keyway_attach::nbd::protocol::handshake::{flags, option, put_string, reply};
use keyway_attach::nbd::protocol::transmission::{MAX_HEADER, chunk, command};
use keyway_attach::nbd::protocol::{Headers, OptionHeader, OptionReply, Reply, Request};
use keyway_attach::nbd::server::{Options, Server};
use keyway_volume::{Rights, Storage};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// An export named "disk".
pub(crate) fn export(storage: Arc<dyn Storage>) -> Export {
    let description = "for tests".to_owned();
    Export {
        name: "disk".to_owned(),
        description,
        storage,
        rights: Rights { read_only: false, discards: true },
    }
}

/// A server of one export that serves one client, until it goes.
pub(crate) fn serve(export: Export, options: Options) -> (UnixStream, JoinHandle<io::Result<()>>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(TIMEOUT)).unwrap();
    let server = Server::new(vec![export], options);
    (ours, thread::spawn(move || server.serve(theirs)))
}

/// Kind of the final reply to an option, and kinds and data of those before it.
type Replies = (u32, Vec<(u32, Vec<u8>)>);

/// A client in the handshake.
pub(crate) struct Handshake {
    pub(crate) stream: UnixStream,
}

impl Handshake {
    pub(crate) fn begin(mut stream: UnixStream) -> Self {
        let mut hello = [0; 18];
        stream.read_exact(&mut hello).unwrap();
        assert_eq!(&hello[..16], b"NBDMAGICIHAVEOPT");
        let offered = u16::from_be_bytes([hello[16], hello[17]]);
        assert_eq!(offered, flags::FIXED_NEWSTYLE | flags::NO_ZEROES);
        stream.write_all(&u32::from(offered).to_be_bytes()).unwrap();
        Self { stream }
    }

    /// Sends an option and waits for the replies.
    pub(crate) fn ask(&mut self, option: u32, data: &[u8]) -> Replies {
        self.try_ask(option, data).unwrap()
    }

    /// The same, unless the server has hung up.
    pub(crate) fn try_ask(&mut self, option: u32, data: &[u8]) -> io::Result<Replies> {
        let header = OptionHeader { option, length: data.len() as u32 };
        self.stream.write_all(&[&header.encode(), data].concat())?;
        let mut before = Vec::new();
        loop {
            let mut header = [0; OptionReply::SIZE];
            self.stream.read_exact(&mut header)?;
            let header = OptionReply::parse(&header).unwrap();
            assert_eq!(header.option, option);
            let mut data = vec![0; header.length as usize];
            self.stream.read_exact(&mut data)?;
            if header.kind == reply::ACK || header.kind & reply::ERROR != 0 {
                return Ok((header.kind, before));
            }
            before.push((header.kind, data));
        }
    }

    /// Chooses the export "disk".
    pub(crate) fn go(mut self, headers: Headers) -> Client {
        let wanted = match headers {
            Headers::Simple => None,
            Headers::Structured => Some(option::STRUCTURED_REPLY),
            Headers::Extended => Some(option::EXTENDED_HEADERS),
        };
        if let Some(wanted) = wanted {
            assert_eq!(self.ask(wanted, &[]).0, reply::ACK);
            assert_eq!(
                self.ask(option::SET_META_CONTEXT, &contexts("disk", &["base:allocation"])).0,
                reply::ACK
            );
        }
        assert_eq!(self.ask(option::GO, &info("disk", &[])).0, reply::ACK);
        Client { headers, ..self.transmitting() }
    }
}

impl Handshake {
    /// A client that chose its export otherwise.
    pub(crate) fn transmitting(self) -> Client {
        Client { stream: self.stream, headers: Headers::Simple, cookie: 0 }
    }
}

/// The data of INFO and GO.
pub(crate) fn info(name: &str, facts: &[u16]) -> Vec<u8> {
    let mut data = Vec::new();
    put_string(&mut data, name);
    data.extend_from_slice(&(facts.len() as u16).to_be_bytes());
    data.extend(facts.iter().flat_map(|fact| fact.to_be_bytes()));
    data
}

/// The data of LIST_META_CONTEXT and SET_META_CONTEXT.
pub(crate) fn contexts(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut data = Vec::new();
    put_string(&mut data, name);
    data.extend_from_slice(&(queries.len() as u32).to_be_bytes());
    queries.iter().for_each(|query| put_string(&mut data, query));
    data
}

/// A client in the transmission phase.
pub(crate) struct Client {
    pub(crate) stream: UnixStream,
    pub(crate) headers: Headers,
    cookie: u64,
}

/// All that came back for one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) cookie: u64,
    /// The protocol's error.
    pub(crate) error: u32,
    /// Offset and bytes of each piece of data.
    pub(crate) data: Vec<(u64, Vec<u8>)>,
    /// Lengths and states.
    pub(crate) extents: Vec<(u64, u64)>,
}

impl Client {
    /// A client of `storage`.
    pub(crate) fn of(storage: Arc<dyn Storage>, headers: Headers) -> (Self, JoinHandle<io::Result<()>>) {
        let (stream, server) = serve(export(storage), Options::default());
        (Handshake::begin(stream).go(headers), server)
    }

    /// The same connection, for another thread.
    pub(crate) fn another(&self) -> Self {
        Self { stream: self.stream.try_clone().unwrap(), headers: self.headers, cookie: self.cookie }
    }

    /// What the next request will be called.
    pub(crate) fn next_cookie(&self) -> u64 {
        self.cookie + 1
    }

    /// Sends a request and does not wait; its cookie.
    pub(crate) fn send(&mut self, kind: u16, flags: u16, offset: u64, length: u64, payload: &[u8]) -> u64 {
        self.cookie += 1;
        let request = Request { flags, kind, cookie: self.cookie, offset, length };
        let mut bytes = Vec::new();
        request.put(self.headers, &mut bytes);
        bytes.extend_from_slice(payload);
        self.stream.write_all(&bytes).unwrap();
        self.cookie
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn ask(&mut self, kind: u16, flags: u16, offset: u64, length: u64) -> Answer {
        let cookie = self.send(kind, flags, offset, length, &[]);
        self.answer(if kind == command::READ { length } else { 0 }, cookie)
    }

    pub(crate) fn write(&mut self, flags: u16, offset: u64, data: &[u8]) -> Answer {
        let cookie = self.send(command::WRITE, flags, offset, data.len() as u64, data);
        self.answer(0, cookie)
    }

    /// What a successful read yields.
    pub(crate) fn read(&mut self, offset: u64, length: u64) -> Vec<u8> {
        let answer = self.ask(command::READ, 0, offset, length);
        assert_eq!(answer.error, 0);
        let mut next = offset;
        for (offset, bytes) in &answer.data {
            assert!(*offset == next || self.headers == Headers::Simple);
            next += bytes.len() as u64;
        }
        assert_eq!(next, offset + length);
        answer.data.into_iter().flat_map(|(_, bytes)| bytes).collect()
    }

    /// The next answer, which has to be to `cookie`. A simple one
    /// carries `simple` bytes if it is no failure.
    pub(crate) fn answer(&mut self, simple: u64, cookie: u64) -> Answer {
        let answer = self.any_answer(|_| simple);
        assert_eq!(answer.cookie, cookie);
        answer
    }

    /// The next answer to whichever request; `simple` knows how long a simple one's data is.
    /// Chunks of several answers must not be mixed.
    pub(crate) fn any_answer(&mut self, simple: impl Fn(u64) -> u64) -> Answer {
        let mut answer = Answer::default();
        loop {
            let mut header = [0; MAX_HEADER];
            self.stream.read_exact(&mut header[..4]).unwrap();
            let size = Reply::size(self.headers, *header.first_chunk().unwrap()).unwrap();
            self.stream.read_exact(&mut header[4..size]).unwrap();
            match Reply::parse(self.headers, &header[..size]).unwrap() {
                Reply::Simple { cookie, error } => {
                    answer.cookie = cookie;
                    answer.error = error.map_or(0, |e| e.0);
                    if error.is_none() && simple(cookie) > 0 {
                        let bytes = self.take(simple(cookie));
                        answer.data.push((0, bytes));
                    }
                    return answer;
                }
                Reply::Chunk(chunk) => {
                    answer.cookie = chunk.cookie;
                    let payload = self.take(chunk.length);
                    answer.add(chunk.kind, &payload);
                    if chunk.is_last() {
                        return answer;
                    }
                }
            }
        }
    }

    fn take(&mut self, len: u64) -> Vec<u8> {
        let mut bytes = vec![0; len as usize];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }
}

impl Answer {
    fn add(&mut self, kind: u16, payload: &[u8]) {
        let u32_at = |at: usize| u32::from_be_bytes(*payload[at..].first_chunk().unwrap());
        let u64_at = |at: usize| u64::from_be_bytes(*payload[at..].first_chunk().unwrap());
        match kind {
            chunk::NONE => assert!(payload.is_empty()),
            chunk::OFFSET_DATA => {
                assert!(payload.len() > 8);
                self.data.push((u64_at(0), payload[8..].to_vec()));
            }
            chunk::BLOCK_STATUS => {
                let extents = (4..payload.len()).step_by(8);
                self.extents.extend(extents.map(|at| (u32_at(at).into(), u32_at(at + 4).into())));
            }
            chunk::BLOCK_STATUS_EXT => {
                assert_eq!(8 + 16 * u32_at(4) as usize, payload.len());
                self.extents.extend((8..payload.len()).step_by(16).map(|at| (u64_at(at), u64_at(at + 8))));
            }
            chunk::ERROR => {
                self.error = u32_at(0);
                let message = usize::from(u16::from_be_bytes(*payload[4..].first_chunk().unwrap()));
                assert_eq!(payload.len(), 6 + message);
            }
            other => panic!("chunk {other}"),
        }
    }
}

/// A test that waits longer has failed.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);
