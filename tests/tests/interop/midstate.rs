//! Volumes that cryptsetup began to re-encrypt and was killed over: Keyway reads them as they are, takes
//! writes through a front end, and cryptsetup goes on afterwards and ends with the same data.

use crate::volume::Tool;
use keyway_tests::background::Background;
use keyway_tests::nbd::{Nbd, listens};
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{
    Run, Scratch, assert_same_bytes, cryptsetup, keyway, need, need_cryptsetup_to_reencrypt, random,
};
use std::fs;
use std::io::Read;
use std::path::PathBuf;

/// A volume in a file, its header there or in another, and its plaintext.
struct Volume {
    scratch: Scratch,
    path: PathBuf,
    header: Option<PathBuf>,
    key: PathBuf,
    plaintext: Vec<u8>,
    /// It is being made into a plain disk.
    decrypts: bool,
}

const DATA: usize = 48 << 20;

/// In the middle of zones; a header in a file of its own has 16 MiB.
const CUTS: [u64; 2] = [(20 << 20) + (300 << 10), (38 << 20) + (700 << 10)];

impl Volume {
    fn new(size: u64, header: bool) -> Self {
        let scratch = Scratch::new();
        Self {
            path: scratch.sized("volume", size),
            header: header.then(|| scratch.path("header")),
            key: scratch.file("key", "correct horse battery staple"),
            plaintext: random(17, DATA),
            decrypts: false,
            scratch,
        }
    }

    /// With an encrypted volume in it, which holds the plaintext.
    fn formatted(header: bool, options: &str) -> Self {
        let volume = Self::new(if header { DATA as u64 } else { (16 << 20) + DATA as u64 }, header);
        volume.run(cryptsetup, "luksFormat -q --type luks2").args(CHEAP_LUKS2_PBKDF2).args(options).ok();
        volume.run(keyway, "write").stdin(&volume.plaintext).ok();
        volume
    }

    fn run(&self, tool: Tool, line: &str) -> Run {
        let run = tool(line).arg("--key-file").arg(&self.key);
        let run = match &self.header {
            Some(header) => run.arg("--header").arg(header),
            None => run,
        };
        run.arg(&self.path)
    }

    fn metadata(&self) -> String {
        let mut header = [0; 16384];
        let file = fs::File::open(self.header.as_ref().unwrap_or(&self.path));
        match file.and_then(|mut file| file.read_exact(&mut header)) {
            Ok(()) => String::from_utf8_lossy(&header[4096..]).trim_end_matches('\0').to_owned(),
            Err(_) => String::new(),
        }
    }

    /// Goes on with cryptsetup, which is killed with a zone under its hands where it would write `cut`
    /// bytes into the volume or behind.
    fn kill_in_the_middle(&self, options: &str, cut: u64) {
        let run =
            self.run(cryptsetup, "reencrypt -q --force-offline-reencrypt --hotzone-size 1M").args(options);
        let ended = run.files_up_to(cut).outcome();
        assert!(ended.code.is_none() && self.metadata().contains("in-reencryption"), "{ended}");
    }

    fn assert_reads(&self) {
        let before = fs::read(&self.path).unwrap();
        let found = self.run(keyway, "read").ok().stdout;
        assert_same_bytes("keyway read", &found, "what was written", &self.plaintext);
        // A copy of the header that the kill tore may be completed; the data is not touched.
        let (now, data) = (fs::read(&self.path).unwrap(), if self.header.is_some() { 0 } else { 16 << 20 });
        assert!(now[data..] == before[data..], "reading has changed the volume");
    }

    /// Through a front end: reads all, and changes some of it.
    fn write_through_a_front_end(&mut self) {
        let socket = self.scratch.path("socket");
        let run = self.run(keyway, "serve").arg("--socket").arg(&socket);
        let mut served = Background::start(&run, || listens(&socket));
        let mut nbd = Nbd::connect_soon(&socket, "");
        assert_eq!(nbd.size, DATA as u64);
        let mut found = Vec::new();
        for at in (0..DATA).step_by(4 << 20) {
            found.extend(nbd.read(at as u64, 4 << 20).unwrap());
        }
        assert_same_bytes("through the front end", &found, "what was written", &self.plaintext);
        for (number, at) in (0..DATA - 70_000).step_by(1_300_001).enumerate() {
            let new = random(number as u64, 1 + number * 1777);
            nbd.write(at as u64, &new).unwrap();
            self.plaintext[at..at + new.len()].copy_from_slice(&new);
        }
        nbd.flush().unwrap();
        // Nobody goes on meanwhile: neither program.
        self.run(keyway, "serve").arg("--socket").arg(self.scratch.path("other")).fails(5).says("in use");
        drop(nbd);
        served.asked_to_end();
        assert!(self.metadata().contains("online-reencrypt"), "a front end ends no re-encryption");
        assert!(!self.metadata().contains("in-reencryption"), "the zone was completed first");
    }

    /// Goes on with cryptsetup to the end, where 2.6 has hot zones completed by another command first.
    fn assert_ends(self) {
        if self.metadata().contains("in-reencryption") {
            self.run(cryptsetup, "repair -q").ok();
        }
        self.run(cryptsetup, "reencrypt -q --force-offline-reencrypt --resume-only").ok();
        if self.decrypts {
            let found = fs::read(&self.path).unwrap();
            assert_same_bytes("the plain disk", &found[..DATA], "what was written", &self.plaintext);
            return;
        }
        assert!(!self.metadata().contains("online-reencrypt"));
        let found = self.run(keyway, "read").ok().stdout;
        assert_same_bytes("at the end", &found[..DATA], "what was written", &self.plaintext);
    }
}

/// Where it is killed, in bytes from the device's start: behind all headers.
fn visit(mut volume: Volume, options: &str, [first, second]: [u64; 2]) {
    volume.kill_in_the_middle(options, first);
    volume.assert_reads();
    volume.write_through_a_front_end();
    volume.assert_reads();
    volume.kill_in_the_middle("--resume-only", second);
    volume.assert_reads();
    volume.run(keyway, "luksAddKey -q").fails(1).says("keyway reencrypt --resume-only");
    volume.assert_ends();
}

#[test]
fn another_key_is_half_there() {
    need_cryptsetup_to_reencrypt!();
    need!("prlimit");
    for resilience in ["checksum", "journal"] {
        for header in [false, true] {
            let volume = Volume::formatted(header, "--sector-size 512");
            let options = format!("{CHEAP_LUKS2_PBKDF2} --resilience {resilience} --sector-size 4096");
            visit(volume, &options, if header { CUTS } else { CUTS.map(|cut| cut + (16 << 20)) });
        }
    }
}

#[test]
fn a_disk_is_half_encrypted() {
    need_cryptsetup_to_reencrypt!();
    need!("prlimit");
    // Where the header takes the data's place, and where it is elsewhere.
    let volume = Volume::new(DATA as u64 + (8 << 20), false);
    let mut disk = volume.plaintext.clone();
    disk.resize(DATA + (8 << 20), 0);
    fs::write(&volume.path, disk).unwrap();
    volume
        .run(cryptsetup, "reencrypt -q --encrypt --init-only --reduce-device-size 8M")
        .args(CHEAP_LUKS2_PBKDF2)
        .ok();
    // From the end to the start, in zones as large as the data is moved by.
    visit(volume, "--resume-only", [50 << 20, 46 << 20]);

    let volume = Volume::new(DATA as u64, true);
    fs::write(&volume.path, &volume.plaintext).unwrap();
    volume.run(cryptsetup, "reencrypt -q --encrypt --init-only").args(CHEAP_LUKS2_PBKDF2).ok();
    visit(volume, "--resume-only", CUTS);
}

#[test]
fn a_disk_is_half_decrypted() {
    need_cryptsetup_to_reencrypt!();
    need!("prlimit");
    let mut volume = Volume::formatted(false, "");
    volume.header = Some(volume.scratch.path("exported"));
    volume.decrypts = true;
    volume.run(cryptsetup, "reencrypt -q --decrypt --init-only --force-offline-reencrypt").ok();
    visit(volume, "--resume-only", CUTS);
}
