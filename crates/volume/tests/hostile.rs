//! Headers with bytes changed at random: opened or refused, within time and memory, never a panic.

use keyway_crypto::Secret;
use keyway_format::luks2::{BinaryHeader, Copy, HeaderSize};
use keyway_volume::change::create::{Luks1Params, Luks2Params, create_luks1, create_luks2};
use keyway_volume::device::storage::Memory;
use keyway_volume::unlock;
use keyway_volume::{
    Access, Admitted, Cost, KdfChoice, Luks, OsRandom, Random, SeededRandom, Terms, UnlockOptions,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn cheap() -> KdfChoice {
    KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) }
}

fn secret(text: &str) -> Secret {
    Secret::copy_from(text.as_bytes())
}

/// Opens what there is; the outcome does not matter, the way there does.
fn try_all(image: Vec<u8>) -> bool {
    let storage = Arc::new(Memory::from(image));
    let Ok(luks) = Luks::open(storage, Access::Read) else { return false };
    let options = UnlockOptions {
        unbound_too: true,
        memory_budget_kib: 64 << 10,
        time_limit: Duration::from_millis(100),
        ..UnlockOptions::default()
    };
    let start = Instant::now();
    let opened = unlock(&luks, &secret("one"), &options).is_ok();
    assert!(start.elapsed() < Duration::from_secs(20), "an unlock took {:?}", start.elapsed());
    let _ = Admitted::judge(luks, None, &Terms::default());
    opened
}

fn byte(rng: &mut SeededRandom) -> usize {
    let mut byte = [0];
    rng.fill(&mut byte).unwrap();
    byte[0].into()
}

fn below(rng: &mut SeededRandom, bound: usize) -> usize {
    (byte(rng) << 16 | byte(rng) << 8 | byte(rng)) % bound
}

#[test]
fn luks1_headers_with_random_bytes() {
    let storage = Arc::new(Memory::zeroed((2 << 20) + 4096));
    let params = Luks1Params { kdf: cheap(), key_bits: 256, ..Luks1Params::default() };
    create_luks1(storage.clone(), &params, &Secret::copy_from(&[7; 32]), &secret("one"), &mut OsRandom)
        .unwrap();
    let sound = storage.to_vec();
    assert!(try_all(sound.clone()));
    let mut rng = SeededRandom::new(&secret("luks1"));
    let mut opened = 0;
    for _ in 0..150 {
        let mut image = sound.clone();
        for _ in 0..=below(&mut rng, 3) {
            image[below(&mut rng, 592)] = byte(&mut rng) as u8;
        }
        opened += usize::from(try_all(image));
    }
    assert!(
        (1..150).contains(&opened),
        "{opened} of 150 opened: the mutations do not reach what they should"
    );
}

/// The checksum is made good again, so that the metadata is what is looked at.
#[test]
fn luks2_metadata_with_random_bytes() {
    let storage = Arc::new(Memory::zeroed((1 << 20) + 4096));
    let params =
        Luks2Params { kdf: cheap(), key_bits: 256, keyslots_size: Some(512 << 10), ..Luks2Params::default() };
    create_luks2(storage.clone(), &params, &Secret::copy_from(&[7; 32]), &secret("one"), &mut OsRandom)
        .unwrap();
    let sound = storage.to_vec();
    assert!(try_all(sound.clone()));
    let size = HeaderSize::ALL[0];
    let (binary, json) = BinaryHeader::parse_copy(&sound, Copy::Primary).unwrap();
    let mut rng = SeededRandom::new(&secret("luks2"));
    let mut opened = 0;
    for _ in 0..150 {
        let mut json = json.to_vec();
        for _ in 0..=below(&mut rng, 2) {
            let at = below(&mut rng, json.len());
            json[at] = b"0123456789\"{}[],:-eA"[below(&mut rng, 20)];
        }
        let mut image = sound.clone();
        for (copy, offset) in [(Copy::Primary, 0), (Copy::Secondary, size.bytes().0 as usize)] {
            let bytes = binary.as_copy(copy, [3; 64]).copy_to_bytes(&json).unwrap();
            image[offset..offset + bytes.len()].copy_from_slice(&bytes);
        }
        opened += usize::from(try_all(image));
    }
    assert!(
        (1..150).contains(&opened),
        "{opened} of 150 opened: the mutations do not reach what they should"
    );
}
