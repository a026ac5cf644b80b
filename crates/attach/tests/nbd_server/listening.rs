//! Sockets that are listened on: who may connect, how many, and what happens at the end.

use crate::client::{Client, Handshake, TIMEOUT, export, info};
use crate::crowd::begin_tcp;
use keyway_attach::nbd::protocol::handshake::{info as fact, option, reply};
use keyway_attach::nbd::protocol::transmission::command;
use keyway_attach::nbd::protocol::{Errno, Headers, Request};
use keyway_attach::nbd::server::{Listening, Options, Server};
use keyway_attach::{Error, Export, FrontEnd, Refusal, Watched};
use keyway_volume::device::storage::faulty::Event;
use keyway_volume::device::storage::{Faulty, Memory};
use keyway_volume::{Rights, Storage};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A socket's path, in a directory that goes with it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("keyway-nbd-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        Self(directory.join("a socket"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0.parent().unwrap());
    }
}

pub(crate) fn memory() -> Export {
    export(Arc::new(Memory::zeroed(1 << 20)))
}

fn connect(place: &Place) -> Handshake {
    let stream = UnixStream::connect(&place.0).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    Handshake::begin(stream)
}

#[test]
fn a_unix_socket_is_its_owners_and_goes_with_the_server() {
    let place = Place::new("unix");
    let server = Server::new(vec![memory()], Options::default());
    let front_end = server.unix(&place.0).unwrap();
    assert!(front_end.place().starts_with("nbd+unix:///disk?socket=/"), "{}", front_end.place());
    assert!(front_end.place().ends_with("/a%20socket"), "{}", front_end.place());
    assert_eq!(std::fs::metadata(&place.0).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(server.unix(&place.0), Err(Error::Busy(_))), "another process already listens");

    let mut client = connect(&place).go(Headers::Structured);
    assert_eq!(client.read(0, 4096), [0; 4096]);
    // Whoever only looked whether somebody listens is gone soon.
    let deadline = Instant::now() + Duration::from_secs(30);
    while front_end.clients() != 1 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(front_end.clients(), 1);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| front_end.wait());
        front_end.stop().unwrap();
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(client.stream.read(&mut [0; 16]).unwrap(), 0, "hung up");
    assert!(!place.0.exists());
    assert_eq!(front_end.clients(), 0);
    front_end.stop().unwrap();
}

#[test]
fn a_socket_left_behind_is_replaced_and_other_files_are_not() {
    let place = Place::new("stale");
    drop(std::os::unix::net::UnixListener::bind(&place.0).unwrap());
    let server = Server::new(vec![memory()], Options::default());
    let front_end = server.unix(&place.0).unwrap();
    connect(&place).go(Headers::Simple).read(0, 512);
    front_end.stop().unwrap();
    std::fs::write(&place.0, "precious").unwrap();
    assert!(matches!(server.unix(&place.0), Err(Error::Busy(_))));
    assert_eq!(std::fs::read(&place.0).unwrap(), b"precious");
}

#[test]
fn stopping_answers_what_was_asked_and_flushes() {
    let place = Place::new("stop");
    let storage = Arc::new(Faulty::new(vec![0; 1 << 20]));
    let server = Server::new(vec![export(storage.clone())], Options::default());
    let front_end: Listening = server.unix(&place.0).unwrap();
    let mut client = connect(&place).go(Headers::Structured);
    let mut busy = client.another();
    thread::scope(|scope| {
        // Writes until it is cut off; every answer is a promise.
        let writer = scope.spawn(move || {
            let mut acknowledged = 0;
            for i in 0..100_000u64 {
                let mut bytes = [0; 512];
                bytes[..8].copy_from_slice(&(i + 1).to_le_bytes());
                let sent = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    busy.write(0, (i % 2048) * 512, &bytes).error
                }));
                match sent {
                    Ok(0) => acknowledged = i + 1,
                    Ok(error) => assert_eq!(error, Errno::SHUTDOWN.0),
                    Err(_) => break,
                }
            }
            acknowledged
        });
        thread::sleep(Duration::from_millis(30));
        front_end.stop().unwrap();
        let acknowledged = writer.join().unwrap();
        assert!(acknowledged > 0);
        let events = storage.events();
        assert_eq!(events.last(), Some(&Event::Flush));
        let writes = events.iter().filter(|event| matches!(event, Event::Write { .. })).count() as u64;
        assert!(writes >= acknowledged, "{writes} {acknowledged}");
    });
    let _ = client.stream.read(&mut [0]);
}

#[test]
fn more_clients_than_allowed_are_turned_away_and_the_others_go_on() {
    let place = Place::new("many");
    let server = Server::new(vec![memory()], Options { connections: 2, ..Options::default() });
    let front_end = server.unix(&place.0).unwrap();
    let mut first = connect(&place).go(Headers::Structured);
    let second = connect(&place).go(Headers::Structured);
    let mut third = connect(&place);
    assert_eq!(third.ask(option::GO, &info("disk", &[])).0, reply::ERR_POLICY);
    assert_eq!(first.read(0, 512), [0; 512]);
    drop((second, third));
    while front_end.clients() > 1 {
        thread::sleep(Duration::from_millis(5));
    }
    connect(&place).go(Headers::Structured).read(0, 512);
    front_end.stop().unwrap();
}

/// A client of a network that stops in the middle of a request, that takes no replies, or that asks
/// for nothing, is dropped; one on a Unix socket is waited for.
#[test]
fn a_networks_client_that_stops_is_dropped() {
    let soon = Duration::from_millis(300);
    let (storage, place) = (Arc::new(Memory::from(vec![5; 16 << 20])), Place::new("stops"));
    let never = Options { idle: None, request: TIMEOUT, reply: TIMEOUT, ..Options::default() };
    let half_a_write = |client: &mut Client| {
        client.send(command::WRITE, 0, 0, 4096, &[9; 100]);
    };
    let no_replies = |client: &mut Client| {
        for _ in 0..8 {
            client.send(command::READ, 0, 0, 16 << 20, &[]);
        }
    };
    type Stops<'a> = &'a dyn Fn(&mut Client);
    let cases: [(&str, Options, Stops<'_>); 3] = [
        ("idle", Options { idle: Some(soon), ..never.clone() }, &|_| ()),
        ("half a write", Options { request: soon, ..never.clone() }, &half_a_write),
        // (Its length allows it some seconds more.)
        ("no replies", Options { reply: soon, ..never }, &no_replies),
    ];
    for (what, options, stops) in cases {
        let server = Server::new(vec![export(storage.clone())], options);
        let (front_end, local) =
            (server.tcp(&["127.0.0.1:0".parse().unwrap()]).unwrap(), server.unix(&place.0).unwrap());
        let mut waited_for = connect(&place).go(Headers::Structured);
        stops(&mut waited_for);
        let mut dropped = begin_tcp(&front_end).go(Headers::Structured);
        stops(&mut dropped);
        let deadline = Instant::now() + TIMEOUT;
        while front_end.clients() > 0 {
            assert!(Instant::now() < deadline, "{what}: it is still there");
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(local.clients(), 1, "{what}");
        drop(waited_for);
        local.stop().unwrap();
        front_end.stop().unwrap();
    }
    let bytes = storage.to_vec();
    assert!(bytes.iter().all(|byte| *byte == 5), "half a write was done");
}

/// A hundred clients that have sent 31 of 32 MiB each: they share
/// what memory there is, and keep nobody else out.
#[test]
fn all_clients_share_the_memory_that_there_is() {
    let place = Place::new("memory");
    let storage = export(Arc::new(Memory::zeroed(32 << 20)));
    let server = Server::new(vec![storage], Options::default());
    let front_end = server.unix(&place.0).unwrap();
    let payload = vec![9; 31 << 20];
    let stuck: Vec<_> = (0..100).map(|_| stop_in_a_write(connect(&place), &payload)).collect();
    let taken = stuck.iter().filter(|(_, taken)| *taken).count();
    assert!(taken <= 4, "{taken} of 31 MiB");
    let mut other = connect(&place).go(Headers::Structured);
    assert_eq!(other.read(0, 2 << 20), vec![0; 2 << 20]);
    drop(stuck);
    assert_eq!(other.write(0, 0, &[7; 32 << 20]).error, 0);
    assert_eq!(other.read((32 << 20) - 1, 1), [7]);
    front_end.stop().unwrap();
}

/// A client that sends so much of a write of 32 MiB, and whether all of it was taken.
fn stop_in_a_write(handshake: Handshake, payload: &[u8]) -> (Client, bool) {
    let mut client = handshake.go(Headers::Structured);
    client.stream.set_write_timeout(Some(Duration::from_millis(10))).unwrap();
    let request = Request { flags: 0, kind: command::WRITE, cookie: 1, offset: 0, length: 32 << 20 };
    let mut bytes = Vec::new();
    request.put(client.headers, &mut bytes);
    client.stream.write_all(&bytes).unwrap();
    let taken = client.stream.write_all(payload).is_ok();
    (client, taken)
}

/// Hangs while it is told to, except when it writes.
struct Hanging {
    memory: Memory,
    hangs: Arc<AtomicBool>,
}

impl Hanging {
    fn wait(&self) {
        while self.hangs.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Storage for Hanging {
    fn len(&self) -> u64 {
        self.memory.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.wait();
        self.memory.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.memory.write_at(buf, offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.wait();
        Ok(())
    }

    fn discard(&self, _: Range<u64>) -> io::Result<()> {
        Ok(())
    }
}

/// A storage that does not answer is left, unless something would be lost.
#[test]
fn a_hung_storage_is_waited_for_only_when_something_is_unwritten() {
    for (unwritten, read_only) in [(false, false), (false, true), (true, false)] {
        let (hangs, place) = (Arc::new(AtomicBool::new(false)), Place::new("hangs"));
        let hanging = Hanging { memory: Memory::zeroed(1 << 20), hangs: Arc::clone(&hangs) };
        let storage = Arc::new(Watched::new(hanging, |_| ()));
        let export = Export { rights: Rights { read_only, discards: true }, ..export(storage) };
        let front_end = Server::new(vec![export], Options::default()).unix(&place.0).unwrap();
        let mut client = connect(&place).go(Headers::Structured);
        if !read_only {
            client.write(0, 0, &[1; 512]);
        }
        if !unwritten {
            client.ask(command::FLUSH, 0, 0, 0);
        }
        hangs.store(true, Ordering::SeqCst);
        client.send(command::READ, 0, 0, 512, &[]);
        thread::sleep(Duration::from_millis(100));
        thread::scope(|scope| {
            let stopping = scope.spawn(|| front_end.stop());
            thread::sleep(Duration::from_secs(if unwritten { 6 } else { 0 }));
            assert!(!unwritten || !stopping.is_finished(), "something was lost");
            hangs.store(!unwritten, Ordering::SeqCst);
            stopping.join().unwrap().unwrap();
        });
        assert_eq!(hangs.swap(false, Ordering::SeqCst), !unwritten);
    }
}

#[test]
fn what_lies_at_the_sockets_path_in_the_end_stays() {
    let place = Place::new("other");
    let server = Server::new(vec![memory()], Options::default());
    let front_end = server.unix(&place.0).unwrap();
    std::fs::remove_file(&place.0).unwrap();
    std::fs::write(&place.0, "precious").unwrap();
    front_end.stop().unwrap();
    assert_eq!(std::fs::read(&place.0).unwrap(), b"precious");
    std::fs::remove_file(&place.0).unwrap();

    let front_end = server.unix(&place.0).unwrap();
    std::fs::remove_file(&place.0).unwrap();
    let another = Server::new(vec![memory()], Options::default()).unix(&place.0).unwrap();
    front_end.stop().unwrap();
    assert_eq!(connect(&place).go(Headers::Simple).read(0, 512), [0; 512], "the other server's socket");
    another.stop().unwrap();
    assert!(!place.0.exists());
}

#[test]
fn a_network_gets_nothing_in_the_clear() {
    let anywhere = ["0.0.0.0:0".parse().unwrap()];
    let refused = Server::new(vec![memory()], Options::default()).tcp(&anywhere);
    assert!(
        matches!(refused, Err(Error::Refused { kind: Refusal::Exposed, why }) if why.contains("0.0.0.0:0 without TLS"))
    );
    let wanted = Options { insecure_network: true, ..Options::default() };
    Server::new(vec![memory()], wanted).tcp(&anywhere).unwrap().stop().unwrap();
}

#[test]
fn several_exports_are_told_apart_by_name() {
    let server = Server::new(
        vec![
            Export { name: "small".to_owned(), ..export(Arc::new(Memory::zeroed(512))) },
            Export { name: "disk".to_owned(), ..export(Arc::new(Memory::zeroed(1024))) },
        ],
        Options::default(),
    );
    let front_end = server.tcp(&["127.0.0.1:0".parse().unwrap()]).unwrap();
    let mut client = begin_tcp(&front_end);
    let (end, list) = client.ask(option::LIST, &[]);
    assert_eq!((end, list.len()), (reply::ACK, 2));
    let none = info("", &[fact::NAME]);
    assert_eq!(client.ask(option::INFO, &none).0, reply::ERR_UNKNOWN);
    let mut client: Client = client.go(Headers::Structured);
    assert_eq!(client.read(512, 512), [0; 512]);
    assert_eq!(client.ask(command::READ, 0, 1024, 1).error, Errno::INVAL.0);
    front_end.stop().unwrap();
}
