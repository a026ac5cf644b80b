//! The NBD client with a server that says anything: every request
//! ends, in an answer or an error, and none panics.
//!
//! The first byte chooses how the server begins: 0 with its own bytes, others with the
//! handshake for one of three forms of headers. All that follows is sent as it is, whatever the
//! client asks; its requests are numbered from 1.
#![no_main]

use keyway_attach::nbd::Uri;
use keyway_attach::nbd::client::{Client, Options};
use keyway_attach::nbd::protocol::handshake::{BASE_ALLOCATION, export, info, option, reply};
use keyway_attach::nbd::protocol::{Headers, OptionReply};
use keyway_attach::nbd::server::Socket;
use keyway_volume::Storage;
use libfuzzer_sys::fuzz_target;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let headers = [None, Some(Headers::Simple), Some(Headers::Structured), Some(Headers::Extended)];
    let beginning = headers[usize::from(first % 4)].map(handshake).unwrap_or_default();
    // A name for each server: a client that connects again finds nobody.
    let name = format!("keyway-fuzz-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let listener = UnixListener::bind_addr(&address).expect("a name that nobody has");
    let uri = Uri::parse(&format!("nbd+unix:///?socket=%00{name}")).expect("a URI");
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().expect("the client");
            drop(listener);
            // (No signal ends the process when the client has hung up.)
            let mut server = Socket::from(stream.try_clone().expect("the same socket"));
            let _ = server.write_all(&beginning).and_then(|()| server.write_all(rest));
            let _ = stream.shutdown(Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let options =
            Options { connections: 1, reconnect: Duration::ZERO, recognise: false, ..Options::default() };
        if let Ok(client) = Client::connect(&uri, options) {
            use_it(&client);
        }
    });
});

/// A request of each kind, most of them two.
fn use_it(client: &Client) {
    let len = client.len().min(8192) as usize;
    let mut buf = vec![0; len];
    let _ = client.read_at(&mut buf, 0);
    if let Ok(Some(data)) = client.next_data(0) {
        assert!(data.start < data.end && data.end <= client.len(), "{data:?}");
    }
    let _ = client.read_at(&mut buf[len / 3..], 1);
    let _ = client.write_at(&buf, 0);
    let _ = client.write_zeroes(0..len as u64, true);
    let _ = client.discard(0..len as u64);
    let _ = client.flush();
}

/// All that a server says in the handshake.
fn handshake(headers: Headers) -> Vec<u8> {
    let mut bytes = b"NBDMAGICIHAVEOPT\0\x03".to_vec();
    let mut answer = |option, kind, data: &[u8]| {
        bytes.extend_from_slice(&OptionReply { option, kind, length: data.len() as u32 }.encode());
        bytes.extend_from_slice(data);
    };
    let agreed = |wanted| if headers == wanted { reply::ACK } else { reply::ERR_UNSUP };
    answer(option::EXTENDED_HEADERS, agreed(Headers::Extended), &[]);
    if headers != Headers::Extended {
        answer(option::STRUCTURED_REPLY, agreed(Headers::Structured), &[]);
    }
    if headers != Headers::Simple {
        let context = [&[0, 0, 0, 1], BASE_ALLOCATION.as_bytes()].concat();
        answer(option::SET_META_CONTEXT, reply::META_CONTEXT, &context);
        answer(option::SET_META_CONTEXT, reply::ACK, &[]);
    }
    let flags = export::HAS_FLAGS | export::SEND_FLUSH | export::SEND_TRIM | export::SEND_WRITE_ZEROES;
    let facts = [&info::EXPORT.to_be_bytes()[..], &LENGTH.to_be_bytes(), &flags.to_be_bytes()].concat();
    answer(option::GO, reply::INFO, &facts);
    answer(option::GO, reply::ACK, &[]);
    bytes
}

/// The export's, in bytes.
const LENGTH: u64 = 64 << 10;

static NUMBER: AtomicU64 = AtomicU64::new(0);
