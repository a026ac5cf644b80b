//! Runs inside the test machine: Keyway's device-mapper layer called directly, beside `dmsetup`,
//! `losetup` and `cryptsetup`.
//!
//! ```text
//! mapper create NAME UUID SECTORS KIND [PARAMETERS]     `read-only` or `private` before NAME
//! mapper luks2 NAME VOLUME-UUID KEY-FILE SECTORS CIPHER DEVICE OFFSET [OPTIONS]     with the key in the keyring
//! mapper table|keys|info|deps|suspend|resume|clear|remove|defer|cancel|wipe NAME
//! mapper set-key NAME KEY-FILE
//! mapper reload NAME SECTORS KIND [PARAMETERS]
//! mapper list
//! mapper loop FILE NAME          maps the file through a loop device that goes with the mapping
//! ```
//!
//! An error is one line on standard output: its kind and its text.

use keyway_attach::Result;
use keyway_attach::dm::crypt::{self, Key, Line};
use keyway_attach::dm::keyring::VolumeKey;
use keyway_attach::dm::loopback::{Loop, Options as LoopOptions, backing_file};
use keyway_attach::dm::{DeviceNumber, Flags, Mapper, Suspend, Target, uuid};
use keyway_crypto::Secret;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let kind = format!("{error:?}");
            let kind = kind.split(['(', ' ']).next().unwrap_or_default();
            println!("{kind}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Result<()> {
    let mapper = Mapper::open()?;
    match args {
        ["create", "read-only", name, uuid, rest @ ..] => mapper
            .create(name, uuid, &[target(rest)], Flags { read_only: true, ..Flags::default() })
            .map(drop),
        ["create", "private", name, uuid, rest @ ..] => {
            mapper.create(name, uuid, &[target(rest)], Flags { private: true, ..Flags::default() }).map(drop)
        }
        ["create", name, uuid, rest @ ..] => {
            mapper.create(name, uuid, &[target(rest)], Flags::default()).map(drop)
        }
        ["luks2", name, volume, key, rest @ ..] => luks2(&mapper, name, volume, &secret(key), rest),
        ["reload", name, rest @ ..] => mapper.reload(name, &[target(rest)], Flags::default()),
        ["table", name] => table(&mapper, name, false),
        ["keys", name] => table(&mapper, name, true),
        ["info", name] => mapper.status(name).map(|info| println!("{info:?}")),
        ["deps", name] => mapper.deps(name).map(|deps| deps.iter().for_each(|device| println!("{device}"))),
        ["suspend", name] => mapper.suspend(name, Suspend::default()),
        ["resume", name] => mapper.resume(name, Flags::default()),
        ["clear", name] => mapper.clear(name),
        ["remove", name] => mapper.remove(name, false),
        ["defer", name] => mapper.remove(name, true),
        ["cancel", name] => mapper.cancel_deferred(name),
        ["wipe", name] => mapper.message(name, &crypt::message::wipe_key()),
        ["set-key", name, key] => mapper.message(name, &crypt::message::set_key(&Key::Bytes(secret(key)))),
        ["list"] => {
            mapper.list().map(|list| list.iter().for_each(|(name, device)| println!("{name} {device}")))
        }
        ["loop", file, name] => through_loop(&mapper, file, name),
        other => panic!("what is {other:?}?"),
    }
}

/// As cryptsetup opens LUKS2: the table line names a key in the keyring.
fn luks2(mapper: &Mapper, name: &str, volume: &str, key: &Secret, rest: &[&str]) -> Result<()> {
    let [sectors, cipher, device, offset, options @ ..] = rest else { panic!("what is {rest:?}?") };
    let in_keyring = VolumeKey::add(volume, 0, key)?;
    let mut line = Line {
        cipher: (*cipher).into(),
        key: Key::InKeyring(in_keyring.reference.clone()),
        iv_offset: 0,
        device: DeviceNumber::at(Path::new(device))?,
        offset: number(offset),
        options: crypt::Options::default(),
    };
    for option in options {
        match option.strip_prefix("sector_size:") {
            Some(size) => line.options.sector_size = size.parse().ok(),
            None => line.options.others.push((*option).into()),
        }
    }
    let uuid = uuid::of_mapping("LUKS2", Some(volume), name);
    mapper.create(name, &uuid, &[Target::crypt(0, number(sectors), &line)], Flags::default()).map(drop)
}

fn through_loop(mapper: &Mapper, file: &str, name: &str) -> Result<()> {
    let options = LoopOptions { autoclear: true, ..LoopOptions::default() };
    let attached = Loop::attach(Path::new(file), options)?;
    let device = attached.number()?;
    let sectors = std::fs::metadata(file).expect("the file is there").len() / 512;
    mapper.create(name, "", &[Target::linear(0, sectors, device, 0)], Flags::default())?;
    println!("{}", backing_file(device).unwrap_or_default().display());
    Ok(())
}

fn table(mapper: &Mapper, name: &str, with_keys: bool) -> Result<()> {
    for target in mapper.table(name, with_keys)? {
        let parameters = String::from_utf8_lossy(target.parameters.expose());
        println!("{} {} {} {parameters}", target.start, target.length, target.kind);
    }
    Ok(())
}

fn target(words: &[&str]) -> Target {
    let [sectors, kind, parameters @ ..] = words else { panic!("what is {words:?}?") };
    let parameters = Secret::copy_from(parameters.join(" ").as_bytes());
    Target { start: 0, length: number(sectors), kind: (*kind).into(), parameters }
}

fn secret(path: &str) -> Secret {
    Secret::copy_from(&std::fs::read(path).expect("the key file can be read"))
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}
