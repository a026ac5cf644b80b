//! Runs inside the test machine: Keyway's ublk front end called directly, in front of a plain volume
//! (aes-xts-plain64).
//!
//! ```text
//! ublk-disk IMAGE KEY-FILE [read-only] [discards]     then, from standard input: clients, stop, drop, die
//! ublk-disk remove DISK                               what a dead one left behind
//! ublk-disk neighbours DISK PLAINTEXT ROUNDS          clients of one sector of DISK, side by side
//! ```
//!
//! Every answer is a line on standard output; an error is its kind and its text.

use keyway_attach::ublk::{self, Device, Options};
use keyway_attach::{Error, Export, FrontEnd};
use keyway_crypto::{CipherSpec, Cpu, Secret, SectorSize};
use keyway_format::Sectors;
use keyway_tests::neighbours::{Client, Reads, side_by_side};
use keyway_volume::device::storage;
use keyway_volume::{PlainVolume, Rights, Storage, Volume};
use std::fs::{File, OpenOptions};
use std::io::stdin;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::{ExitCode, abort};
use std::sync::Arc;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["remove", disk] => match ublk::remove_dead(Path::new(disk)) {
            Ok(removed) => println!("removed: {removed}"),
            Err(error) => return complain(&error),
        },
        ["neighbours", disk, plaintext, rounds] => neighbours(disk, plaintext, rounds),
        [image, key, how @ ..] => match Device::add(export(image, key, how), Options::default()) {
            Ok(device) => serve(device),
            Err(error) => return complain(&error),
        },
        _ => return ExitCode::FAILURE,
    }
    ExitCode::SUCCESS
}

fn serve(device: Device) {
    println!("{}", device.place());
    for line in stdin().lines().map_while(Result::ok) {
        match line.as_str() {
            "clients" => println!("clients: {}", device.clients()),
            "stop" => match device.stop() {
                Ok(()) => return println!("stopped, {:?}", device.wait().is_ok()),
                Err(error) => drop(complain(&error)),
            },
            "die" => abort(),
            _ => break,
        }
    }
    drop(device);
    println!("dropped");
}

fn export(image: &str, key: &str, how: &[&str]) -> Export {
    let read_only = how.contains(&"read-only");
    let file = if read_only { storage::File::open(image) } else { storage::File::open_rw(image) };
    let file = Arc::new(file.expect("the image opens"));
    let volume = PlainVolume {
        spec: CipherSpec::parse("aes-xts-plain64").expect("it is known"),
        sector_size: SectorSize::S512,
        iv_large_sectors: false,
        offset: Sectors(0),
        skip: Sectors(0),
        size: None,
    };
    let layout = volume.layout(image, file.len()).expect("the image has sectors");
    let key = Secret::copy_from(&std::fs::read(key).expect("the key opens"));
    let volume = Volume::new(file, &layout, &key, Cpu::detect()).expect("the key fits");
    Export {
        name: "test".into(),
        description: String::new(),
        storage: Arc::new(volume),
        rights: Rights { read_only, discards: how.contains(&"discards") },
    }
}

fn neighbours(disk: &str, plaintext: &str, rounds: &str) {
    let plaintext = std::fs::read(plaintext).expect("the plaintext");
    let rounds = rounds.parse().expect("a number");
    let Reads { all, wrong } = side_by_side(&plaintext, true, rounds, || OnDisk::open(disk));
    println!("{wrong} of {all} reads are wrong");
}

/// A disk, whose requests are whole sectors. What is smaller is written through the kernel's cache, whose
/// page goes to the front end before what is read past it.
struct OnDisk {
    cached: File,
    direct: File,
    buffer: Vec<u8>,
}

impl OnDisk {
    fn open(disk: &str) -> Self {
        let open = |flags| OpenOptions::new().read(true).write(true).custom_flags(flags).open(disk);
        let (cached, direct) =
            (open(0).expect("the disk opens"), open(O_DIRECT).expect("past the cache, too"));
        Self { cached, direct, buffer: vec![0; 2 * PAGE] }
    }

    /// A page where direct requests may begin.
    fn page(&mut self) -> (&File, &mut [u8]) {
        let start = self.buffer.as_ptr().align_offset(PAGE);
        (&self.direct, &mut self.buffer[start..start + PAGE])
    }
}

impl Client for OnDisk {
    fn read(&mut self, offset: u64, len: usize) -> Vec<u8> {
        let (direct, page) = self.page();
        let within = offset as usize % PAGE;
        direct.read_exact_at(page, offset - within as u64).expect("a read");
        page[within..within + len].to_vec()
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        if data.len() < PAGE {
            return self.cached.write_all_at(data, offset).expect("a write");
        }
        let (direct, page) = self.page();
        page.copy_from_slice(data);
        direct.write_all_at(page, offset).expect("a write");
    }
}

const PAGE: usize = 4096;
const O_DIRECT: i32 = 0o40000;

fn complain(error: &Error) -> ExitCode {
    let kind = format!("{error:?}");
    println!("{}: {error}", kind.split(['(', ' ']).next().unwrap_or_default());
    ExitCode::FAILURE
}
