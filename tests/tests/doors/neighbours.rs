//! Several clients at once in one encryption sector ([`keyway_tests::neighbours`]), through every front end
//! and in every mode. (ublk has a machine of its own: tests/vm/neighbours.rs.)

use crate::mounted::Mounted;
use crate::served::Served;
use keyway_tests::nbd::Nbd;
use keyway_tests::neighbours::{Client, Reads, side_by_side};
use keyway_tests::{need, need_that};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

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

/// Has the clients work side by side, and counts what they read that they must not; if the front end
/// `is_whole`, that is also half of a write.
#[track_caller]
fn check<C>(
    mode: (&str, &str),
    front_end: &str,
    volume: &Mounted,
    is_whole: bool,
    client: impl Fn() -> C + Sync,
) where
    Own<C>: Client,
{
    let Reads { all, wrong } = side_by_side(&volume.plaintext, is_whole, ROUNDS, || Own(client()));
    eprintln!("{front_end}, {}: {wrong} of {all} reads are wrong", mode.0);
    assert_eq!(wrong, 0, "of {all} reads; {front_end}, {}", mode.0);
}

/// A client of this front end's.
struct Own<C>(C);

impl Client for Own<Nbd> {
    fn read(&mut self, offset: u64, len: usize) -> Vec<u8> {
        self.0.read(offset, len).expect("a read")
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        self.0.write(offset, data).expect("a write");
    }
}

impl Client for Own<File> {
    fn read(&mut self, offset: u64, len: usize) -> Vec<u8> {
        let mut data = vec![0; len];
        self.0.read_exact_at(&mut data, offset).expect("a read");
        data
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        self.0.write_all_at(data, offset).expect("a write");
    }
}

fn has_fuse() -> bool {
    File::options().read(true).write(true).open("/dev/fuse").is_ok()
}

/// Requests of a client.
const ROUNDS: usize = 16_000;
/// Plaintext, in bytes.
const LEN: usize = 1 << 20;
