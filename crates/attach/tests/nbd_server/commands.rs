//! What each command does, in all three forms of headers.

use crate::client::{Answer, Client, Handshake, export, serve};
use keyway_attach::Export;
use keyway_attach::nbd::protocol::transmission::{command, command_flags};
use keyway_attach::nbd::protocol::{Errno, Headers};
use keyway_attach::nbd::server::Options;
use keyway_volume::device::storage::faulty::Event;
use keyway_volume::device::storage::{Faulty, Memory};
use keyway_volume::{Rights, Storage};
use std::sync::Arc;

const FORMS: [Headers; 3] = [Headers::Simple, Headers::Structured, Headers::Extended];

/// Bytes of which no two neighbourhoods are alike.
fn pattern(len: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn reads_of_every_length_yield_the_bytes() {
    let bytes = pattern(6 << 20);
    for headers in FORMS {
        let (mut client, server) = Client::of(Arc::new(Memory::from(bytes.clone())), headers);
        let lengths = [0, 1, 511, 4096, 32 << 10, (32 << 10) + 1, 256 << 10, (256 << 10) + 1, 5 << 20];
        for (offset, len) in lengths.into_iter().enumerate() {
            let expected = &bytes[offset..offset + len];
            if len == 0 {
                assert_eq!(client.ask(command::READ, 0, 3, 0), Answer { cookie: 1, ..Answer::default() });
            } else {
                assert!(client.read(offset as u64, len as u64) == expected, "{headers:?} {len}");
            }
        }
        client.send(command::DISC, 0, 0, 0, &[]);
        assert!(server.join().unwrap().is_ok());
    }
}

#[test]
fn writes_of_every_length_land_where_they_belong() {
    for headers in FORMS {
        let storage = Arc::new(Memory::zeroed(8 << 20));
        let (mut client, _server) = Client::of(storage.clone(), headers);
        let mut expected = vec![0; 8 << 20];
        let flags = if headers == Headers::Extended { command_flags::PAYLOAD_LEN } else { 0 };
        for (i, len) in [0, 1, 4096, 32 << 10, 32769, 1 << 20, 3 << 20].into_iter().enumerate() {
            let (offset, data) = (i * 777_777, pattern(len + i)[i..].to_vec());
            assert_eq!(client.write(flags, offset as u64, &data).error, 0);
            expected[offset..offset + len].copy_from_slice(&data);
        }
        assert!(storage.to_vec() == expected, "{headers:?}");
    }
}

#[test]
fn many_requests_at_once_are_all_answered() {
    let bytes = pattern(4 << 20);
    // Writes keep what is there, so that no order is needed.
    let requests: Vec<(u16, usize, usize)> = (0..400)
        .map(|i| {
            let kind = if i % 3 == 0 { command::WRITE } else { command::READ };
            (kind, (i * 7919) % (2 << 20), [4096, 100, 70_000, 200_000][i % 4])
        })
        .collect();
    for headers in FORMS {
        let (mut client, _server) = Client::of(Arc::new(Memory::from(bytes.clone())), headers);
        let mut sender = client.another();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for &(kind, offset, len) in &requests {
                    let payload = if kind == command::WRITE { &bytes[offset..offset + len] } else { &[] };
                    sender.send(kind, 0, offset as u64, len as u64, payload);
                }
            });
            let request = |cookie: u64| requests[cookie as usize - 1];
            let read =
                |cookie: u64| if request(cookie).0 == command::READ { request(cookie).2 as u64 } else { 0 };
            let mut answered = vec![false; requests.len()];
            for _ in &requests {
                let answer = client.any_answer(read);
                let (_, offset, _) = request(answer.cookie);
                let got = answer.data.into_iter().flat_map(|(_, bytes)| bytes).collect::<Vec<_>>();
                assert!(got == bytes[offset..offset + read(answer.cookie) as usize]);
                assert_eq!(answer.error, 0);
                assert!(!std::mem::replace(&mut answered[answer.cookie as usize - 1], true), "twice");
            }
        });
    }
}

#[test]
fn what_cannot_be_is_refused_and_the_next_request_served() {
    for headers in FORMS {
        let (mut client, _server) = Client::of(Arc::new(Memory::from(pattern(1 << 20))), headers);
        let (end, most) = (1 << 20, u64::from(u32::MAX));
        let cases = [
            (command::READ, 0, end, 1, Errno::INVAL),
            (command::READ, 0, u64::MAX, 4096, Errno::INVAL),
            (command::READ, 0, 0, most, Errno::INVAL),
            (command::READ, command_flags::NO_HOLE, 0, 1, Errno::INVAL),
            (command::WRITE_ZEROES, 0, end - 1, 2, Errno::NOSPC),
            (command::WRITE_ZEROES, command_flags::FAST_ZERO, 0, 4096, Errno::NOTSUP),
            (command::TRIM, 0, 4096, most, Errno::INVAL),
            (command::CACHE, 0, end, 1, Errno::INVAL),
            (command::BLOCK_STATUS, 0, end, 1, Errno::INVAL),
            (command::BLOCK_STATUS, 0, 0, 0, Errno::INVAL),
            (command::RESIZE, 0, 0, 4096, Errno::INVAL),
            (77, 0, 0, 0, Errno::INVAL),
        ];
        for (kind, flags, offset, length, errno) in cases {
            let answer = client.ask(kind, flags, offset, length);
            assert_eq!((answer.error, answer.data.len()), (errno.0, 0), "{headers:?}: {kind} at {offset}");
        }
        // The payload of a refused write is not taken for requests.
        for len in [5000, 100_000] {
            assert_eq!(client.write(0, end - 10, &vec![0x25; len]).error, Errno::NOSPC.0);
        }
        assert_eq!(client.read(end - 16, 16), pattern(1 << 20)[(1 << 20) - 16..]);
    }
}

#[test]
fn a_read_only_export_is_read_only() {
    let storage = Arc::new(Memory::from(pattern(1 << 20)));
    let (stream, _server) = serve(
        Export { rights: Rights { read_only: true, discards: true }, ..export(storage.clone()) },
        Options::default(),
    );
    let mut client = Handshake::begin(stream).go(Headers::Structured);
    assert_eq!(client.write(0, 0, &[1; 100]).error, Errno::PERM.0);
    assert_eq!(client.write(command_flags::FUA, 0, &[1; 200_000]).error, Errno::PERM.0);
    for kind in [command::TRIM, command::WRITE_ZEROES] {
        assert_eq!(client.ask(kind, 0, 0, 4096).error, Errno::PERM.0);
    }
    assert_eq!(client.ask(command::FLUSH, 0, 0, 0).error, 0);
    assert!(storage.to_vec() == pattern(1 << 20));
}

#[test]
fn flush_and_fua_reach_the_storage_before_they_are_answered() {
    let storage = Arc::new(Faulty::new(vec![0; 1 << 20]));
    let (mut client, _server) = Client::of(storage.clone(), Headers::Structured);
    let flushes = || storage.events().iter().filter(|event| **event == Event::Flush).count();
    client.write(0, 0, &[1; 512]);
    assert_eq!(flushes(), 0);
    client.write(command_flags::FUA, 0, &[2; 512]);
    assert_eq!(flushes(), 1);
    assert!(matches!(storage.events().last(), Some(Event::Flush)), "after the write");
    client.ask(command::WRITE_ZEROES, command_flags::FUA, 0, 4096);
    assert_eq!(flushes(), 2);
    client.ask(command::FLUSH, 0, 0, 0);
    assert_eq!(flushes(), 3);
    client.ask(command::READ, command_flags::FUA, 0, 512);
    assert_eq!(flushes(), 3);
}

#[test]
fn zeros_are_zeros_and_discards_are_passed_on_where_allowed() {
    for discards in [false, true] {
        let storage = Arc::new(Memory::from(pattern(1 << 20)));
        let (stream, _server) = serve(
            Export { rights: Rights { read_only: false, discards }, ..export(storage.clone()) },
            Options::default(),
        );
        let mut client = Handshake::begin(stream).go(Headers::Structured);
        assert_eq!(client.ask(command::WRITE_ZEROES, 0, 1000, 100_000).error, 0);
        assert_eq!(client.ask(command::TRIM, 0, 512 << 10, 4096).error, 0);
        let mut expected = pattern(1 << 20);
        expected[1000..101_000].fill(0);
        if discards {
            // (Memory's answer to a discard.)
            expected[512 << 10..(512 << 10) + 4096].fill(0);
        }
        assert!(storage.to_vec() == expected);
    }
}

#[test]
fn holes_are_told_and_not_promised_to_be_zeros() {
    for headers in [Headers::Structured, Headers::Extended] {
        let storage = Arc::new(Memory::zeroed(1 << 20));
        storage.write_at(&[1; 8192], 65536).unwrap();
        let (mut client, _server) = Client::of(storage, headers);
        let status = |client: &mut Client, flags, offset, length| {
            client.ask(command::BLOCK_STATUS, flags, offset, length).extents
        };
        assert_eq!(status(&mut client, 0, 0, 1 << 20), [(65536, 1), (8192, 0), ((1 << 20) - 73728, 1)]);
        assert_eq!(status(&mut client, 0, 65537, 8192), [(8191, 0), (1, 1)]);
        assert_eq!(status(&mut client, command_flags::REQ_ONE, 4096, 1 << 19), [(61440, 1)]);
    }
}

#[test]
fn a_read_that_shall_not_be_cut_is_not() {
    let bytes = pattern(3 << 20);
    let (mut client, _server) = Client::of(Arc::new(Memory::from(bytes.clone())), Headers::Structured);
    let whole = client.ask(command::READ, command_flags::DF, 7, 2 << 20);
    assert!(whole.data == [(7, bytes[7..7 + (2 << 20)].to_vec())]);
    assert_eq!(client.ask(command::READ, command_flags::DF, 7, (2 << 20) + 1).error, Errno::OVERFLOW.0);
}
