//! Sockets that are listened on: who may connect, how many, and what happens at the end.

use crate::client::{Client, Handshake, export};
use keyway_attach::nbd::protocol::handshake::{info as fact, option, reply};
use keyway_attach::nbd::protocol::transmission::command;
use keyway_attach::nbd::protocol::{Errno, Headers};
use keyway_attach::nbd::server::{Listening, Options, Server};
use keyway_attach::{Door, Error, Export};
use keyway_volume::storage::{Faulty, Memory, faulty::Event};
use std::io::Read;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
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

fn memory() -> Export {
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
    let door = server.unix(&place.0).unwrap();
    assert!(door.place().starts_with("nbd+unix:///disk?socket=/"), "{}", door.place());
    assert!(door.place().ends_with("/a%20socket"), "{}", door.place());
    assert_eq!(std::fs::metadata(&place.0).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(server.unix(&place.0), Err(Error::Busy(_))), "somebody listens");

    let mut client = connect(&place).go(Headers::Structured);
    assert_eq!(client.read(0, 4096), [0; 4096]);
    // Whoever only looked whether somebody listens is gone soon.
    let patience = Instant::now() + Duration::from_secs(30);
    while door.clients() != 1 && Instant::now() < patience {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(door.clients(), 1);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| door.wait());
        door.stop().unwrap();
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(client.stream.read(&mut [0; 16]).unwrap(), 0, "hung up");
    assert!(!place.0.exists());
    assert_eq!(door.clients(), 0);
    door.stop().unwrap();
}

#[test]
fn a_socket_left_behind_is_replaced_and_other_files_are_not() {
    let place = Place::new("stale");
    drop(std::os::unix::net::UnixListener::bind(&place.0).unwrap());
    let server = Server::new(vec![memory()], Options::default());
    let door = server.unix(&place.0).unwrap();
    connect(&place).go(Headers::Simple).read(0, 512);
    door.stop().unwrap();
    std::fs::write(&place.0, "precious").unwrap();
    assert!(matches!(server.unix(&place.0), Err(Error::Busy(_))));
    assert_eq!(std::fs::read(&place.0).unwrap(), b"precious");
}

#[test]
fn stopping_answers_what_was_asked_and_flushes() {
    let place = Place::new("stop");
    let storage = Arc::new(Faulty::new(vec![0; 1 << 20]));
    let server = Server::new(vec![export(storage.clone())], Options::default());
    let door: Listening = server.unix(&place.0).unwrap();
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
        door.stop().unwrap();
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
    let door = server.unix(&place.0).unwrap();
    let mut first = connect(&place).go(Headers::Structured);
    let second = connect(&place);
    let mut third = UnixStream::connect(&place.0).unwrap();
    assert_eq!(third.read(&mut [0; 18]).unwrap_or(0), 0);
    assert_eq!(first.read(0, 512), [0; 512]);
    drop(second);
    while door.clients() > 1 {
        thread::sleep(Duration::from_millis(5));
    }
    connect(&place).go(Headers::Structured).read(0, 512);
    door.stop().unwrap();
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
    let door = server.tcp("127.0.0.1:0").unwrap();
    let place = door.place();
    let address = place.strip_prefix("nbd://").and_then(|rest| rest.strip_suffix('/')).unwrap();
    let stream = TcpStream::connect(address).unwrap();
    // The rest of these tests is about Unix sockets.
    let fd: std::os::fd::OwnedFd = stream.into();
    let mut client = Handshake::begin(fd.into());
    let (end, list) = client.ask(option::LIST, &[]);
    assert_eq!((end, list.len()), (reply::ACK, 2));
    let none = crate::client::info("", &[fact::NAME]);
    assert_eq!(client.ask(option::INFO, &none).0, reply::ERR_UNKNOWN);
    let mut client: Client = client.go(Headers::Structured);
    assert_eq!(client.read(512, 512), [0; 512]);
    assert_eq!(client.ask(command::READ, 0, 1024, 1).error, Errno::INVAL.0);
    door.stop().unwrap();
}
