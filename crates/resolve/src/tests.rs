//! A DNS server run by the test, honest or not.

use super::*;
use crate::message::{Answer, Kind, answer, question};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

const NAME: &str = "store.example";

/// An answer to `question` with these records, each preceded by a pointer to the question's name.
fn reply(question: &[u8], flags: [u8; 2], records: &[(u8, &[u8])]) -> Vec<u8> {
    let mut message = question.to_vec();
    message[2..4].copy_from_slice(&flags);
    message[6..8].copy_from_slice(&(records.len() as u16).to_be_bytes());
    for (kind, data) in records {
        message.extend_from_slice(&[0xc0, 12, 0, *kind, 0, 1, 0, 0, 0, 9]);
        message.extend_from_slice(&(data.len() as u16).to_be_bytes());
        message.extend_from_slice(data);
    }
    message
}

const GOOD: [u8; 2] = [0x81, 0x80];

fn kind_of(question: &[u8]) -> u8 {
    question[question.len() - 3]
}

/// A server that answers each UDP query with the result of `answers`.
fn server(answers: impl Fn(&[u8]) -> Vec<Vec<u8>> + Send + 'static) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut packet = [0; 512];
        while let Ok((len, client)) = socket.recv_from(&mut packet) {
            for answer in answers(&packet[..len]) {
                let _ = socket.send_to(&answer, client);
            }
        }
    });
    address
}

fn honest(question: &[u8]) -> Vec<u8> {
    match kind_of(question) {
        1 => reply(question, GOOD, &[(1, &[10, 0, 0, 7])]),
        _ => reply(question, GOOD, &[]),
    }
}

fn seven() -> Vec<IpAddr> {
    vec![Ipv4Addr::new(10, 0, 0, 7).into()]
}

fn found(servers: Vec<SocketAddr>, name: &str) -> io::Result<Vec<IpAddr>> {
    look_up(name, "10.0.0.9 known", &Config::of(servers), Duration::from_secs(20))
}

#[test]
fn numbers_and_this_machine_need_nobody() {
    for (text, address) in [
        ("127.0.0.1", "127.0.0.1:7"),
        ("::1", "[::1]:7"),
        ("[::1]", "[::1]:7"),
        ("fe80::1%5", "[fe80::1%5]:7"),
    ] {
        let found = resolve(text, 7, Duration::ZERO).unwrap();
        assert_eq!(found, [address.parse::<SocketAddr>().unwrap()], "{text}");
    }
    assert_eq!(literal("fe80::1%lo", 7), Some(SocketAddrV6::new("fe80::1".parse().unwrap(), 7, 0, 1).into()));
    for name in ["localhost", "LOCALHOST.", "a.localhost"] {
        let found = resolve(name, 7, Duration::ZERO).unwrap();
        assert!(found.iter().all(|address| address.ip().is_loopback()) && found.len() == 2, "{name}");
    }
    assert_eq!(found(vec![], "KNOWN").unwrap(), [IpAddr::from([10, 0, 0, 9])]);
    let long = format!("{}.x", "a".repeat(64));
    for name in ["", ".", "a..b", "a b", "ä", "fe80::1%nowhere", "../x", &long, &"a.".repeat(200)] {
        assert_eq!(found(vec![], name).unwrap_err().kind(), ErrorKind::InvalidInput, "{name}");
    }
}

#[test]
fn a_name_is_looked_up_by_dns() {
    assert_eq!(found(vec![server(|q| vec![honest(q)])], "Store.Example.").unwrap(), seven());
    let nobody = server(|question| vec![reply(question, [0x81, 0x83], &[])]);
    let error = found(vec![nobody], NAME).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string()),
        (ErrorKind::NotFound, "no host is called store.example".into())
    );
    // A failing server does not end the search.
    let failing = server(|question| vec![reply(question, [0x81, 0x82], &[])]);
    assert_eq!(found(vec![failing, server(|q| vec![honest(q)])], NAME).unwrap(), seven());
    assert!(found(vec![failing], NAME).unwrap_err().to_string().contains("code 2"));
}

#[test]
fn answers_to_other_questions_are_not_taken() {
    let forging = |question: &[u8]| {
        let evil = |question: &[u8]| reply(question, GOOD, &[(1, &[6, 6, 6, 6]), (28, &[6; 16])]);
        let mut other_number = question.to_vec();
        other_number[0] ^= 1;
        let other_name =
            message::question(u16::from_be_bytes([question[0], question[1]]), "other.example", Kind::A);
        let mut no_answer = evil(question);
        no_answer[2] &= 0x7f;
        vec![evil(&other_number), evil(&other_name), no_answer, vec![], vec![0; 5], honest(question)]
    };
    assert_eq!(found(vec![server(forging)], NAME).unwrap(), seven());
}

#[test]
fn aliases_are_followed_and_addresses_of_other_names_left() {
    let asked = question(7, NAME, Kind::A);
    let other = b"\x05Other\x07example\0";
    let mut message = reply(&asked, GOOD, &[(5, other)]);
    message[7] = 3;
    for (owner, address) in [(&b"\x05other\xc0\x12"[..], [10, 0, 0, 7]), (b"\x08stranger\0", [6, 6, 6, 6])] {
        message.extend_from_slice(owner);
        message.extend_from_slice(&[0, 1, 0, 1, 0, 0, 0, 9, 0, 4]);
        message.extend_from_slice(&address);
    }
    assert_eq!(answer(&asked, &message), Some(Answer::Addresses(seven())));
    // Following a cycle of aliases terminates.
    let mut circle = reply(&asked, GOOD, &[(5, &[0xc0, 12])]);
    assert_eq!(answer(&asked, &circle), Some(Answer::Addresses(vec![])));
    // A pointer to itself, and one leading forwards.
    let at = circle.len() - 1;
    for target in [at - 1, at + 5] {
        circle[at] = target as u8;
        assert_eq!(answer(&asked, &circle), None);
    }
    for end in 0..message.len() {
        let _ = answer(&asked, &message[..end]);
    }
}

#[test]
fn what_does_not_fit_is_asked_for_by_tcp() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut len = [0; 2];
            stream.read_exact(&mut len).unwrap();
            let mut question = vec![0; u16::from_be_bytes(len) as usize];
            stream.read_exact(&mut question).unwrap();
            let answer = honest(&question);
            stream.write_all(&(answer.len() as u16).to_be_bytes()).unwrap();
            // In two pieces.
            stream.write_all(&answer[..5]).unwrap();
            stream.write_all(&answer[5..]).unwrap();
        }
    });
    let socket = UdpSocket::bind(address).unwrap();
    thread::spawn(move || {
        let mut packet = [0; 512];
        while let Ok((len, client)) = socket.recv_from(&mut packet) {
            let _ = socket.send_to(&reply(&packet[..len], [0x83, 0x80], &[]), client);
        }
    });
    assert_eq!(found(vec![address], NAME).unwrap(), seven());
}

#[test]
fn silence_ends_at_the_deadline() {
    let silent = server(|_| vec![]);
    let started = Instant::now();
    let config = Config::of(vec![silent; 3]);
    let error = look_up(NAME, "", &config, Duration::from_millis(300)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    // (Three servers have two seconds each, twice.)
    assert!(started.elapsed() < Duration::from_secs(11));
}
