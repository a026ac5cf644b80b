//! Headers that somebody forged who can write the storage and knows no passphrase.

mod fields;
mod keyslots;
mod storage;

use keyway_crypto::{Cpu, Secret};
use keyway_format::luks2::Copy;
use keyway_volume::change::create::{Luks1Params, Luks2Params, create_luks1, create_luks2};
use keyway_volume::device::storage::Memory;
use keyway_volume::unlock;
use keyway_volume::{
    Access, Admitted, Cost, DataDevice, Header, KdfChoice, Locking, Luks, Opened, OsRandom, Result, Storage,
    Terms, UnlockOptions, Volume,
};
use std::sync::Arc;

/// What a hostile storage holds.
struct Disk {
    storage: Arc<Memory>,
    /// What the owner wrote.
    plaintext: Vec<u8>,
    key: Secret,
}

impl Disk {
    /// A LUKS2 volume with content, whose passphrase is "owner".
    fn luks2() -> Self {
        let storage = Arc::new(Memory::zeroed(LEN));
        let params = Luks2Params {
            kdf: cheap(),
            keyslots_size: Some(KEYSLOTS),
            sector_size: Some(512),
            ..Luks2Params::default()
        };
        let key = Secret::copy_from(&(0..64).map(|n| n * 3).collect::<Vec<u8>>());
        create_luks2(storage.clone(), &params, &key, &secret("owner"), &mut OsRandom).unwrap();
        Self::with_content(storage, key)
    }

    /// The same in LUKS1.
    fn luks1() -> Self {
        let storage = Arc::new(Memory::zeroed((2 << 20) + DATA));
        let params = Luks1Params { kdf: cheap(), key_bits: 512, ..Luks1Params::default() };
        let key = Secret::copy_from(&(0..64).map(|n| n * 3).collect::<Vec<u8>>());
        create_luks1(storage.clone(), &params, &key, &secret("owner"), &mut OsRandom).unwrap();
        Self::with_content(storage, key)
    }

    fn with_content(storage: Arc<Memory>, key: Secret) -> Self {
        let mut disk = Self { storage, plaintext: Vec::new(), key };
        let volume =
            disk.open("owner", &Terms::default()).map(|opened| disk.volume(&opened).unwrap()).unwrap();
        let plaintext: Vec<u8> = (0..volume.len() / 16).flat_map(block).collect();
        volume.write_at(&plaintext, 0).unwrap();
        disk.plaintext = plaintext;
        disk
    }

    /// All that stands between the storage and a volume, as the program goes through it.
    fn open(&self, passphrase: &str, terms: &Terms) -> Result<Opened> {
        let luks = Luks::open_with(self.storage.clone(), Access::Probe, Locking::Disabled)?;
        let data = DataDevice { len: self.storage.len(), holds_header: true };
        let admitted = Admitted::judge(luks, Some(data), terms)?;
        let options = UnlockOptions { weak_ciphers_too: terms.weak_ciphers, ..UnlockOptions::default() };
        let unlocked = unlock(admitted.luks(), &secret(passphrase), &options)?;
        admitted.open(unlocked.volume_key, unlocked.digest)
    }

    fn volume(&self, opened: &Opened) -> Result<Volume> {
        Volume::new(self.storage.clone(), opened.layout(), opened.volume_key(), Cpu::detect())
    }

    /// Puts another document into both copies of the header, with the right checksums.
    fn forge(&self, change: impl FnOnce(&str) -> String) {
        let luks = Luks::open_with(self.storage.clone(), Access::Probe, Locking::Disabled).unwrap();
        let Header::Luks2 { binary, metadata } = luks.header() else { panic!("not LUKS2") };
        let json = change(std::str::from_utf8(&metadata.to_json()).unwrap());
        for (copy, offset) in [(Copy::Primary, 0), (Copy::Secondary, binary.size.bytes().0)] {
            let bytes = binary.as_copy(copy, [7; 64]).copy_to_bytes(json.as_bytes()).unwrap();
            self.storage.write_at(&bytes, offset).unwrap();
        }
    }
}

/// One keyslot's material in 4 KiB, 31 times, and room for a few sectors of data.
const KEYSLOTS: u64 = 32 * (256 << 10);
const LEN: usize = (9 << 20) + DATA;
const DATA: usize = 64 << 10;

/// What the owner keeps: each block of 16 bytes says which one it is.
fn block(number: u64) -> [u8; 16] {
    (u128::from(number) | 0x5eed << 64).to_le_bytes()
}

/// Which block of the owner's this is.
fn block_number(block: &[u8]) -> Option<u64> {
    let number = u128::from_le_bytes(block.try_into().ok()?);
    (number >> 64 == 0x5eed).then_some(number as u64)
}

fn cheap() -> KdfChoice {
    KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) }
}

fn secret(text: &str) -> Secret {
    Secret::copy_from(text.as_bytes())
}
