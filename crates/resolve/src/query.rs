//! Queries to DNS servers: over UDP, or over TCP for answers that do not fit (RFC 1035, 4.2; RFC
//! 7766).
//!
//! The socket is connected, so the kernel accepts packets from the server only, and its port is
//! chosen by the kernel. In addition, an answer must repeat the query's id and question (RFC 5452).

use crate::config::Config;
use crate::message::{Answer, Kind, answer, question};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// The addresses of `name`; empty if a server says that there are none.
pub(crate) fn ask(config: &Config, name: &str, deadline: Instant) -> io::Result<Vec<IpAddr>> {
    let mut failure = io::Error::new(ErrorKind::TimedOut, "no DNS server answers");
    for _ in 0..config.attempts {
        for server in &config.servers {
            let until = deadline.min(Instant::now() + config.timeout);
            if Instant::now() >= deadline {
                return Err(failure);
            }
            match ask_server(*server, name, until) {
                Ok(addresses) => return Ok(addresses),
                Err(error) => failure = error,
            }
        }
    }
    Err(failure)
}

/// Sends both queries to one server.
fn ask_server(server: SocketAddr, name: &str, until: Instant) -> io::Result<Vec<IpAddr>> {
    let any: IpAddr =
        if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    let questions = [Kind::Aaaa, Kind::A].map(|kind| question(random(), name, kind));
    for question in &questions {
        socket.send(question)?;
    }
    let mut answers = [None, None];
    let mut packet = [0; LONGEST_PACKET];
    while answers.iter().any(Option::is_none) {
        let len = receive(&socket, &mut packet, until)?;
        for (question, slot) in questions.iter().zip(&mut answers) {
            if slot.is_none() {
                *slot = answer(question, &packet[..len]);
            }
        }
    }
    let mut found = Vec::new();
    for (question, answer) in questions.iter().zip(answers.into_iter().flatten()) {
        let whole = match answer {
            Answer::Truncated => ask_by_tcp(server, question, until)?,
            answer => answer,
        };
        match whole {
            Answer::Addresses(addresses) => found.extend(addresses),
            Answer::Failed(code) => return Err(failed(&format!("it cannot answer (code {code})"))),
            Answer::Truncated => return Err(failed("its answer is truncated")),
        }
    }
    Ok(found)
}

fn receive(socket: &UdpSocket, packet: &mut [u8], until: Instant) -> io::Result<usize> {
    socket.set_read_timeout(Some(left(until)?))?;
    match socket.recv(packet) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Err(too_late()),
        received => received,
    }
}

fn ask_by_tcp(server: SocketAddr, question: &[u8], until: Instant) -> io::Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&server, left(until)?)?;
    stream.set_write_timeout(Some(left(until)?))?;
    stream.write_all(&[&(question.len() as u16).to_be_bytes(), question].concat())?;
    let mut received = Vec::new();
    let mut piece = [0; LONGEST_PACKET];
    loop {
        if let Some((len, message)) = received.split_first_chunk::<2>()
            && message.len() >= usize::from(u16::from_be_bytes(*len))
        {
            let message = &message[..usize::from(u16::from_be_bytes(*len))];
            return answer(question, message).ok_or_else(|| failed("it gave an unexpected answer"));
        }
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(&mut piece) {
            Ok(0) => return Err(failed("it closed the connection")),
            Ok(count) => received.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(too_late()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(too_late()) } else { Ok(left) }
}

fn too_late() -> io::Error {
    io::Error::new(ErrorKind::TimedOut, "no DNS server answers")
}

fn failed(why: &str) -> io::Error {
    io::Error::other(format!("the DNS server fails: {why}"))
}

fn random() -> u16 {
    let mut bytes = [0; 2];
    // Without randomness the port and the question have to suffice.
    let _ = getrandom::fill(&mut bytes);
    u16::from_ne_bytes(bytes)
}

/// Without EDNS a UDP answer is no longer than 512 bytes.
const LONGEST_PACKET: usize = 1232;
