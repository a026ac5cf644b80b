//! Several clients at once in one encryption sector of 4096 bytes, each in a part of its own. However the
//! requests fall, a byte reads as what was last written to it: also one beside which others write, and
//! one that nobody writes. Bytes that are read while they are written read as before or after, in
//! blocks of 512.

use crate::data::random;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A connection, or an open file.
pub trait Client {
    /// Reads `len` bytes.
    fn read(&mut self, offset: u64, len: usize) -> Vec<u8>;
    /// Writes all of `data`.
    fn write(&mut self, offset: u64, data: &[u8]);
}

/// How many reads there were, and how many gave what they must not.
#[derive(Debug, Default)]
pub struct Reads {
    /// All of them.
    pub all: usize,
    /// The wrong ones.
    pub wrong: usize,
}

/// Has clients work side by side, each with so many requests, in a volume that holds `plaintext`; if
/// the front end `is_whole`, half of a write is wrong, too.
pub fn side_by_side<C: Client>(
    plaintext: &[u8],
    is_whole: bool,
    rounds: usize,
    client: impl Fn() -> C + Sync,
) -> Reads {
    client().write(TOGETHER, &[0; 4096]);
    let (all, wrong) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (client, all, wrong) = (&client, &all, &wrong);
            scope.spawn(move || {
                let mut client = client();
                for round in 0..rounds {
                    let mut seen = Reads::default();
                    match is_whole && round % 4 == 3 {
                        true => seen.together(&mut client, number, round / 4),
                        false => seen.by_itself(&mut client, number, (rounds, round), plaintext),
                    }
                    all.fetch_add(seen.all, Ordering::Relaxed);
                    wrong.fetch_add(seen.wrong, Ordering::Relaxed);
                }
            });
        }
    });
    Reads { all: all.into_inner(), wrong: wrong.into_inner() }
}

impl Reads {
    /// Of eight parts in a row the first and the third belong to a writer each; every second belongs
    /// to nobody, and is what readers read. The parts are blocks, or share 16 bytes, and a sector, with
    /// their neighbours.
    fn by_itself(
        &mut self,
        client: &mut impl Client,
        number: usize,
        (rounds, round): (usize, usize),
        plaintext: &[u8],
    ) {
        let (area, len) = if round % 16 < 12 { (0, 512) } else { (8192, 509) };
        let part = |number: usize| area + number * len..area + (number + 1) * len;
        if number < WRITERS {
            let own = part(2 * number);
            let content = random((number * rounds + round) as u64, len);
            client.write(own.start as u64, &content);
            if round.is_multiple_of(8) {
                self.note(client.read(own.start as u64, len) == content);
            }
        } else {
            let beside = part(2 * (round / 4 % 4) + 1);
            self.note(client.read(beside.start as u64, len) == plaintext[beside]);
        }
    }

    /// Who writes writes a whole sector, who reads reads it or a part.
    fn together(&mut self, client: &mut impl Client, number: usize, round: usize) {
        match round % 4 {
            _ if number < WRITERS => client.write(TOGETHER, &[round as u8; 4096]),
            0 => self.note(client.read(TOGETHER, 4096).chunks(512).all(is_uniform)),
            block => self.note(is_uniform(&client.read(TOGETHER + 512 * block as u64, 512))),
        }
    }

    fn note(&mut self, is_right: bool) {
        self.all += 1;
        self.wrong += usize::from(!is_right);
    }
}

fn is_uniform(block: &[u8]) -> bool {
    block.iter().all(|byte| *byte == block[0])
}

const CLIENTS: usize = 4;
/// Of the clients.
const WRITERS: usize = 2;
/// The sector that one client writes and the others read.
const TOGETHER: u64 = 65536;
