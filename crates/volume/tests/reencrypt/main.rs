//! Re-encryption against power cuts: every way to do it is cut after every event, again and again
//! while it recovers, and in the end not a sector may be lost.

mod amid;
mod chosen;
mod convert;
mod disk;
mod draws;
mod forged;
mod limited;
mod locked;
mod luks1;
mod odd_device;
mod online;
mod open;
mod resumed;
mod simulator;
mod unused;

use chosen::{is_slow, seed};
use convert::{is_encrypted_with, is_under_way};
use disk::Disks;
use draws::{Draws, seeded};
use keyway_crypto::{Cpu, Secret};
use keyway_volume::change::create::{Luks2Params, create_luks2};
use keyway_volume::change::edit::AddKey;
use keyway_volume::device::storage::Memory;
use keyway_volume::reencrypt::rekey::{self, FirstBoot};
use keyway_volume::reencrypt::{Begin, Job, NewSlot, Options, Terms, Unused, VolumeKeys, begin, unlock};
use keyway_volume::{Access, Cost, Error, KdfChoice, Luks, Random, Storage, UnlockOptions, Volume};
use std::ops::Range;
use std::sync::Arc;

/// A way to re-encrypt.
#[derive(Debug, Clone)]
struct Case {
    kind: Kind,
    resilience: &'static str,
    sectors: (u32, u32),
    zone: Option<u64>,
    data_len: usize,
    /// The block of checksums.
    block: u32,
    /// What becomes of unused blocks, where they are left out: in about every second run.
    skip: Option<Unused>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Another key and cipher; the header in front of the data, or elsewhere.
    Key {
        detached: bool,
    },
    /// The same key, another cipher.
    Cipher,
    Encrypt {
        moves: bool,
    },
    Decrypt {
        moves: bool,
    },
    /// Another key, and the data moves back as a whole.
    Shift,
    /// As LUKS1 is encrypted and decrypted: the data moves as a whole.
    ShiftEncrypt,
    ShiftDecrypt,
    /// What was no LUKS volume, and has its data behind so many bytes of headers; 0: they are amid it.
    Convert {
        headers: usize,
    },
}

impl Kind {
    /// Whether no zone is written where it is read.
    fn moves_whole(self) -> bool {
        matches!(self, Self::Encrypt { moves: true } | Self::Shift | Self::ShiftEncrypt | Self::ShiftDecrypt)
    }
}

const HEADER: usize = 384 << 10;
/// By how much data moves that moves back as a whole.
const SHIFT: usize = 48 << 10;

fn kdf() -> KdfChoice {
    KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) }
}

fn secret(text: &str) -> Secret {
    Secret::copy_from(text.as_bytes())
}

fn key(byte: u8) -> Secret {
    Secret::copy_from(&(0..32).map(|i| i ^ byte).collect::<Vec<u8>>())
}

/// What a case begins with: the images of header and data device, and the plaintext.
struct Start {
    images: [Vec<u8>; 2],
    plaintext: Vec<u8>,
    /// What of it has to survive.
    used: Vec<Range<usize>>,
}

impl Start {
    /// Plaintext of which everything has to survive.
    fn of(plaintext: Vec<u8>) -> Self {
        let used = std::iter::once(0..plaintext.len()).collect();
        Self { images: [Vec::new(), Vec::new()], plaintext, used }
    }
}

impl Case {
    fn holds_header(&self) -> bool {
        matches!(self.kind, Kind::Key { detached: false } | Kind::Cipher | Kind::Shift)
    }

    /// The disk that holds the data: 0 has the header.
    fn data_disk(&self) -> usize {
        usize::from(!self.holds_header())
    }

    /// Whether the header that it begins with is that of the volume as it will be.
    fn begins_with_new_header(&self) -> bool {
        matches!(self.kind, Kind::Encrypt { .. } | Kind::ShiftEncrypt | Kind::Convert { .. })
    }

    fn params(&self, offset: u64) -> Luks2Params {
        Luks2Params {
            kdf: kdf(),
            key_bits: 256,
            sector_size: Some(match self.kind {
                _ if self.begins_with_new_header() => self.sectors.1,
                _ => self.sectors.0,
            }),
            keyslots_size: Some((HEADER - (32 << 10)) as u64),
            data_offset: Some(offset / 512),
            detached: !self.holds_header(),
            ..Luks2Params::default()
        }
    }

    fn start(&self, rng: &mut dyn Random) -> Start {
        let mut plaintext = vec![0; self.data_len];
        rng.fill(&mut plaintext).unwrap();
        self.start_with(plaintext, rng)
    }

    fn start_with(&self, mut plaintext: Vec<u8>, rng: &mut dyn Random) -> Start {
        let offset = match self.kind {
            Kind::Encrypt { moves: false }
            | Kind::Decrypt { moves: false }
            | Kind::Convert { .. }
            | Kind::Key { detached: true } => 0,
            _ => HEADER as u64,
        };
        let params = self.params(offset);
        let header = if self.holds_header() { HEADER + self.data_len } else { HEADER };
        let storage = Arc::new(Memory::zeroed(header));
        let mut luks = create_luks2(storage.clone(), &params, &key(1), &secret("one"), rng).unwrap();
        if !self.begins_with_new_header() {
            rekey::mark(&mut luks, rng).unwrap();
        }
        let data = match self.kind {
            Kind::Encrypt { moves } => {
                let mut data = plaintext.clone();
                data.resize(self.data_len + if moves { 2 * HEADER } else { 0 }, 0x5a);
                data
            }
            Kind::ShiftEncrypt => [&plaintext[..], &[0x5a; HEADER]].concat(),
            Kind::Convert { headers: 0 } => amid::device(self.sectors.0, &mut plaintext),
            Kind::Convert { headers } => convert::device(headers, self.sectors.0, &plaintext),
            _ => {
                let volume = Arc::new(Memory::zeroed(offset as usize + self.data_len));
                write_volume(&luks, volume.clone(), &key(1), &plaintext);
                volume.to_vec()
            }
        };
        let mut header = storage.to_vec();
        if self.kind == Kind::Shift {
            plaintext.truncate(self.data_len - SHIFT);
        }
        if self.holds_header() {
            header[HEADER..].copy_from_slice(&data[HEADER..]);
            return Start { images: [header, Vec::new()], ..Start::of(plaintext) };
        }
        let used = match self.kind {
            Kind::Convert { headers: 0 } => amid::used(self.data_len),
            _ => Start::of(plaintext.clone()).used,
        };
        Start { images: [header, data], plaintext, used }
    }

    fn begin(&self, disks: &Disks, rng: &mut dyn Random) -> Result<(), Error> {
        let mut luks = Luks::open(disks.disk(0), Access::Write)?;
        let data = disks.disk(self.data_disk());
        let passphrase = secret(if self.begins_with_new_header() { "one" } else { "two" });
        let options = AddKey { kdf: kdf(), ..AddKey::default() };
        let slots = [NewSlot { passphrase: &passphrase, options, replaces: Some(0) }];
        let new = key(2);
        let (foreign, conversion);
        let what = match self.kind {
            Kind::Key { .. } | Kind::Shift => Begin::Reencrypt {
                cipher: "aes-xts-plain64",
                sector_size: self.sectors.1,
                new: Some((&new, &slots)),
            },
            Kind::Cipher => {
                Begin::Reencrypt { cipher: "serpent-xts-plain64", sector_size: self.sectors.1, new: None }
            }
            Kind::Encrypt { moves } => Begin::Encrypt { moves },
            Kind::ShiftEncrypt => Begin::Encrypt { moves: false },
            Kind::Decrypt { .. } | Kind::ShiftDecrypt => Begin::Decrypt,
            Kind::Convert { headers } => {
                foreign = match headers {
                    0 => amid::foreign(self.sectors.0, self.data_len)?,
                    _ => convert::foreign(headers, self.sectors.0, self.data_len, data.len())?,
                };
                conversion = convert::with_slot(&foreign, &passphrase);
                Begin::Convert(&conversion)
            }
        };
        let shift = match self.kind {
            Kind::Shift => SHIFT as u64,
            Kind::ShiftEncrypt | Kind::ShiftDecrypt => HEADER as u64,
            _ => 0,
        };
        let terms = Terms {
            resilience: self.resilience.into(),
            block: self.block,
            holds_header: self.holds_header(),
            kdf: kdf(),
            zone: self.zone,
            shift,
            ..Terms::default()
        };
        begin(&mut luks, &*data, &key(1), what, &terms, rng)?;
        match what {
            Begin::Convert(conversion) if self.kind == (Kind::Convert { headers: 0 }) => {
                let _held = self.job(disks, None, rng)?;
                conversion.old.clear(&*data)
            }
            _ => Ok(()),
        }
    }

    /// Goes on until the end, or until the power fails.
    fn resume(&self, disks: &Disks, rng: &mut dyn Random) -> Result<(), Error> {
        let mut draw = [0];
        rng.fill(&mut draw)?;
        let mut job = self.job(disks, self.skip.filter(|_| draw[0] & 1 == 0), rng)?;
        while !job.step(rng)? {}
        Ok(())
    }

    fn job(&self, disks: &Disks, skip: Option<Unused>, rng: &mut dyn Random) -> Result<Job, Error> {
        let (mut job, keys) = self.job_with_keys(disks, rng)?;
        skip.map(|unused| job.skip_unused(unused, &keys, rng)).transpose()?;
        Ok(job)
    }

    fn job_with_keys(&self, disks: &Disks, rng: &mut dyn Random) -> Result<(Job, VolumeKeys), Error> {
        let luks = Luks::open(disks.disk(0), Access::Write)?;
        let limits = UnlockOptions { threads: 1, ..UnlockOptions::default() };
        let keys = match self.kind {
            Kind::Key { .. } | Kind::Shift => {
                let old = unlock_one(&luks, "one", 0, &limits)?;
                let new = unlock_one(&luks, "two", 1, &limits)?;
                VolumeKeys::new(Some(old), Some(new))
            }
            _ => unlock(&luks, &secret("one"), &limits)?,
        };
        let options = Options { zone: self.zone, holds_header: self.holds_header(), ..Options::default() };
        let data = disks.disk(self.data_disk());
        let job = Job::resume(luks, data, &keys, &options, rng)?;
        Ok((job, keys))
    }

    /// Whether the header says that all is done; panics if anything is lost.
    fn check(&self, images: &[Vec<u8>; 2], start: &Start, context: &str) -> bool {
        let plaintext = &start.plaintext;
        let header = Arc::new(Memory::from(images[0].clone()));
        let luks = Luks::open(header, Access::Write).unwrap_or_else(|e| panic!("{context}: {e}"));
        let keyway_volume::Header::Luks2 { binary, metadata } = luks.header() else { panic!("not LUKS2") };
        if metadata.reencryption().unwrap_or_else(|e| panic!("{context}: {e}")).is_some() {
            self.check_mark(&luks, false, context);
            return false;
        }
        let data = Arc::new(Memory::from(images[self.data_disk()].clone()));
        let is_old = metadata.keyslots.contains_key(&0);
        // Before it begins the header describes a volume that is not there yet.
        if self.begins_with_new_header() && binary.sequence_id == 1 {
            return false;
        }
        let found = match self.kind {
            _ if self.begins_with_new_header() => read_volume(&luks, data, &key(1), plaintext.len()),
            Kind::Decrypt { .. } | Kind::ShiftDecrypt if !is_old => data.to_vec()[..plaintext.len()].to_vec(),
            Kind::Key { .. } | Kind::Shift if !is_old => read_volume(&luks, data, &key(2), plaintext.len()),
            _ => read_volume(&luks, data, &key(1), plaintext.len()),
        };
        let is_there = |used: &Range<usize>| found[used.clone()] == plaintext[used.clone()];
        assert!(found.len() == plaintext.len() && start.used.iter().all(is_there), "{context}: lost");
        let is_done = match self.kind {
            Kind::Key { .. } | Kind::Shift | Kind::Decrypt { .. } | Kind::ShiftDecrypt => !is_old,
            Kind::Cipher => is_encrypted_with(&metadata.segments[&0], "serpent-xts-plain64"),
            Kind::Encrypt { .. } | Kind::ShiftEncrypt => true,
            Kind::Convert { .. } => {
                convert::check_headers_are_gone(&images[1]);
                true
            }
        };
        self.check_mark(&luks, is_done, context);
        is_done
    }

    /// A mark for the first boot is there exactly as long as the key that it is for.
    fn check_mark(&self, luks: &Luks, is_done: bool, context: &str) {
        if self.begins_with_new_header() {
            return;
        }
        let stays = !is_done || self.kind == Kind::Cipher;
        let expected = if stays { FirstBoot::Due } else { FirstBoot::Unmarked };
        assert_eq!(FirstBoot::of(luks.header()), expected, "{context}");
    }
}

fn unlock_one(luks: &Luks, passphrase: &str, digest: u32, limits: &UnlockOptions) -> Result<Secret, Error> {
    let options = UnlockOptions { digest: Some(digest), ..limits.clone() };
    keyway_volume::unlock(luks, &secret(passphrase), &options).map(|unlocked| unlocked.volume_key)
}

fn opened(luks: &Luks, key: &Secret) -> keyway_volume::Opened {
    let luks = Luks::open(luks.storage().clone(), Access::Read).unwrap();
    let digest = keyway_volume::verify_volume_key(&luks, key).unwrap();
    let terms = keyway_volume::Terms::default();
    let judged = keyway_volume::Admitted::judge(luks, None, &terms).unwrap();
    judged.open(Secret::copy_from(key.expose()), digest).unwrap()
}

fn write_volume(luks: &Luks, data: Arc<dyn Storage>, key: &Secret, plaintext: &[u8]) {
    let opened = opened(luks, key);
    let volume = Volume::new(data, opened.layout(), key, Cpu::detect()).unwrap();
    volume.write_at(plaintext, 0).unwrap();
}

fn read_volume(luks: &Luks, data: Arc<dyn Storage>, key: &Secret, len: usize) -> Vec<u8> {
    let opened = opened(luks, key);
    let volume = Volume::new(data, opened.layout(), key, Cpu::detect()).unwrap();
    let mut found = vec![0; len];
    volume.read_at(&mut found, 0).unwrap();
    found
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let kinds = [
        Kind::Key { detached: false },
        Kind::Key { detached: true },
        Kind::Cipher,
        Kind::Encrypt { moves: false },
        Kind::Encrypt { moves: true },
        Kind::Decrypt { moves: false },
        Kind::Decrypt { moves: true },
        Kind::Shift,
        Kind::ShiftEncrypt,
        Kind::ShiftDecrypt,
        Kind::Convert { headers: 512 },
        Kind::Convert { headers: convert::HEADERS },
        Kind::Convert { headers: 0 },
    ];
    for kind in kinds {
        for resilience in ["checksum", "journal"] {
            for (sectors, block) in
                [((512, 512), 512), ((512, 4096), 4096), ((4096, 512), 4096), ((4096, 4096), 4096)]
            {
                for (zone, data_len) in
                    [(Some(32 << 10), 160 << 10), (Some(64 << 10), 484 << 10), (None, 720 << 10)]
                {
                    let moves = matches!(kind, Kind::Encrypt { moves: true } | Kind::Decrypt { moves: true });
                    // Only what is written by chance is left out: data that moves has one protection.
                    let only = match kind {
                        Kind::Convert { .. } => "journal",
                        _ if kind.moves_whole() => "checksum",
                        _ => resilience,
                    };
                    // Such a device ends inside a larger sector.
                    let is_cut = kind == Kind::Convert { headers: 512 } && sectors.1 > 512;
                    if only != resilience || is_cut {
                        continue;
                    }
                    let zone = if moves && zone.is_none() { Some(128 << 10) } else { zone };
                    cases.push(Case { kind, resilience, sectors, zone, data_len, block, skip: None });
                }
            }
        }
    }
    cases
}
