//! NBD servers that are silent, or send a byte now and then: termination within `--timeout`, exit
//! code 4, and the name of the server.

use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::timeouts;
use keyway_tests::{Run, Scratch, assert_same_bytes, keyway, random};
use std::fs::read;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any test should wait.
const LONG: Duration = timeouts::LATE;

#[test]
fn a_silent_nbd_server_and_a_trickle_end_in_time() {
    for manner in [Manner::Silent, Manner::TricklingGreeting, Manner::TricklingReplies(0)] {
        let server = Server::start(vec![0; 1 << 20], manner);
        let started = Instant::now();
        let failed = keyway("luksDump --timeout 2").arg(&server.uri).limit(LONG).fails(4);
        let failed = failed.says("the server did not answer within 2 s; try again later, or allow more");
        let failed = failed.says(&server.uri);
        assert_eq!(failed.errors().lines().count(), 1, "{failed}");
        assert!(started.elapsed() >= Duration::from_secs(2), "{manner:?}");
    }
}

#[test]
fn an_nbd_server_that_falls_silent_later_on_is_named() {
    let volume = Volume::new();
    // The header arrives, and then nothing.
    let server = Server::start(volume.image.clone(), Manner::TricklingReplies(16 << 20));
    let failed = volume.read(&server.uri).args("--timeout 1").fails(4);
    failed.says("the server did not answer within 1 s; try again later").says(&server.uri);
}

#[test]
fn who_waits_for_an_nbd_server_is_told_after_five_seconds() {
    let volume = Volume::new();
    let server = Server::start(volume.image.clone(), Manner::After(Duration::from_secs(6)));
    let outcome = volume.read(&server.uri).ok();
    let line = format!("Waiting for {}: no data for 5 s; giving up after 15 s (--timeout)", server.uri);
    assert!(outcome.errors().starts_with(&line), "{outcome}");
    assert_eq!(outcome.errors().lines().count(), 1);
    assert_same_bytes("read", &outcome.stdout, "plain", &volume.plain);
}

/// A volume of 1 MiB behind its header.
struct Volume {
    image: Vec<u8>,
    plain: Vec<u8>,
    scratch: Scratch,
}

impl Volume {
    fn new() -> Self {
        let scratch = Scratch::new();
        scratch.file("key", "secret");
        let (image, plain) = (scratch.sized("image", 17 << 20), random(51, 1 << 20));
        std::fs::write(scratch.path("plain"), &plain).unwrap();
        let key = scratch.path("key");
        keyway("luksFormat -q").arg(&image).arg(&key).args(CHEAP_LUKS2_PBKDF2).ok();
        keyway("write -d").arg(&key).arg(&image).arg(scratch.path("plain")).ok();
        Self { image: read(&image).unwrap(), plain, scratch }
    }

    fn read(&self, uri: &str) -> Run {
        keyway("read -d").arg(self.scratch.path("key")).arg(uri).limit(LONG)
    }
}

/// How a server behaves.
#[derive(Debug, Clone, Copy)]
enum Manner {
    /// Accepts connections and sends nothing.
    Silent,
    /// Sends a byte now and then, from the first byte.
    TricklingGreeting,
    /// Sends a byte now and then, in replies to reads at or after that offset.
    TricklingReplies(u64),
    /// Serves correctly, but only after a delay.
    After(Duration),
}

/// It serves `content` for as long as the test's process runs.
struct Server {
    uri: String,
}

impl Server {
    fn start(content: Vec<u8>, manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("nbd://{}/", listener.local_addr().unwrap());
        let content = Arc::new(content);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let content = Arc::clone(&content);
                // It ends when the client disconnects.
                thread::spawn(move || drop(serve(stream.unwrap(), &content, manner)));
            }
        });
        Self { uri }
    }
}

fn serve(mut stream: TcpStream, content: &[u8], manner: Manner) -> io::Result<()> {
    const GREETING: &[u8] = b"NBDMAGICIHAVEOPT\0\x03";
    match manner {
        Manner::Silent => return stream.read(&mut [0]).map(drop),
        Manner::TricklingGreeting => return trickle(&mut stream, GREETING),
        Manner::TricklingReplies(_) => {}
        Manner::After(time) => thread::sleep(time),
    }
    stream.write_all(GREETING)?;
    stream.read_exact(&mut [0; 4])?;
    while !is_agreed(&mut stream, content.len() as u64)? {}
    loop {
        let mut request = [0; 28];
        stream.read_exact(&mut request)?;
        let number = |bytes: &[u8]| bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        let (offset, length) = (number(&request[16..24]), number(&request[24..]));
        if request[6..8] != [0, 0] {
            return Ok(());
        }
        let data = &content[offset as usize..(offset + length) as usize];
        let reply = [b"\x67\x44\x66\x98\0\0\0\0", &request[8..16], data].concat();
        match manner {
            Manner::TricklingReplies(from) if offset >= from => trickle(&mut stream, &reply)?,
            _ => stream.write_all(&reply)?,
        }
    }
}

/// Answers an option: NBD_OPT_GO with size and flags, all others with NBD_REP_ERR_UNSUP.
fn is_agreed(stream: &mut TcpStream, size: u64) -> io::Result<bool> {
    let mut header = [0; 16];
    stream.read_exact(&mut header)?;
    let length = u32::from_be_bytes([header[12], header[13], header[14], header[15]]);
    stream.read_exact(&mut vec![0; length as usize])?;
    let mut reply = |kind: u32, data: &[u8]| {
        let front = [&0x3e889045565a9u64.to_be_bytes()[..], &header[8..12], &kind.to_be_bytes()].concat();
        stream.write_all(&[&front, &(data.len() as u32).to_be_bytes()[..], data].concat())
    };
    if header[8..12] != [0, 0, 0, 7] {
        reply(0x8000_0001, &[])?;
        return Ok(false);
    }
    reply(3, &[&[0, 0][..], &size.to_be_bytes(), &[0, 1]].concat())?;
    reply(1, &[])?;
    Ok(true)
}

fn trickle(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    for byte in bytes.iter().chain(std::iter::repeat(&0)).take(600) {
        stream.write_all(&[*byte])?;
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
