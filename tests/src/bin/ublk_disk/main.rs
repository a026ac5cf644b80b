//! Runs inside the test machine: Keyway's ublk door called directly, in front of a plain volume
//! (aes-xts-plain64).
//!
//! ```text
//! ublk-disk IMAGE KEY-FILE [read-only] [discards]     then, from standard input: clients, stop, drop, die
//! ublk-disk remove DISK                               what a dead one left behind
//! ```
//!
//! Every answer is a line on standard output; an error is its kind and its text.

use keyway_attach::ublk::{self, Device, Options};
use keyway_attach::{Door, Error, Export};
use keyway_crypto::{CipherSpec, Cpu, Secret, SectorSize};
use keyway_format::Sectors;
use keyway_volume::device::storage::File;
use keyway_volume::{PlainVolume, Rights, Storage, Volume};
use std::io::stdin;
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
    let file = if read_only { File::open(image) } else { File::open_rw(image) };
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

fn complain(error: &Error) -> ExitCode {
    let kind = format!("{error:?}");
    println!("{}: {error}", kind.split(['(', ' ']).next().unwrap_or_default());
    ExitCode::FAILURE
}
