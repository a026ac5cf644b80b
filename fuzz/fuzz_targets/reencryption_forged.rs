//! A volume in the middle of a re-encryption whose header somebody forged: opening it for writing
//! writes nothing, unless all that the volume keys vouch for is as it was.
//!
//! The input is edits of the genuine JSON text: two bytes for a position, one for the bytes to remove,
//! one for the length of what is put there, and that.
#![no_main]

use keyway_crypto::Secret;
use keyway_format::luks2::Copy;
use keyway_volume::change::create::{Luks2Params, create_luks2};
use keyway_volume::change::edit::AddKey;
use keyway_volume::device::storage::Memory;
use keyway_volume::reencrypt::{self, Begin, Job, NewSlot, Options, Purpose, VolumeKeys, begin};
use keyway_volume::{
    Access, Admitted, Cost, DataDevice, Header, KdfChoice, Luks, SecondKey, SeededRandom, Terms,
};
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, OnceLock};

fuzz_target!(|edits: &[u8]| {
    let genuine = genuine();
    let luks = Luks::open(Arc::new(Memory::from(genuine.clone())), Access::Probe).unwrap();
    let Header::Luks2 { binary, metadata } = luks.header() else { unreachable!() };
    let (mut json, what) = (metadata.to_json(), metadata.reencryption().unwrap().unwrap());
    edit(&mut json, edits);
    let mut forged = genuine.clone();
    for (copy, offset) in [(Copy::Primary, 0), (Copy::Secondary, binary.size.bytes().0 as usize)] {
        let Ok(bytes) = binary.as_copy(copy, [7; 64]).copy_to_bytes(&json) else { return };
        forged[offset..offset + bytes.len()].copy_from_slice(&bytes);
    }
    let storage = Arc::new(Memory::from(forged.clone()));
    let vouched = |luks: &Luks| match luks.header() {
        Header::Luks2 { metadata, .. } => metadata.reencryption().ok().flatten().map(|now| now.vouched()),
        Header::Luks1(_) => None,
    };
    let Ok(luks) = Luks::open(storage.clone(), Access::Probe) else { return };
    if open(luks).is_err()
        || vouched(&Luks::open(storage.clone(), Access::Probe).unwrap()) != Some(what.vouched())
    {
        assert!(storage.to_vec() == forged, "something was written");
    }
});

fn open(luks: Luks) -> keyway_volume::Result<()> {
    let data = Arc::clone(luks.storage());
    let device = DataDevice { len: data.len(), holds_header: true };
    let judged = Admitted::judge(luks, Some(device), &Terms::default())?;
    let Some(under_way) = judged.under_way().cloned() else { return Ok(()) };
    let second = under_way.second_digest().map(|digest| SecondKey { key: key(2), digest });
    let opened = judged.open_with(key(1), under_way.first_digest().unwrap_or(0), second)?;
    opened.onto(data, Purpose::Write, &mut random(9)).map(drop)
}

fn edit(json: &mut Vec<u8>, mut edits: &[u8]) {
    while let [high, low, remove, len, rest @ ..] = edits {
        let at = usize::from(u16::from_be_bytes([*high, *low])).min(json.len());
        let end = (at + usize::from(*remove)).min(json.len());
        let (new, rest) = rest.split_at(usize::from(*len).min(rest.len()));
        json.splice(at..end, new.iter().copied());
        edits = rest;
    }
}

/// A volume whose first zone was just written, and is still hot.
fn genuine() -> &'static Vec<u8> {
    static GENUINE: OnceLock<Vec<u8>> = OnceLock::new();
    GENUINE.get_or_init(|| {
        let kdf = KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) };
        let (rng, passphrase) = (&mut random(1), Secret::copy_from(b"x"));
        let storage = Arc::new(Memory::zeroed(HEADER + (128 << 10)));
        let params = Luks2Params {
            kdf: kdf.clone(),
            key_bits: 256,
            sector_size: Some(512),
            keyslots_size: Some(HEADER as u64 - (32 << 10)),
            data_offset: Some(HEADER as u64 / 512),
            ..Luks2Params::default()
        };
        let mut luks = create_luks2(storage.clone(), &params, &key(1), &passphrase, rng).unwrap();
        let options = AddKey { kdf: kdf.clone(), ..AddKey::default() };
        let slots = [NewSlot { passphrase: &passphrase, options, replaces: Some(0) }];
        let new = key(2);
        let what =
            Begin::Reencrypt { cipher: "aes-xts-plain64", sector_size: 512, new: Some((&new, &slots)) };
        let terms = reencrypt::Terms { block: 512, holds_header: true, kdf, ..Default::default() };
        begin(&mut luks, &*storage, &key(1), what, &terms, rng).unwrap();
        let keys = VolumeKeys::new(Some(key(1)), Some(key(2)));
        let options = Options { zone: Some(32 << 10), holds_header: true, ..Options::default() };
        let mut job = Job::resume(luks, storage.clone(), &keys, &options, rng).unwrap();
        job.step(rng).unwrap();
        // The same header with the zone hot again: what was kept of it recognizes it.
        let luks = Luks::open(storage.clone(), Access::Probe).unwrap();
        let Header::Luks2 { binary, metadata } = luks.header() else { unreachable!() };
        let (mut metadata, what) = (metadata.clone(), metadata.reencryption().unwrap().unwrap());
        let state = what.state(&metadata).unwrap();
        let before = reencrypt_state(state.total);
        metadata.set_reencryption_state(&what, &before.heated(&(0..32 << 10), 128 << 10)).unwrap();
        let mut bytes = storage.to_vec();
        for (copy, offset) in [(Copy::Primary, 0), (Copy::Secondary, binary.size.bytes().0 as usize)] {
            let copy = binary.as_copy(copy, [7; 64]).copy_to_bytes(&metadata.to_json()).unwrap();
            bytes[offset..offset + copy.len()].copy_from_slice(&copy);
        }
        bytes
    })
}

fn reencrypt_state(total: u64) -> keyway_format::luks2::reencryption::State {
    keyway_format::luks2::reencryption::State { done: 0..0, hot: None, total }
}

fn key(byte: u8) -> Secret {
    Secret::copy_from(&(0..32).map(|i| i ^ byte).collect::<Vec<u8>>())
}

fn random(seed: u8) -> SeededRandom {
    SeededRandom::new(&Secret::copy_from(&[seed; 32]))
}

const HEADER: usize = 384 << 10;
