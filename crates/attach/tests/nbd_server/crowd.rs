//! Unauthenticated clients by the dozen: connections that have not chosen an export.

use crate::client::{Handshake, TIMEOUT, info};
use crate::listening::memory;
use keyway_attach::FrontEnd;
use keyway_attach::nbd::protocol::handshake::{option, reply};
use keyway_attach::nbd::protocol::{Headers, OptionHeader, OptionReply};
use keyway_attach::nbd::server::{Listening, Options, Server};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

/// A hundred and more who say nothing, all from one address, keep nobody out.
#[test]
fn silent_unauthenticated_clients_make_room() {
    let server = Server::new(vec![memory()], Options { handshake: TIMEOUT, ..Options::default() });
    let front_end = server.tcp(&["127.0.0.1:0".parse().unwrap()]).unwrap();
    let mut silent: Vec<TcpStream> = (0..128).map(|_| connect_tcp(&front_end)).collect();
    for round in 0..3 {
        let mut client = begin_tcp(&front_end).go(Headers::Structured);
        assert_eq!(client.read(0, 512), [0; 512], "{round}");
        silent.extend((0..8).map(|_| connect_tcp(&front_end)));
    }
    // Those that had to go were not as many as came.
    let deadline = Instant::now() + TIMEOUT;
    while front_end.clients() > 32 {
        assert!(Instant::now() < deadline, "{} connections", front_end.clients());
        thread::sleep(Duration::from_millis(10));
    }
    assert!(front_end.clients() > 16);
    front_end.stop().unwrap();
}

/// Who has to make room is told so, if it asks for something, and has a moment to leave.
#[test]
fn an_unauthenticated_client_that_has_to_go_is_told_so() {
    let server = Server::new(vec![memory()], Options { handshake: TIMEOUT, ..Options::default() });
    let front_end = server.tcp(&["127.0.0.1:0".parse().unwrap()]).unwrap();
    for (last, replies) in [(option::ABORT, 1), (option::EXPORT_NAME, 0)] {
        let deadline = Instant::now() + TIMEOUT;
        // (On a machine that has much to do, all of the moment may
        // pass before the client has its turn.)
        let attempts = || (Instant::now() < deadline).then(|| crowded_out(&front_end, last));
        let answer = std::iter::from_fn(attempts).find_map(Result::ok).expect("nobody was told");
        assert_eq!(answer.len(), replies * OptionReply::SIZE, "{last}");
    }
    front_end.stop().unwrap();
}

/// What a client gets for its `last` option, once it was told that it
/// has to go. Until then it gets what it asks for.
fn crowded_out(front_end: &Listening, last: u32) -> io::Result<Vec<u8>> {
    let mut client = begin_tcp(front_end);
    let _crowd: Vec<TcpStream> = (0..32).map(|_| connect_tcp(front_end)).collect();
    while client.try_ask(option::LIST, &[])?.0 == reply::ACK {
        thread::sleep(Duration::from_millis(5));
    }
    // It is told as often as it asks.
    for option in [option::LIST, option::GO, option::STRUCTURED_REPLY] {
        assert_eq!(client.try_ask(option, &info("disk", &[]))?.0, reply::ERR_SHUTDOWN);
    }
    client.stream.write_all(&OptionHeader { option: last, length: 0 }.encode())?;
    let mut answer = Vec::new();
    client.stream.read_to_end(&mut answer)?;
    if answer.is_empty() && last == option::ABORT { Err(ErrorKind::TimedOut.into()) } else { Ok(answer) }
}

pub(crate) fn connect_tcp(front_end: &Listening) -> TcpStream {
    let place = front_end.place();
    let address = place.strip_prefix("nbd://").and_then(|rest| rest.split('/').next()).unwrap();
    TcpStream::connect(address).unwrap()
}

/// (Most tests are about Unix sockets.)
pub(crate) fn begin_tcp(front_end: &Listening) -> Handshake {
    let stream = UnixStream::from(std::os::fd::OwnedFd::from(connect_tcp(front_end)));
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    Handshake::begin(stream)
}
