//! What an edit writes, byte by byte and in which order: new key material before the header
//! that names it, old material overwritten in all its length, each step flushed, and what
//! storage gives back compared with what was written.

mod luks1;
mod luks2;
mod on_storage;
mod removal;

use keyway_crypto::Secret;
use keyway_volume::change::create::{Luks1Params, Luks2Params, create_luks1, create_luks2};
use keyway_volume::change::edit::{self, AddKey};
use keyway_volume::device::storage::Memory;
use keyway_volume::unlock;
use keyway_volume::{Access, Cost, Error, KdfChoice, Luks, OsRandom, Storage, UnlockOptions, Unlocked};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Storage that remembers what was done to it; while it `lies`, it takes writes and forgets them.
struct Noted {
    memory: Memory,
    steps: Mutex<Vec<Step>>,
    lies: AtomicBool,
    /// Writes that touch these bytes fail.
    broken: Mutex<Vec<Range<u64>>>,
    /// So many flushes work, then none does.
    flushes: AtomicU32,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Write(u64, Vec<u8>),
    Flush,
}
use Step::{Flush, Write};

impl Storage for Noted {
    fn len(&self) -> u64 {
        self.memory.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.memory.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let end = offset + buf.len() as u64;
        if self.broken.lock().unwrap().iter().any(|bad| bad.start < end && offset < bad.end) {
            return Err(io::Error::other("bad sector"));
        }
        self.steps.lock().unwrap().push(Write(offset, buf.to_vec()));
        if self.lies.load(Ordering::Relaxed) { Ok(()) } else { self.memory.write_at(buf, offset) }
    }

    fn flush(&self) -> io::Result<()> {
        if self
            .flushes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .is_err()
        {
            return Err(io::Error::other("no flush"));
        }
        self.steps.lock().unwrap().push(Flush);
        Ok(())
    }

    fn discard(&self, _: Range<u64>) -> io::Result<()> {
        Ok(())
    }
}

impl Noted {
    fn zeroed(len: usize) -> Arc<Self> {
        Self::of(Memory::zeroed(len))
    }

    fn of(memory: Memory) -> Arc<Self> {
        Arc::new(Self {
            memory,
            steps: Mutex::default(),
            lies: AtomicBool::new(false),
            broken: Mutex::default(),
            flushes: AtomicU32::new(u32::MAX),
        })
    }

    /// What was done since the last look.
    fn steps(&self) -> Vec<Step> {
        std::mem::take(&mut self.steps.lock().unwrap())
    }
}

fn cheap() -> KdfChoice {
    KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) }
}

fn secret(text: &str) -> Secret {
    Secret::copy_from(text.as_bytes())
}

fn key() -> Secret {
    Secret::copy_from(&(0..64).collect::<Vec<u8>>())
}

/// Passphrase "slot 0" in slot 0, under keys of 64 bytes.
fn luks1_volume() -> (Arc<Noted>, Luks) {
    let storage = Noted::zeroed(3 << 20);
    let params = Luks1Params { kdf: cheap(), ..Luks1Params::default() };
    let luks = create_luks1(storage.clone(), &params, &key(), &secret("slot 0"), &mut OsRandom).unwrap();
    storage.steps();
    (storage, luks)
}

fn luks2_of(params: Luks2Params) -> (Arc<Noted>, Luks) {
    let storage = Noted::zeroed((3 << 20) + 4096);
    let params = Luks2Params { kdf: cheap(), keyslots_size: Some(2 << 20), key_bits: 512, ..params };
    let luks = create_luks2(storage.clone(), &params, &key(), &secret("slot 0"), &mut OsRandom).unwrap();
    storage.steps();
    (storage, luks)
}

fn luks2_volume() -> (Arc<Noted>, Luks) {
    luks2_of(Luks2Params::default())
}

fn options(keyslot: Option<u32>) -> AddKey {
    AddKey { keyslot, kdf: cheap(), ..AddKey::default() }
}

fn add(luks: &mut Luks, passphrase: &str, keyslot: Option<u32>) -> Result<u32, String> {
    let added = edit::add_key(luks, &key(), &secret(passphrase), &options(keyslot), &mut OsRandom);
    added.map_err(|why| why.to_string())
}

fn opened(luks: &Luks, passphrase: &str) -> Result<Unlocked, Error> {
    unlock(luks, &secret(passphrase), &UnlockOptions::default())
}

fn change(luks: &mut Luks, old: &str, new: &str, keyslot: Option<u32>) -> Result<u32, String> {
    let unlocked = opened(luks, old).unwrap();
    let changed = edit::change_key(luks, &unlocked, &secret(new), &options(keyslot), &mut OsRandom);
    changed.map_err(|why| why.to_string())
}

/// The slot that a passphrase opens, of the header in memory and of the one on storage.
fn slot(storage: &Arc<Noted>, luks: &Luks, passphrase: &str) -> Option<u32> {
    let again = Luks::open(storage.clone(), Access::Read).unwrap();
    let slots = [luks, &again].map(|luks| opened(luks, passphrase).map(|unlocked| unlocked.keyslot).ok());
    assert_eq!(slots[0], slots[1], "{passphrase}");
    slots[0]
}

/// Asserts that steps overwrite exactly this area: four patterns and
/// twice random bytes, each flushed. What follows.
fn wiped(steps: &[Step], area: Range<u64>) -> &[Step] {
    let (wipes, rest) = steps.split_at(12);
    let mut random = Vec::new();
    for (step, pattern) in wipes.chunks(2).zip([Some(0), Some(0xff), Some(0x55), Some(0xaa), None, None]) {
        let [Write(offset, bytes), Flush] = step else { panic!("{step:?}") };
        assert_eq!(*offset..*offset + bytes.len() as u64, area);
        match pattern {
            Some(pattern) => assert!(bytes.iter().all(|byte| *byte == pattern), "{pattern:#x}"),
            None => random.push(bytes),
        }
    }
    assert_ne!(random[0], random[1]);
    assert!((0..=255).all(|byte| random[0].contains(&byte)), "not random");
    rest
}
