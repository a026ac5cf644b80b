//! The NBD server with a client that sends anything: it ends with the client, keeps its storage's
//! length, and everything it says after a proper handshake is a reply of the protocol.
//!
//! The first byte chooses how the client begins: 0 with its own bytes, others with the handshake
//! for one of three forms of headers. All that follows is sent as it is.
#![no_main]

use keyway_attach::Export;
use keyway_attach::nbd::protocol::handshake::{option, put_string};
use keyway_attach::nbd::protocol::transmission::{Chunk, MAX_HEADER};
use keyway_attach::nbd::protocol::{Headers, OptionHeader, Reply};
use keyway_attach::nbd::server::{Options, Server, Socket};
use keyway_volume::device::storage::Memory;
use keyway_volume::{Rights, Storage};
use libfuzzer_sys::fuzz_target;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let headers = [None, Some(Headers::Simple), Some(Headers::Structured), Some(Headers::Extended)];
    let headers = headers[usize::from(first % 4)];
    let storage = Arc::new(Memory::from((0..LENGTH).map(|i| (i / 7) as u8).collect::<Vec<_>>()));
    let export = Export {
        name: String::new(),
        description: "for the fuzzer".to_owned(),
        storage: storage.clone(),
        rights: Rights { read_only: first & 4 != 0, discards: first & 8 != 0 },
    };
    let server = Server::new(vec![export], Options { threads: 2, ..Options::default() });
    let (ours, theirs) = UnixStream::pair().expect("two sockets");
    let said = thread::scope(|scope| {
        let listening = scope.spawn(|| {
            let mut said = Vec::new();
            let _ = (&ours).read_to_end(&mut said);
            said
        });
        scope.spawn(|| {
            // (No signal ends the process when the server has hung up.)
            let mut client = Socket::from(ours.try_clone().expect("the same socket"));
            let _ = client.write_all(&headers.map(beginning).unwrap_or_default());
            let _ = client.write_all(rest);
            let _ = ours.shutdown(Shutdown::Write);
        });
        let _ = server.serve(theirs);
        listening.join().expect("a thread that does not panic")
    });
    assert_eq!(storage.len(), LENGTH as u64);
    if let Some(headers) = headers.filter(|headers| *headers != Headers::Simple) {
        check(headers, &said);
    }
});

/// A client's side of the handshake.
fn beginning(headers: Headers) -> Vec<u8> {
    let mut bytes = 3u32.to_be_bytes().to_vec();
    let mut option = |option, data: &[u8]| {
        bytes.extend_from_slice(&OptionHeader { option, length: data.len() as u32 }.encode());
        bytes.extend_from_slice(data);
    };
    if headers != Headers::Simple {
        let wanted =
            if headers == Headers::Extended { option::EXTENDED_HEADERS } else { option::STRUCTURED_REPLY };
        option(wanted, &[]);
        let mut contexts = vec![0, 0, 0, 0, 0, 0, 0, 1];
        put_string(&mut contexts, "base:allocation");
        option(option::SET_META_CONTEXT, &contexts);
    }
    option(option::GO, &[0; 6]);
    bytes
}

/// Every reply after the handshake is one, and none is cut short but the last.
fn check(headers: Headers, said: &[u8]) {
    let mut rest = &said[HANDSHAKE.min(said.len())..];
    while let Some(magic) = rest.first_chunk() {
        let size = Reply::size(headers, *magic).expect("the beginning of a reply");
        assert!(size <= MAX_HEADER);
        let Some((header, payload)) = rest.split_at_checked(size) else { return };
        let length = match Reply::parse(headers, header).expect("a reply") {
            Reply::Simple { .. } => 0,
            Reply::Chunk(Chunk { length, .. }) => length,
        };
        assert!(length <= 8 + LENGTH as u64 + 16 * 1024, "{length}");
        rest = payload.get(length as usize..).unwrap_or_default();
    }
}

/// The export's, in bytes.
const LENGTH: usize = 64 << 10;

/// What the server says in a handshake with chunks: its greeting, acknowledgements (20 bytes each),
/// the context (4 and its name) and the export's facts (12).
const HANDSHAKE: usize = 18 + 20 + (20 + 4 + 15 + 20) + (20 + 12 + 20);
