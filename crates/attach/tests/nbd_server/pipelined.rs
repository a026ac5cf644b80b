//! Many requests under way at a time, of a byte to 32 MiB, over several connections, in all three
//! forms of headers: every byte is compared with a shadow of random data.

use crate::client::{Client, Handshake, export};
use keyway_attach::nbd::protocol::transmission::{MAX_HEADER, chunk, command};
use keyway_attach::nbd::protocol::{Headers, MAX_PAYLOAD, Reply};
use keyway_attach::nbd::server::{Options, Server};
use keyway_volume::Storage;
use keyway_volume::device::storage::Memory;
use std::collections::HashMap;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

#[test]
fn pipelined_clients_get_their_own_bytes_and_all_of_them() {
    for headers in [Headers::Simple, Headers::Structured, Headers::Extended] {
        for pause in [Duration::ZERO, Duration::from_micros(200)] {
            let mut content = vec![0; CONNECTIONS * REGION];
            Random(headers as u64 + 1).fill(&mut content);
            let storage = Arc::new(Slow { memory: Memory::from(content.clone()), pause });
            let server = Server::new(vec![export(storage.clone())], Options::default());
            thread::scope(|scope| {
                for (number, shadow) in content.chunks_mut(REGION).enumerate() {
                    let (ours, theirs) = UnixStream::pair().unwrap();
                    ours.set_read_timeout(Some(TIMEOUT)).unwrap();
                    let server = Arc::clone(&server);
                    scope.spawn(move || server.serve(theirs));
                    let client = Handshake::begin(ours).go(headers);
                    scope.spawn(move || pipeline(client, number, shadow));
                }
            });
            assert!(storage.memory.to_vec() == content, "{headers:?} {pause:?}: what was written");
        }
    }
}

/// Long reads beside small requests alone: the replies that were mixed.
#[test]
fn small_replies_stay_out_of_long_ones() {
    let mut content = vec![0; REGION];
    Random(77).fill(&mut content);
    let storage = Slow { memory: Memory::from(content.clone()), pause: Duration::from_micros(100) };
    let (mut client, _server) = Client::of(Arc::new(storage), Headers::Simple);
    let mut sender = client.another();
    let length = |cookie: u64| if cookie.is_multiple_of(8) { 5 << 20 } else { 4096 };
    thread::scope(|scope| {
        scope.spawn(|| {
            for cookie in 1..=160u64 {
                assert_eq!(sender.send(command::READ, 0, cookie * 999, length(cookie), &[]), cookie);
            }
        });
        for _ in 1..=160 {
            let answer = client.any_answer(length);
            let start = answer.cookie as usize * 999;
            assert_eq!(answer.error, 0);
            assert!(answer.data[0].1 == content[start..start + length(answer.cookie) as usize]);
        }
    });
}

/// Sends requests about its own region as long as few bytes are under
/// way, and compares what comes back.
fn pipeline(client: Client, number: usize, shadow: &mut [u8]) {
    let start = number * REGION;
    let mut sender = client.another();
    let receiver = Receiver { stream: client.stream, headers: client.headers, under_way: Mutex::default() };
    let (done, mut random) = (Condvar::new(), Random(number as u64 + 100));
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..REQUESTS {
                receiver.take_answer();
                done.notify_all();
            }
        });
        for _ in 0..REQUESTS {
            let (range, writes) = (random.range(), random.next() % 3 == 0);
            let place = (start + range.start) as u64;
            let mut payload = Vec::new();
            let mut under_way = receiver.under_way.lock().unwrap();
            while under_way.values().any(|other| other.is_in_the_way(&range, writes))
                || under_way.values().map(|other| other.range.len()).sum::<usize>() > MOST_UNDER_WAY
            {
                let waited = done.wait_timeout(under_way, TIMEOUT).unwrap();
                assert!(!waited.1.timed_out(), "no answers any more");
                under_way = waited.0;
            }
            if writes {
                payload = vec![0; range.len()];
                random.fill(&mut payload);
                shadow[range.clone()].copy_from_slice(&payload);
            }
            let expected = if writes { Vec::new() } else { shadow[range.clone()].to_vec() };
            let expected = Arc::new(expected);
            let asked = Asked { start: place, range: range.clone(), expected, got: 0 };
            let kind = if writes { command::WRITE } else { command::READ };
            // Its answer may come before the map knows of it.
            under_way.insert(sender.next_cookie(), asked);
            drop(under_way);
            sender.send(kind, 0, place, range.len() as u64, &payload);
        }
    });
}

/// A request that was not answered completely.
#[derive(Clone)]
struct Asked {
    start: u64,
    range: Range<usize>,
    /// Of a read.
    expected: Arc<Vec<u8>>,
    got: usize,
}

impl Asked {
    fn is_in_the_way(&self, range: &Range<usize>, writes: bool) -> bool {
        let overlaps = self.range.start < range.end && range.start < self.range.end;
        overlaps && (writes || self.expected.is_empty())
    }
}

struct Receiver {
    stream: UnixStream,
    headers: Headers,
    under_way: Mutex<HashMap<u64, Asked>>,
}

impl Receiver {
    /// Takes messages until some request is answered completely; chunks of several may alternate.
    fn take_answer(&self) {
        loop {
            let mut header = [0; MAX_HEADER];
            self.fill(&mut header[..4]);
            let size =
                Reply::size(self.headers, *header.first_chunk().unwrap()).expect("a reply's magic number");
            self.fill(&mut header[4..size]);
            match Reply::parse(self.headers, &header[..size]).unwrap() {
                Reply::Simple { cookie, error } => {
                    assert_eq!(error, None);
                    let asked = self.asked(cookie);
                    let len = if self.headers == Headers::Simple { asked.expected.len() } else { 0 };
                    self.compare(&asked, 0, len);
                    return self.finish(cookie, asked.got + len);
                }
                Reply::Chunk(chunk) => {
                    let mut asked = self.asked(chunk.cookie);
                    match chunk.kind {
                        chunk::OFFSET_DATA => {
                            let mut offset = [0; 8];
                            self.fill(&mut offset);
                            let (at, len) = (u64::from_be_bytes(offset) - asked.start, chunk.length - 8);
                            self.compare(&asked, at as usize, len as usize);
                            asked.got += len as usize;
                        }
                        kind => assert_eq!((kind, chunk.length), (chunk::NONE, 0)),
                    }
                    if chunk.is_last() {
                        return self.finish(chunk.cookie, asked.got);
                    }
                    self.under_way.lock().unwrap().insert(chunk.cookie, asked);
                }
            }
        }
    }

    /// It stays in the way of others until it is finished.
    fn asked(&self, cookie: u64) -> Asked {
        self.under_way.lock().unwrap().get(&cookie).expect("an answer to what was asked").clone()
    }

    fn compare(&self, asked: &Asked, at: usize, len: usize) {
        let mut bytes = vec![0; len];
        self.fill(&mut bytes);
        assert!(bytes == asked.expected[at..at + len], "other bytes at {} + {at}", asked.start);
    }

    fn finish(&self, cookie: u64, got: usize) {
        let asked = self.under_way.lock().unwrap().remove(&cookie).unwrap();
        assert_eq!(got, asked.expected.len(), "a read that was answered in part");
    }

    fn fill(&self, buf: &mut [u8]) {
        (&self.stream).read_exact(buf).unwrap();
    }
}

/// Memory that takes its time, so that requests are answered side by side.
struct Slow {
    memory: Memory,
    pause: Duration,
}

impl Storage for Slow {
    fn len(&self) -> u64 {
        self.memory.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        thread::sleep(self.pause);
        self.memory.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        thread::sleep(self.pause);
        self.memory.write_at(buf, offset)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, _: Range<u64>) -> io::Result<()> {
        Ok(())
    }
}

/// Marsaglia's xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        bytes
            .chunks_mut(7)
            .for_each(|chunk| chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]));
    }

    /// A part of a region: as often of bytes as of kilobytes and
    /// megabytes, and now and then as long as may be.
    fn range(&mut self) -> Range<usize> {
        let most = MAX_PAYLOAD as usize;
        let len = match self.next() % 32 {
            0 => most,
            n => (1usize << (n % 25)) + self.next() as usize % (1 << (n % 25)),
        };
        let len = len.min(most);
        let start = self.next() as usize % (REGION - len);
        start..start + len
    }
}

const CONNECTIONS: usize = 3;
/// A test that waits longer has failed.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Each connection's part of the export, in bytes.
const REGION: usize = 33 << 20;
/// On each connection.
const REQUESTS: usize = 40;
/// Bytes that are asked for or written at a time.
const MOST_UNDER_WAY: usize = 48 << 20;
