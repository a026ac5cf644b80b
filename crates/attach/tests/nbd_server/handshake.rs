//! Options, in and out of order.

use crate::client::{Handshake, contexts, export, info, serve};
use keyway_attach::nbd::protocol::handshake::{MAX_OPTION, export as can, info as fact, option, reply};
use keyway_attach::nbd::protocol::{Headers, OptionHeader};
use keyway_attach::nbd::server::{Encryption, Halves, Options, Server, Socket, StartTls};
use keyway_volume::device::storage::Memory;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn handshake(options: Options) -> (Handshake, std::thread::JoinHandle<io::Result<()>>) {
    let (stream, server) = serve(export(Arc::new(Memory::zeroed(1 << 20))), options);
    (Handshake::begin(stream), server)
}

#[test]
fn an_export_tells_about_itself() {
    let (mut client, server) = handshake(Options::default());
    let (end, list) = client.ask(option::LIST, &[]);
    assert_eq!(end, reply::ACK);
    assert_eq!(list, [(reply::SERVER, b"\0\0\0\x04diskfor tests".to_vec())]);

    // The only export is also the one without a name.
    for name in ["disk", ""] {
        let wanted = [fact::NAME, fact::DESCRIPTION, fact::BLOCK_SIZE, 77];
        let (end, facts) = client.ask(option::INFO, &info(name, &wanted));
        assert_eq!(end, reply::ACK);
        let flags = can::HAS_FLAGS
            | can::SEND_FLUSH
            | can::SEND_FUA
            | can::SEND_TRIM
            | can::SEND_WRITE_ZEROES
            | can::CAN_MULTI_CONN
            | can::SEND_CACHE
            | can::SEND_FAST_ZERO;
        let size = [&[0, 0][..], &(1u64 << 20).to_be_bytes(), &flags.to_be_bytes()].concat();
        let sizes = [&[0, 3][..], &[0, 0, 0, 1], &[0, 0, 16, 0], &[2, 0, 0, 0]].concat();
        let expected = [size, b"\0\x01disk".to_vec(), b"\0\x02for tests".to_vec(), sizes]
            .map(|fact| (reply::INFO, fact));
        assert_eq!(facts, expected);
    }
    assert_eq!(client.ask(option::ABORT, &[]).0, reply::ACK);
    assert!(server.join().unwrap().is_ok());
}

#[test]
fn what_makes_no_sense_is_answered_and_the_client_may_go_on() {
    let (mut client, server) = handshake(Options::default());
    let cases = [
        (4, vec![], reply::ERR_UNSUP),
        (0xffff_ffff, vec![1; 5000], reply::ERR_UNSUP),
        (option::LIST, vec![0], reply::ERR_INVALID),
        (option::INFO, info("other", &[]), reply::ERR_UNKNOWN),
        (option::GO, info("other", &[]), reply::ERR_UNKNOWN),
        (option::GO, b"\0\0\0\x08disk\0\0".to_vec(), reply::ERR_INVALID),
        (option::GO, b"\0\0\0\x04disk\0\x02\0\x01".to_vec(), reply::ERR_INVALID),
        (option::GO, vec![0; 70_000], reply::ERR_TOO_BIG),
        (option::STARTTLS, vec![], reply::ERR_POLICY),
        (option::LIST_META_CONTEXT, contexts("disk", &[]), reply::ERR_INVALID),
        (option::STRUCTURED_REPLY, vec![1], reply::ERR_INVALID),
        (option::STRUCTURED_REPLY, vec![], reply::ACK),
        (option::STRUCTURED_REPLY, vec![], reply::ERR_INVALID),
        (option::SET_META_CONTEXT, contexts("other", &[]), reply::ERR_UNKNOWN),
        (option::SET_META_CONTEXT, b"\0\0\0\x04disk\0\0\0\x02\0\0\0\x01x".to_vec(), reply::ERR_INVALID),
        (option::EXTENDED_HEADERS, vec![], reply::ACK),
        (option::STRUCTURED_REPLY, vec![], reply::ERR_EXT_HEADER_REQD),
    ];
    for (option, data, expected) in cases {
        let (end, before) = client.ask(option, &data);
        assert_eq!((end, before), (expected, vec![]), "option {option} with {data:?}");
    }
    assert_eq!(client.ask(option::GO, &info("disk", &[])).0, reply::ACK);
    drop(client);
    assert!(server.join().unwrap().is_ok());
}

#[test]
fn contexts_are_found_by_name_and_by_namespace() {
    let (mut client, _server) = handshake(Options::default());
    assert_eq!(client.ask(option::STRUCTURED_REPLY, &[]).0, reply::ACK);
    let found = |id: u8| (reply::META_CONTEXT, [&[0, 0, 0, id][..], b"base:allocation"].concat());
    let list = |queries| (option::LIST_META_CONTEXT, contexts("disk", queries));
    let set = |queries| (option::SET_META_CONTEXT, contexts("disk", queries));
    let cases = [
        (list(&[]), vec![found(0)]),
        (list(&["base:"]), vec![found(0)]),
        (list(&["qemu:", "x"]), vec![]),
        (set(&["qemu:dirty", "base:allocation"]), vec![found(1)]),
        (set(&["base:"]), vec![]),
        (set(&[]), vec![]),
    ];
    for ((option, data), expected) in cases {
        assert_eq!(client.ask(option, &data), (reply::ACK, expected), "{option} {data:?}");
    }
}

#[test]
fn the_oldest_clients_name_their_export_and_get_zeros() {
    for (chosen, zeros) in [(0u32, 124), (1, 124), (3, 0)] {
        let (mut stream, _server) = serve(export(Arc::new(Memory::zeroed(12345))), Options::default());
        stream.read_exact(&mut [0; 18]).unwrap();
        stream.write_all(&chosen.to_be_bytes()).unwrap();
        let header = OptionHeader { option: option::EXPORT_NAME, length: 4 };
        stream.write_all(&[&header.encode()[..], b"disk"].concat()).unwrap();
        let mut facts = vec![0; 10 + zeros];
        stream.read_exact(&mut facts).unwrap();
        assert_eq!(facts[..8], 12345u64.to_be_bytes());
        assert!(facts[10..].iter().all(|byte| *byte == 0));
        // What follows is a reply, and nothing before it.
        let mut client = Handshake { stream }.transmitting();
        assert_eq!(client.read(12345 - 8, 8), [0; 8]);
    }
}

#[test]
fn who_breaks_the_rules_is_hung_up_on() {
    let greeted = |bytes: &[u8]| {
        let (mut stream, server) = serve(export(Arc::new(Memory::zeroed(4096))), Options::default());
        stream.read_exact(&mut [0; 18]).unwrap();
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
        server.join().unwrap()
    };
    let header = |option, length| OptionHeader { option, length }.encode();
    assert!(greeted(&8u32.to_be_bytes()).is_err(), "unknown client flags");
    assert!(greeted(b"\0\0\0\x03GET / HTTP/1.1\r\n\r\n").is_err(), "no option");
    let unknown = [b"\0\0\0\x03".as_slice(), &header(option::EXPORT_NAME, 5), b"other"].concat();
    assert!(greeted(&unknown).is_err(), "no such export");
    let cut = [b"\0\0\0\x03".as_slice(), &header(option::GO, 4000), b"only this"].concat();
    assert!(greeted(&cut).is_err(), "less than was announced");
}

#[test]
fn a_slow_client_is_not_waited_for() {
    let options = Options { handshake: Duration::from_millis(300), ..Options::default() };
    let (mut client, server) = handshake(options);
    let started = Instant::now();
    // A byte now and then is no progress.
    while client.stream.write_all(&[0x49]).is_ok() && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(server.join().unwrap().is_err());
    assert!(started.elapsed() < Duration::from_secs(15));
}

/// TLS that waits for a byte more than ever comes.
struct Endless;

impl StartTls for Endless {
    fn verifies_clients(&self) -> bool {
        false
    }

    fn accept(&self, mut socket: Socket) -> io::Result<Halves> {
        loop {
            socket.read_exact(&mut [0])?;
        }
    }
}

#[test]
fn the_handshakes_time_goes_on_during_tls() {
    let options = Options {
        handshake: Duration::from_millis(300),
        encryption: Encryption::Required(Arc::new(Endless)),
        ..Options::default()
    };
    let (mut client, server) = handshake(options);
    let started = Instant::now();
    assert_eq!(client.ask(option::STARTTLS, &[]).0, reply::ACK);
    while client.stream.write_all(&[22]).is_ok() && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(server.join().unwrap().is_err());
    assert!(started.elapsed() < Duration::from_secs(15));
}

#[test]
fn a_client_too_many_is_told_so() {
    let storage = export(Arc::new(Memory::zeroed(1 << 20)));
    let server = Server::new(vec![storage], Options { connections: 1, ..Options::default() });
    let connect = || {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let server = Arc::clone(&server);
        let served = std::thread::spawn(move || server.serve(theirs));
        (Handshake::begin(ours), served)
    };
    let (first, served) = connect();
    let mut first = first.go(Headers::Structured);
    let (mut second, _) = connect();
    assert_eq!(second.ask(option::INFO, &info("disk", &[])).0, reply::ACK);
    assert_eq!(second.ask(option::GO, &info("disk", &[])).0, reply::ERR_POLICY);
    assert_eq!(first.read(0, 512), [0; 512]);
    drop(first);
    served.join().unwrap().unwrap();
    // It may try again.
    assert_eq!(second.go(Headers::Simple).read(0, 512), [0; 512]);
}

/// What is too long for any option is thrown away as it comes, and answered.
#[test]
fn an_options_length_takes_no_memory() {
    let (mut client, _server) = handshake(Options::default());
    for length in [MAX_OPTION + 1, 64 << 20] {
        assert_eq!(client.ask(99, &vec![7; length as usize]).0, reply::ERR_TOO_BIG);
    }
    assert_eq!(client.ask(99, &vec![7; MAX_OPTION as usize]).0, reply::ERR_UNSUP);
    assert_eq!(client.go(Headers::Simple).read(0, 512), [0; 512]);
}

/// TLS that encrypts nothing.
struct Transparent {
    verifies: bool,
}

impl StartTls for Transparent {
    fn verifies_clients(&self) -> bool {
        self.verifies
    }

    fn accept(&self, socket: Socket) -> io::Result<Halves> {
        Ok((Box::new(socket.clone()), Box::new(socket)))
    }
}

#[test]
fn where_tls_is_demanded_nothing_is_told_without() {
    let tls = |verifies| Arc::new(Transparent { verifies });
    // Whoever asks for certificates takes nobody without.
    for encryption in [Encryption::Required(tls(false)), Encryption::Offered(tls(true))] {
        nothing_is_told_without_tls(Options { encryption, ..Options::default() });
    }
    let offered = Options { encryption: Encryption::Offered(tls(false)), ..Options::default() };
    let (client, _server) = handshake(offered);
    assert_eq!(client.go(Headers::Simple).read(0, 512), [0; 512]);
}

fn nothing_is_told_without_tls(options: Options) {
    let (mut client, _server) = handshake(options.clone());
    let header = OptionHeader { option: option::EXPORT_NAME, length: 4 };
    client.stream.write_all(&[&header.encode()[..], b"disk"].concat()).unwrap();
    assert_eq!(client.stream.read(&mut [0]).unwrap(), 0, "the oldest way to choose an export");
    let (mut client, _server) = handshake(options);
    for (option, data) in [
        (option::LIST, vec![]),
        (option::GO, info("disk", &[])),
        (option::INFO, info("other", &[])),
        (option::STRUCTURED_REPLY, vec![]),
        (99, vec![]),
    ] {
        assert_eq!(client.ask(option, &data), (reply::ERR_TLS_REQD, vec![]));
    }
    assert_eq!(client.ask(option::STARTTLS, &[1]).0, reply::ERR_INVALID);
    assert_eq!(client.ask(option::STARTTLS, &[]).0, reply::ACK);
    assert_eq!(client.ask(option::STARTTLS, &[]).0, reply::ERR_INVALID);
    let mut client = client.go(Headers::Structured);
    assert_eq!(client.write(0, 5, &[7; 100_000]).error, 0);
    assert_eq!(client.read(5, 100_000), [7; 100_000]);
}
