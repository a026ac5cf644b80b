//! Servers that lie, send garbage or hang up: the client reports this, and trusts nothing.

use super::*;
use crate::nbd::protocol::handshake::{OptionHeader, OptionReply, info, option, reply};
use crate::nbd::protocol::transmission::{self, chunk, chunk_flags};
use crate::nbd::protocol::{Chunk, Errno, Headers};
use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

mod slow;

#[test]
fn a_read_is_what_was_asked_for_or_an_error() {
    let data =
        |offset: u64, len: usize| (chunk::OFFSET_DATA, [&offset.to_be_bytes(), &vec![7; len][..]].concat());
    let hole = |offset: u64, len: u32| {
        (chunk::OFFSET_HOLE, [&offset.to_be_bytes()[..], &len.to_be_bytes()[..]].concat())
    };
    let error = |text_len: u16| {
        (chunk::ERROR, [&5u32.to_be_bytes()[..], &text_len.to_be_bytes()[..], b"disk on fire"].concat())
    };
    // A read of 1024 bytes at 4096.
    let cases = [
        (vec![data(4096, 1024)], Ok(())),
        (vec![data(4608, 512), hole(4096, 512)], Ok(())),
        (vec![data(4096, 1023)], Err("before all of its data")),
        (vec![data(4096, 512), data(4607, 513)], Err("sent twice")),
        (vec![data(4095, 1024)], Err("outside of its request")),
        (vec![data(4096, 1025)], Err("outside of its request")),
        (vec![hole(4096, u32::MAX)], Err("outside of its request")),
        (vec![hole(4096, 0)], Err("outside of its request")),
        (vec![data(4096, 0)], Err("without data")),
        (vec![(chunk::NONE, vec![])], Err("before all of its data")),
        (vec![(chunk::NONE, vec![1])], Err("does not belong")),
        (vec![(chunk::BLOCK_STATUS, vec![0; 12])], Err("does not belong")),
        (vec![(99, vec![])], Err("does not belong")),
        (vec![data(4096, 1024), error(12)], Err("disk on fire")),
        (vec![error(13)], Err("longer than the error")),
        (vec![(chunk::ERROR, vec![0; 3])], Err("of the wrong length")),
        (vec![(chunk::ERROR, vec![0; 5000])], Err("of the wrong length")),
    ];
    for headers in [Headers::Structured, Headers::Extended] {
        for (chunks, expected) in cases.clone() {
            let client = Fake { headers, ..Fake::default() }.start(move |stream, request| {
                for (i, (kind, payload)) in chunks.iter().enumerate() {
                    let flags = if i + 1 == chunks.len() { chunk_flags::DONE } else { 0 };
                    send_chunk(stream, headers, request, flags, *kind, payload);
                }
            });
            let mut buf = [0; 1024];
            match (client.read_at(&mut buf, 4096), expected) {
                (Ok(()), Ok(())) => assert_eq!(buf[512..], [7; 512]),
                (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{error}, not {text}"),
                (found, expected) => panic!("{found:?}, not {expected:?}"),
            }
        }
    }
}

#[test]
fn what_is_no_reply_ends_the_connection() {
    let simple = |cookie: u64, error: u32| {
        let mut bytes = Vec::new();
        let error = (error != 0).then_some(Errno(error));
        transmission::Reply::Simple { cookie, error }.put(Headers::Structured, &mut bytes);
        bytes
    };
    type Answer = Box<dyn Fn(u64) -> Vec<u8> + Send + Sync>;
    let cases: Vec<(Answer, &str)> = vec![
        (Box::new(|_| b"what is this? no NBD, surely".to_vec()), "magic number"),
        (Box::new(|_| Vec::new()), "closed the connection"),
        (Box::new(move |cookie| simple(cookie, 0)), "answered by a simple reply"),
        (Box::new(move |cookie| simple(cookie + 1, 0)), "not sent"),
        (Box::new(move |cookie| simple(cookie, 28)), "No space left"),
    ];
    for (answer, text) in cases {
        let client = Fake::default().start(move |stream, request| {
            stream.write_all(&answer(request.cookie)).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
        });
        let error = client.read_at(&mut [0; 512], 0).unwrap_err();
        assert!(error.to_string().contains(text), "{error}, not {text}");
    }
}

#[test]
fn lists_of_extents_are_held_against_the_request() {
    let list = |context: u32, extents: &[(u32, u32)]| {
        let mut payload = context.to_be_bytes().to_vec();
        for (length, state) in extents {
            payload.extend_from_slice(&length.to_be_bytes());
            payload.extend_from_slice(&state.to_be_bytes());
        }
        payload
    };
    let cases = [
        (list(CONTEXT, &[(4096, 3), (4096, 0), (SIZE as u32, 3)]), Ok(Some(4096..8192))),
        (list(CONTEXT, &[(u32::MAX, 3)]), Ok(None)),
        (list(CONTEXT, &[(u32::MAX, 0)]), Ok(Some(0..SIZE))),
        (list(CONTEXT + 1, &[(4096, 0)]), Err("context that was not requested")),
        (list(CONTEXT, &[(0, 0)]), Err("without length")),
        (list(CONTEXT, &[]), Err("of the wrong length")),
        (vec![0; 11], Err("of the wrong length")),
    ];
    for (payload, expected) in cases {
        let client = Fake::default().start(move |stream, request| {
            let (headers, done) = (Headers::Structured, chunk_flags::DONE);
            send_chunk(stream, headers, request, done, chunk::BLOCK_STATUS, &payload);
        });
        match (client.next_data(0), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{error}, not {text}"),
            (found, expected) => panic!("{found:?}, not {expected:?}"),
        }
    }
}

/// A write that may have been executed is not sent twice.
/// An export of 2^62 bytes, of which each answer describes a gibibyte or a byte.
#[test]
fn exabytes_of_holes_end() {
    for (length, state, end) in [(u32::MAX, 3, 300 << 30), (1, 3, 4096), (1, 0, 4096)] {
        let flags = export::HAS_FLAGS;
        let size = 1u64 << 62;
        let infos =
            vec![[&info::EXPORT.to_be_bytes()[..], &size.to_be_bytes(), &flags.to_be_bytes()].concat()];
        let client = Fake { infos, ..Fake::default() }.start(move |stream, request| {
            let list = [CONTEXT, length, state].map(u32::to_be_bytes).concat();
            let (headers, done) = (Headers::Structured, chunk_flags::DONE);
            send_chunk(stream, headers, request, done, chunk::BLOCK_STATUS, &list);
        });
        match client.next_data_within(0, 300) {
            Ok(found) => assert_eq!(found, Some(0..end), "{length} {state}"),
            Err(error) => {
                let said =
                    "needed 300 answers to describe bytes 0 to 322122547200 of 4611686018427387904 as holes";
                assert!(error.to_string().contains(said) && end == 300 << 30, "{error}");
                assert_eq!(error.kind(), ErrorKind::TimedOut);
            }
        }
    }
}

#[test]
fn an_unacknowledged_write_is_sent_once() {
    let writes = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&writes);
    let client = Fake::default().start(move |stream, request| {
        if request.kind == command::WRITE {
            stream.read_exact(&mut [0; 512]).unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
        }
        stream.shutdown(std::net::Shutdown::Both).unwrap();
    });
    let error = client.write_at(&[1; 512], 0).unwrap_err();
    assert!(error.to_string().contains("before the write was acknowledged"), "{error}");
    assert_eq!(writes.load(Ordering::SeqCst), 1);
    assert!(client.flush().unwrap_err().to_string().contains("since the last flush"));
}

/// A silent server keeps nobody waiting longer than the limit.
#[test]
fn silence_ends() {
    let client = Fake::default().start(|_, _| thread::sleep(Duration::from_millis(600)));
    let error = client.read_at(&mut [0; 512], 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

/// A server that is restarted with the same content is accepted; with another content it is
/// refused, until the right one is back.
#[test]
fn another_volume_behind_the_address_is_refused() {
    let (content, hangs_up) = (Arc::new(AtomicU32::new(1)), Arc::new(AtomicU32::new(0)));
    let (shown, loses) = (Arc::clone(&content), Arc::clone(&hangs_up));
    let fake = Fake { recognise: true, ..Fake::default() };
    let client = fake.start(move |stream, request| {
        if loses.swap(0, Ordering::SeqCst) == 1 {
            let _ = stream.shutdown(std::net::Shutdown::Both);
            return;
        }
        let bytes = vec![shown.load(Ordering::SeqCst) as u8; request.length as usize];
        let payload = [&request.offset.to_be_bytes()[..], &bytes].concat();
        let (headers, done) = (Headers::Structured, chunk_flags::DONE);
        send_chunk(stream, headers, request, done, chunk::OFFSET_DATA, &payload);
    });
    let read = |volume| {
        content.store(volume, Ordering::SeqCst);
        hangs_up.store(1, Ordering::SeqCst);
        let mut buf = [0; 512];
        client.read_at(&mut buf, 4096).map(|()| buf)
    };
    assert_eq!(read(1).unwrap(), [1; 512]);
    let error = read(2).unwrap_err();
    assert!(error.to_string().contains("this address now serves another volume"), "{error}");
    hangs_up.store(0, Ordering::SeqCst);
    assert!(client.read_at(&mut [0; 512], 4096).is_err(), "and again");
    content.store(1, Ordering::SeqCst);
    client.read_at(&mut [0; 512], 4096).unwrap();
}

#[test]
fn exports_that_cannot_be_are_refused() {
    let export = |size: u64| [&info::EXPORT.to_be_bytes()[..], &size.to_be_bytes(), &[0, 1]].concat();
    let blocks = |least: u32, most: u32| {
        [
            &info::BLOCK_SIZE.to_be_bytes()[..],
            &least.to_be_bytes(),
            &4096u32.to_be_bytes(),
            &most.to_be_bytes(),
        ]
        .concat()
    };
    let cases = [
        (vec![], "the export's length"),
        (vec![export(1 << 63)], "longer than 2^63"),
        (vec![export(SIZE), blocks(3, 4096)], "block sizes are impossible"),
        (vec![export(SIZE), blocks(0, 4096)], "block sizes are impossible"),
        (vec![export(SIZE), blocks(4096, 512)], "block sizes are impossible"),
        (vec![export(SIZE), blocks(1 << 20, 1 << 25)], "block sizes are impossible"),
        (vec![vec![0]], "without its type"),
        (vec![vec![0; 11]], "of the wrong length"),
        (vec![vec![0; 20 << 10]], "too long"),
        (vec![export(SIZE); 100], "does not end"),
    ];
    for (infos, text) in cases {
        let fake = Fake { infos, ..Fake::default() };
        let error = fake.connect(|_, _| {}).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(text), "{error:?}, not {text}");
    }
}

#[test]
fn other_servers_are_recognised() {
    for (hello, text) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "not an NBD server"),
        (b"NBDMAGIC\x00\x00\x42\x02\x81\x86\x12\x53..", "old NBD handshake"),
        (b"NBDMAGICIHAVEOPT\0\0", "too old"),
        (b"NBD", "closed the connection"),
    ] {
        let uri = listen(move |mut stream| drop(stream.write_all(hello)));
        let error = Client::connect(&uri, short_timeouts()).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(text), "{error:?}, not {text}");
    }
}

/// A server that performs the handshake properly, or nearly so, and then behaves as the test
/// specifies.
struct Fake {
    headers: Headers,
    infos: Vec<Vec<u8>>,
    /// Whether the client takes samples, which adds requests beyond those of the test.
    recognise: bool,
    /// Whether each answer may take a second.
    slow_answers: bool,
    /// A longer limit, for changes.
    changes: Option<Duration>,
}

impl Default for Fake {
    fn default() -> Self {
        let flags = export::HAS_FLAGS | export::SEND_FLUSH;
        let export = [&info::EXPORT.to_be_bytes()[..], &SIZE.to_be_bytes(), &flags.to_be_bytes()].concat();
        Self {
            headers: Headers::Structured,
            infos: vec![export],
            recognise: false,
            slow_answers: false,
            changes: None,
        }
    }
}

impl Fake {
    fn start(self, answer: impl Fn(&mut UnixStream, &Request) + Send + Sync + 'static) -> Client {
        self.connect(answer).unwrap()
    }

    fn connect(self, answer: impl Fn(&mut UnixStream, &Request) + Send + Sync + 'static) -> Result<Client> {
        let options = if self.slow_answers { slow::slow_answers() } else { short_timeouts() };
        let changes = self.changes.unwrap_or(options.changes);
        let options = Options { recognise: self.recognise, changes, ..options };
        let uri = listen(move |mut stream| {
            if self.shake_hands(&mut stream).is_err() {
                return;
            }
            let mut header = vec![0; self.headers.request_size()];
            while stream.read_exact(&mut header).is_ok() {
                let request = Request::parse(self.headers, &header).unwrap();
                if request.kind == command::DISC {
                    return;
                }
                answer(&mut stream, &request);
            }
        });
        Client::connect(&uri, options)
    }

    fn shake_hands(&self, stream: &mut UnixStream) -> io::Result<()> {
        stream.write_all(b"NBDMAGICIHAVEOPT\0\x03")?;
        stream.read_exact(&mut [0; 4])?;
        loop {
            let mut header = [0; OptionHeader::SIZE];
            stream.read_exact(&mut header)?;
            let OptionHeader { option, length } = OptionHeader::parse(&header).unwrap();
            stream.read_exact(&mut vec![0; length as usize])?;
            let mut reply = |kind, data: &[u8]| {
                let header = OptionReply { option, kind, length: data.len() as u32 };
                stream.write_all(&[&header.encode(), data].concat())
            };
            match (option, self.headers) {
                (option::EXTENDED_HEADERS, Headers::Extended)
                | (option::STRUCTURED_REPLY, Headers::Structured) => reply(reply::ACK, &[])?,
                (option::SET_META_CONTEXT, _) => {
                    let context = [&CONTEXT.to_be_bytes()[..], b"base:allocation"].concat();
                    reply(reply::META_CONTEXT, &context)?;
                    reply(reply::ACK, &[])?;
                }
                (option::GO, _) => {
                    self.infos.iter().try_for_each(|info| reply(reply::INFO, info))?;
                    return reply(reply::ACK, &[]);
                }
                _ => reply(reply::ERR_UNSUP, &[])?,
            }
        }
    }
}

/// Runs `serve` for every connection to the URI. (A name in the abstract namespace leaves no file
/// behind.)
fn listen(serve: impl Fn(UnixStream) + Send + Sync + 'static) -> Uri {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("keyway-client-{}-{number}", std::process::id());
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let uri = Uri::parse(&format!("nbd+unix:///?socket=%00{name}")).unwrap();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        // As many as a request is tried on, and a few more.
        for stream in listener.incoming().take(8) {
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(stream.unwrap()));
        }
    });
    uri
}

fn send_chunk(
    stream: &mut UnixStream,
    headers: Headers,
    request: &Request,
    flags: u16,
    kind: u16,
    payload: &[u8],
) {
    let length = payload.len() as u64;
    let chunk = Chunk { flags, kind, cookie: request.cookie, offset: request.offset, length };
    let mut bytes = Vec::new();
    chunk.put(headers, &mut bytes);
    bytes.extend_from_slice(payload);
    // The client may have disconnected already.
    let _ = stream.write_all(&bytes);
}

fn short_timeouts() -> Options {
    Options {
        connections: 1,
        handshake: Duration::from_secs(5),
        timeout: Duration::from_millis(200),
        changes: Duration::from_millis(200),
        reconnect: Duration::from_millis(500),
        recognise: false,
        ..Options::default()
    }
}

const SIZE: u64 = 1 << 20;
const CONTEXT: u32 = 17;
