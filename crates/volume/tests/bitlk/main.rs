//! BitLocker volumes that are made here, and other protectors for them.

mod change;
mod new;
mod windows;

use keyway_crypto::{Cpu, Secret};
use keyway_format::bitlk::{Metadata, Protection};
use keyway_volume::device::storage::Memory;
use keyway_volume::device::stream::Meter;
use keyway_volume::kind::bitlk::{Bitlk, Header, NewBitlk, NewKeys, RecoveryKey};
use keyway_volume::kind::{Found, Key, Kind, Subject};
use keyway_volume::{OsRandom, Result, Storage, UnlockOptions, Volume};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

const KEY: &str = "correct hörse";
const OTHER: &str = "battery staple";
const LEN: usize = 2 << 20;
/// Where the data of a volume of [`LEN`] bytes end.
const ROOM: usize = 1 << 20;

fn secret(text: &str) -> Secret {
    Secret::copy_from(text.as_bytes())
}

fn quick() -> NewBitlk {
    NewBitlk { quick: true, ..NewBitlk::default() }
}

fn make(new: &NewBitlk, device: &dyn Storage, key: &str, recovery: Option<&RecoveryKey>) -> Result<()> {
    let passphrase = secret(key);
    let keys = NewKeys { passphrase: (!key.is_empty()).then_some(&passphrase), recovery };
    new.make(device, keys, (&mut OsRandom, &UnlockOptions::default()), &Meter::new())
}

/// A volume with a passphrase and a recovery password.
fn made() -> (Vec<u8>, RecoveryKey) {
    let (device, recovery) = (Memory::zeroed(LEN), RecoveryKey::random(&mut OsRandom).unwrap());
    make(&quick(), &device, KEY, Some(&recovery)).unwrap();
    (bytes(&device), recovery)
}

fn bytes(device: &dyn Storage) -> Vec<u8> {
    let mut bytes = vec![0; device.len() as usize];
    device.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn open(device: &Arc<Memory>, key: &Secret) -> Result<Found> {
    let data: Arc<dyn Storage> = device.clone();
    let subject = Subject { data: &data, device: "data", writes: true, weak_ciphers: false };
    Bitlk::default().judge(&subject)?.open(Key::Passphrase(key), &UnlockOptions::default())
}

fn opens(image: &[u8], key: &Secret) -> bool {
    open(&Arc::new(Memory::from(image.to_vec())), key).is_ok()
}

fn volume(device: &Arc<Memory>, key: &Secret) -> Volume {
    let found = open(device, key).unwrap();
    Volume::new(device.clone(), &found.layout, &found.volume_key, Cpu::detect()).unwrap()
}

fn header(image: &[u8]) -> Result<Header> {
    Header::read(&Memory::from(image.to_vec()))
}

fn protections(metadata: &Metadata) -> Vec<Protection> {
    metadata.protectors.iter().map(|it| it.protection).collect()
}

/// An export whose server offers no flush.
struct Unflushable(Memory);

impl Storage for Unflushable {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(buf, offset)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.0.discard(range)
    }

    fn can_flush(&self) -> bool {
        false
    }
}

/// What opens images: a key is tried once on metadata that were seen before, as each costs a second.
#[derive(Default)]
struct Opening(BTreeMap<Vec<u8>, Vec<bool>>);

impl Opening {
    /// Which of the keys open the image; `None`: there is no BitLocker volume.
    fn by(&mut self, image: &[u8], keys: &[&Secret]) -> Option<Vec<bool>> {
        let used = header(image).ok()?.metadata.to_bytes();
        let known = self.0.entry(used);
        Some(known.or_insert_with(|| keys.iter().map(|key| opens(image, key)).collect()).clone())
    }
}
