//! Several clients at once in one encryption sector, each in a part of its own, through every door and
//! in every mode. However the requests fall, a byte reads as what was last written to it: also one
//! beside which others write, and one that nobody writes. Bytes that are read while they are written
//! read as before or after, in blocks of 512.

use crate::mounted::Mounted;
use crate::served::Served;
use keyway_tests::nbd::Nbd;
use keyway_tests::{need, need_that, random};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

#[test]
fn over_nbd() {
    for mode in MODES {
        let volume = volume(mode);
        let socket = volume.scratch.path("nbd.sock");
        let mut served =
            Served::start(&volume.keyway("serve").arg("--socket").arg(&socket).arg(&volume.volume));
        served.ready();
        check(mode, "serve", &volume, true, || Nbd::connect(&socket, "").expect("a server"));
        served.terminate();
        assert_eq!(served.wait(), Some(0));
    }
}

#[test]
fn over_fuse() {
    need!("fusermount3");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    for options in ["", "--writeback", "--direct"] {
        // The kernel's cache gives readers half of what is being written to it, as for any file, and
        // asks for whole pages.
        let is_whole = options == "--direct";
        for mode in if is_whole { &MODES[..] } else { &MODES[2..3] } {
            let volume = volume(*mode);
            volume.mount(options).ok().says("is mounted");
            let file = volume.file();
            check(*mode, &format!("mount {options}"), &volume, is_whole, || {
                OpenOptions::new().read(true).write(true).open(&file).expect("the volume's file")
            });
            volume.unmount();
        }
    }
}

/// A cipher and the size of its key. In the first two a change of one byte changes some of the
/// sector's ciphertext, in the others all of it.
const MODES: [(&str, &str); 4] = [
    ("aes-xts-plain64", "512"),
    ("aes-cbc-essiv:sha256", "256"),
    ("xchacha12,aes-adiantum-plain64", "256"),
    ("aes-hctr2-plain64", "256"),
];

fn volume((cipher, bits): (&str, &str)) -> Mounted {
    let format = "--type luks2 --sector-size 4096 --pbkdf pbkdf2";
    Mounted::built(&format!("{format} --cipher {cipher} --key-size {bits}"), LEN)
}

/// Has the clients work side by side, and counts what they read that they must not; if the door
/// `is_whole`, that is also half of a write.
#[track_caller]
fn check<C: Client>(
    mode: (&str, &str),
    door: &str,
    volume: &Mounted,
    is_whole: bool,
    client: impl Fn() -> C + Sync,
) {
    client().write(TOGETHER, &[0; 4096]);
    let (reads, wrong) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (client, volume, reads, wrong) = (&client, volume, &reads, &wrong);
            scope.spawn(move || {
                let mut client = client();
                for round in 0..ROUNDS {
                    let mut seen = Seen::default();
                    match is_whole && round % 4 == 3 {
                        true => seen.together(&mut client, number, round / 4),
                        false => seen.by_itself(&mut client, number, round, &volume.plaintext),
                    }
                    reads.fetch_add(seen.reads, Ordering::Relaxed);
                    wrong.fetch_add(seen.wrong, Ordering::Relaxed);
                }
            });
        }
    });
    let (reads, wrong) = (reads.into_inner(), wrong.into_inner());
    eprintln!("{door}, {}: {wrong} of {reads} reads are wrong", mode.0);
    assert_eq!(wrong, 0, "of {reads} reads; {door}, {}", mode.0);
}

#[derive(Default)]
struct Seen {
    reads: usize,
    wrong: usize,
}

impl Seen {
    /// Of eight parts in a row the first and the third belong to a writer each; every second belongs
    /// to nobody, and is what readers read. The parts are blocks, or share 16 bytes, and a sector, with
    /// their neighbours.
    fn by_itself(&mut self, client: &mut impl Client, number: usize, round: usize, plaintext: &[u8]) {
        let (area, len) = if round % 16 < 12 { (0, 512) } else { (8192, 509) };
        let part = |number: usize| area + number * len..area + (number + 1) * len;
        if number < WRITERS {
            let own = part(2 * number);
            let content = random((number * ROUNDS + round) as u64, len);
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
        self.reads += 1;
        self.wrong += usize::from(!is_right);
    }
}

fn is_uniform(block: &[u8]) -> bool {
    block.iter().all(|byte| *byte == block[0])
}

/// A connection, or an open file.
trait Client {
    fn read(&mut self, offset: u64, len: usize) -> Vec<u8>;
    fn write(&mut self, offset: u64, data: &[u8]);
}

impl Client for Nbd {
    fn read(&mut self, offset: u64, len: usize) -> Vec<u8> {
        Nbd::read(self, offset, len).expect("a read")
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        Nbd::write(self, offset, data).expect("a write");
    }
}

impl Client for File {
    fn read(&mut self, offset: u64, len: usize) -> Vec<u8> {
        let mut data = vec![0; len];
        self.read_exact_at(&mut data, offset).expect("a read");
        data
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        self.write_all_at(data, offset).expect("a write");
    }
}

fn has_fuse() -> bool {
    File::options().read(true).write(true).open("/dev/fuse").is_ok()
}

const CLIENTS: usize = 4;
/// Of the clients.
const WRITERS: usize = 2;
/// Requests of a client.
const ROUNDS: usize = 16_000;
/// Plaintext, in bytes.
const LEN: usize = 1 << 20;
/// The sector that one client writes and the others read.
const TOGETHER: u64 = 65536;
