//! Servers that are silent, or send a byte now and then: the client gives up in time.

use super::*;
use crate::nbd::protocol::transmission::MAX_HEADER;
use std::time::Instant;

/// A second for every answer, but more than any machine needs for the handshake.
pub(super) fn slow_answers() -> Options {
    Options { handshake: Duration::from_secs(20), ..limited() }
}

/// A second for everything.
fn limited() -> Options {
    let limit = Duration::from_secs(1);
    Options { handshake: limit, timeout: limit, changes: limit, ..short_timeouts() }
}

/// Sends one byte after another, for a minute at most.
fn trickle(stream: &mut UnixStream, bytes: impl IntoIterator<Item = u8>) {
    for byte in bytes.into_iter().take(600) {
        if stream.write_all(&[byte]).is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// Returns the error, which must be a timeout. The client waits for two seconds at most, but a busy
/// machine may need much longer.
fn gives_up<T>(work: impl FnOnce() -> T, error: impl FnOnce(T) -> String) {
    let started = Instant::now();
    let error = error(work());
    assert!(error.contains("did not answer within 1 s"), "{error}");
    assert!(started.elapsed() >= Duration::from_secs(1) && started.elapsed() < Duration::from_secs(40));
}

fn refused(connected: Result<Client>) -> String {
    match connected {
        Err(error @ Error::Connect(_)) => error.to_string(),
        other => panic!("{:?}", other.map(drop)),
    }
}

fn failed(result: io::Result<()>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    error.to_string()
}

#[test]
fn a_server_that_does_not_greet_is_given_up() {
    let uri = listen(|stream| {
        let _ = (&stream).read(&mut [0]);
    });
    gives_up(|| Client::connect(&uri, limited()), refused);
}

/// Nobody accepts connections: the listener's backlog is full.
#[test]
fn a_listener_that_accepts_nobody_is_given_up() {
    let name = format!("keyway-client-full-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let _first = UnixStream::connect_addr(&address).unwrap();
    let uri = Uri::parse(&format!("nbd+unix:///?socket=%00{name}")).unwrap();
    gives_up(|| Client::connect(&uri, limited()), refused);
}

#[test]
fn a_greeting_that_trickles_is_given_up() {
    let uri = listen(|mut stream| {
        // (An answer to an option that goes on for a long time.)
        let greeting = b"NBDMAGICIHAVEOPT\0\x03".iter().copied();
        let header =
            OptionReply { option: option::EXTENDED_HEADERS, kind: reply::ACK, length: 16 << 10 }.encode();
        trickle(&mut stream, greeting.chain(header).chain(std::iter::repeat(0)));
    });
    gives_up(|| Client::connect(&uri, limited()), refused);
    let uri = listen(|mut stream| {
        let _ = stream.write_all(b"NBDMAGICIHAVEOPT\0\x03");
        let header =
            OptionReply { option: option::EXTENDED_HEADERS, kind: reply::ACK, length: 16 << 10 }.encode();
        let _ = stream.write_all(&header);
        trickle(&mut stream, std::iter::repeat(0));
    });
    gives_up(|| Client::connect(&uri, limited()), refused);
}

#[test]
fn a_reply_that_trickles_is_given_up() {
    let fake = || Fake { slow_answers: true, ..Fake::default() };
    let client = fake().start(|stream, request| {
        let length = 8 + request.length;
        let chunk = Chunk { flags: 1, kind: chunk::OFFSET_DATA, cookie: request.cookie, offset: 0, length };
        let mut bytes = Vec::with_capacity(MAX_HEADER);
        chunk.put(Headers::Structured, &mut bytes);
        bytes.extend_from_slice(&request.offset.to_be_bytes());
        let _ = stream.write_all(&bytes);
        trickle(stream, std::iter::repeat(7));
    });
    gives_up(|| client.read_at(&mut [0; 4096], 0), failed);
    // Taking the samples is subject to the same limit.
    let silent = Fake { recognise: true, ..fake() };
    gives_up(|| silent.connect(|stream, _| trickle(stream, [0x66])), refused);
}

/// Others keep being answered.
#[test]
fn a_request_that_is_passed_over_is_given_up() {
    let client = Fake { slow_answers: true, ..Fake::default() }.start(|stream, request| {
        if request.offset > 0 {
            let payload = [&request.offset.to_be_bytes()[..], &[7; 512]].concat();
            let (headers, done) = (Headers::Structured, chunk_flags::DONE);
            send_chunk(stream, headers, request, done, chunk::OFFSET_DATA, &payload);
        }
    });
    let started = Instant::now();
    thread::scope(|scope| {
        let passed_over = scope.spawn(|| client.read_at(&mut [0; 512], 0));
        while !passed_over.is_finished() && started.elapsed() < Duration::from_secs(40) {
            let _ = client.read_at(&mut [0; 512], 4096);
            thread::sleep(Duration::from_millis(10));
        }
        assert!(passed_over.is_finished());
        failed(passed_over.join().unwrap());
    });
}

/// A server that receives nothing of a write.
#[test]
fn a_write_that_is_not_taken_is_given_up() {
    let fake = Fake { slow_answers: true, ..Fake::default() };
    let client = fake.start(|_, _| thread::sleep(Duration::from_secs(60)));
    let error = |result: io::Result<()>| result.unwrap_err().to_string();
    gives_up(|| client.write_at(&vec![1; SIZE as usize], 0), error);
}

/// The answer to whatever the client asks first.
#[test]
fn who_is_told_to_go_says_why() {
    let uri = listen(|mut stream| {
        let _ = stream.write_all(b"NBDMAGICIHAVEOPT\0\x03");
        let _ = stream.read_exact(&mut [0; 4 + OptionHeader::SIZE]);
        let option = option::EXTENDED_HEADERS;
        let header = OptionReply { option, kind: reply::ERR_SHUTDOWN, length: 8 }.encode();
        let _ = stream.write_all(&[&header[..], b"too many"].concat());
    });
    let error = refused(Client::connect(&uri, limited()));
    assert!(error.contains("accepts no more clients now (it says \"too many\")"), "{error}");
}

/// A server that cannot read is not a silent one, even if its error is a timeout.
#[test]
fn a_first_look_that_fails_is_done_without() {
    const ETIMEDOUT: Errno = Errno(110);
    for error in [Errno::IO, ETIMEDOUT] {
        let fake = Fake { recognise: true, slow_answers: true, ..Fake::default() };
        let client = fake.start(move |stream, request| {
            let mut bytes = Vec::new();
            let reply = transmission::Reply::Simple { cookie: request.cookie, error: Some(error) };
            reply.put(Headers::Structured, &mut bytes);
            let _ = stream.write_all(&bytes);
        });
        assert_eq!(client.len(), SIZE);
    }
}

/// A flush may be a lot of work, and requests issued meanwhile wait for it.
#[test]
fn changes_may_take_longer_than_reads() {
    let fake = Fake { slow_answers: true, changes: Some(Duration::from_secs(60)), ..Fake::default() };
    let client = fake.start(|stream, request| {
        if request.kind == command::FLUSH {
            thread::sleep(Duration::from_millis(1500));
            send_chunk(stream, Headers::Structured, request, chunk_flags::DONE, chunk::NONE, &[]);
        }
    });
    client.flush().unwrap();
    gives_up(|| client.read_at(&mut [0; 512], 0), failed);
}

/// A read is repeated when its connection was lost, but only once after silence.
#[test]
fn silence_is_not_waited_for_again_and_again() {
    for (hangs_up, times) in [(false, 2), (true, 4)] {
        let asked = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&asked);
        let client = Fake { slow_answers: true, ..Fake::default() }.start(move |stream, _| {
            count.fetch_add(1, Ordering::SeqCst);
            if hangs_up {
                let _ = stream.shutdown(std::net::Shutdown::Both);
            }
        });
        let error = client.read_at(&mut [0; 512], 0).unwrap_err();
        assert_eq!(error.kind() == ErrorKind::TimedOut, !hangs_up, "{error}");
        assert_eq!(asked.load(Ordering::SeqCst), times, "{error}");
    }
}
