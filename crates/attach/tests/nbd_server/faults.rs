//! Storage that fails and clients that lie: what is answered, and what is written.

use crate::client::{Client, Handshake, export, serve};
use keyway_attach::nbd::protocol::transmission::command;
use keyway_attach::nbd::protocol::{Errno, Headers, Request};
use keyway_attach::nbd::server::Options;
use keyway_volume::Storage;
use keyway_volume::device::storage::{Faulty, Memory};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Memory with a bad spot, on a device that has no room left behind a
/// certain place, and that takes its time.
struct Worn {
    memory: Memory,
    bad: Range<u64>,
    full_from: u64,
    pause: Duration,
}

impl Worn {
    fn new() -> Self {
        let memory = Memory::from(vec![9; 4 << 20]);
        Self { memory, bad: 1_000_000..1_000_001, full_from: 3 << 20, pause: Duration::ZERO }
    }
}

impl Storage for Worn {
    fn len(&self) -> u64 {
        self.memory.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset + buf.len() as u64;
        if offset < self.bad.end && self.bad.start < end {
            return Err(io::Error::from_raw_os_error(5));
        }
        self.memory.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        // The longer a write waits the earlier it began: writes that
        // are not held in order overtake each other.
        thread::sleep(self.pause * u32::from(255 - buf.first().copied().unwrap_or(0)));
        if offset + buf.len() as u64 > self.full_from {
            return Err(io::Error::from_raw_os_error(28));
        }
        self.memory.write_at(buf, offset)
    }

    fn flush(&self) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(5))
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.memory.discard(range)
    }
}

#[test]
fn a_failing_storage_fails_the_request_and_no_other() {
    for headers in [Headers::Simple, Headers::Structured, Headers::Extended] {
        let (mut client, _server) = Client::of(Arc::new(Worn::new()), headers);
        for _ in 0..3 {
            assert_eq!(client.ask(command::READ, 0, 999_000, 4096).error, Errno::IO.0);
            // In one piece, in several, and too long for simple replies to be held.
            for len in [200_000, 1 << 20, 3 << 20] {
                assert_eq!(client.ask(command::READ, 0, 900_000, len).error, Errno::IO.0);
            }
            for len in [4096, 100_000] {
                assert_eq!(client.write(0, 3 << 20, &vec![1; len]).error, Errno::NOSPC.0);
            }
            assert_eq!(client.ask(command::FLUSH, 0, 0, 0).error, Errno::IO.0);
            assert_eq!(client.write(0, 0, &[9; 4096]).error, 0);
            assert_eq!(client.read(0, 900_000), [9; 900_000]);
        }
    }
}

#[test]
fn what_a_broken_device_took_no_longer_is_not_acknowledged() {
    let storage = Arc::new(Faulty::breaking_at(vec![0; 1 << 20], 5, 100));
    let (mut client, _server) = Client::of(storage.clone(), Headers::Structured);
    let acknowledged: Vec<_> = (0..10u64).map(|i| client.write(0, i * 4096, &[1; 4096]).error == 0).collect();
    assert_eq!(acknowledged, [true, true, true, true, true, false, false, false, false, false]);
}

#[test]
fn writes_of_the_same_bytes_keep_their_order() {
    let pause = Duration::from_micros(40);
    for len in [4096u64, 65536] {
        let storage = Arc::new(Worn { pause, ..Worn::new() });
        let (mut client, _server) = Client::of(storage.clone(), Headers::Structured);
        for i in 0..200u8 {
            client.send(command::WRITE, 0, 512 * u64::from(i % 3), len, &vec![i; len as usize]);
        }
        for _ in 0..200 {
            assert_eq!(client.any_answer(|_| 0).error, 0);
        }
        assert_eq!(client.read(512, len), vec![199; len as usize]);
    }
}

/// What a client sends that does not survive it; the storage afterwards.
fn after(bytes: &[u8]) -> (Vec<u8>, io::Result<()>) {
    let storage = Arc::new(Memory::zeroed(1 << 20));
    let (stream, server) = serve(export(storage.clone()), Options::default());
    let mut client = Handshake::begin(stream).go(Headers::Structured);
    let _ = client.stream.write_all(bytes);
    let _ = client.stream.shutdown(std::net::Shutdown::Write);
    let _ = client.stream.read_to_end(&mut Vec::new());
    let result = server.join().unwrap();
    (storage.to_vec(), result)
}

#[test]
fn nothing_is_written_for_clients_that_lie_or_vanish() {
    let write = |length| {
        let mut bytes = Vec::new();
        let request = Request { flags: 0, kind: command::WRITE, cookie: 1, offset: 0, length };
        request.put(Headers::Structured, &mut bytes);
        bytes
    };
    let with = |mut bytes: Vec<u8>, payload: usize| {
        bytes.resize(bytes.len() + payload, 0x55);
        bytes
    };
    let cases = [
        ("no request", with(Vec::new(), 28)),
        ("half a header", write(4096)[..20].to_vec()),
        ("a small payload cut short", with(write(4096), 4095)),
        ("a large payload cut short", with(write(100_000), 99_999)),
        ("a payload beyond what is allowed", with(write((32 << 20) + 1), 100_000)),
        ("four gigabytes", with(write(u32::MAX.into()), 100_000)),
    ];
    for (what, bytes) in cases {
        let (storage, result) = after(&bytes);
        assert!(result.is_err(), "{what}");
        assert!(storage.iter().all(|byte| *byte == 0), "{what}");
    }
    // What came whole before is done.
    let (storage, result) = after(&[with(write(512), 512), with(write(4096), 100)].concat());
    assert!(result.is_err());
    assert!(storage[..512].iter().all(|byte| *byte == 0x55) && storage[512] == 0);
    assert!(after(&[]).1.is_ok());
}

#[test]
fn a_client_that_takes_no_answers_can_be_left() {
    let (mut client, server) = Client::of(Arc::new(Memory::zeroed(4 << 20)), Headers::Structured);
    for i in 0..64 {
        client.send(command::READ, 0, i * 4096, 3 << 20, &[]);
    }
    thread::sleep(Duration::from_millis(50));
    drop(client);
    assert!(server.join().unwrap().is_err());
}
