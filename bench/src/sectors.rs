//! AES on sectors in cache, one thread: keyway-crypto beside aws-lc's EVP. Every sector has its own IV.

use crate::Options;
use crate::rounds::{Case, Goal, Unit};
use crate::sys::{Evp, EvpCipher};
use keyway_crypto::{CipherSpec, Cpu, Secret, SectorCipher, SectorSize};
use std::time::{Duration, Instant};

pub(crate) fn cases(_: &Options) -> Vec<Case> {
    use EvpCipher::{CbcDecrypt, CbcEncrypt, XtsDecrypt, XtsEncrypt};
    vec![
        case("AES-256-XTS encrypt, sectors of 4096", "aes-xts-plain64", XtsEncrypt, 4096, Some(1.25)),
        case("AES-256-XTS decrypt, sectors of 4096", "aes-xts-plain64", XtsDecrypt, 4096, Some(1.25)),
        case("AES-256-XTS encrypt, sectors of 512", "aes-xts-plain64", XtsEncrypt, 512, Some(2.2)),
        case("AES-256-XTS decrypt, sectors of 512", "aes-xts-plain64", XtsDecrypt, 512, Some(2.2)),
        case("AES-256-CBC encrypt, sectors of 4096", "aes-cbc-plain64", CbcEncrypt, 4096, None),
        case("AES-256-CBC decrypt, sectors of 4096", "aes-cbc-plain64", CbcDecrypt, 4096, None),
        case("AES-256-CBC encrypt, sectors of 512", "aes-cbc-plain64", CbcEncrypt, 512, None),
        case("AES-256-CBC decrypt, sectors of 512", "aes-cbc-plain64", CbcDecrypt, 512, None),
    ]
}

fn case(title: &str, spec: &str, cipher: EvpCipher, sector: usize, wanted: Option<f64>) -> Case {
    let key: Vec<u8> = (0..if spec.contains("xts") { 64 } else { 32 }).map(|byte| byte * 7 + 1).collect();
    let encrypts = matches!(cipher, EvpCipher::XtsEncrypt | EvpCipher::CbcEncrypt);
    let ours = keyway(spec, &key, sector);
    // The same cipher without IVs or chaining: as fast as the AES units go.
    let floor = keyway("aes-ecb", &key[..32], sector);
    let mut evp = Evp::new(cipher, &key);
    same_bytes(&ours, &mut evp, encrypts, sector);

    Case::new(title, Unit::Megabytes, ROUNDS)
        .with("keyway", run(move |data| ours_on(&ours, encrypts, data)))
        .with("aws-lc EVP", run(move |data| evp_on(&mut evp, sector, data)))
        .wanting(wanted.map(Goal::RatioAtLeast))
        .with("keyway aes-ecb (limit)", run(move |data| ours_on(&floor, encrypts, data)))
}

fn keyway(spec: &str, key: &[u8], sector: usize) -> SectorCipher {
    let spec = CipherSpec::parse(spec).expect("a known cipher");
    let size = SectorSize::new(u32::try_from(sector).expect("small")).expect("a sector size");
    SectorCipher::new(&spec, &Secret::copy_from(key), size, Cpu::detect()).expect("a fitting key")
}

fn ours_on(cipher: &SectorCipher, encrypt: bool, data: &mut [u8]) {
    if encrypt { cipher.encrypt(FIRST_IV, data) } else { cipher.decrypt(FIRST_IV, data) }
}

fn evp_on(evp: &mut Evp, sector: usize, data: &mut [u8]) {
    let units = (sector / 512) as u64;
    for (iv, sector) in (FIRST_IV..).step_by(units as usize).zip(data.chunks_mut(sector)) {
        evp.sector(&u128::from(iv).to_le_bytes(), sector);
    }
}

/// A comparison of two different things would be worth nothing.
fn same_bytes(ours: &SectorCipher, evp: &mut Evp, encrypt: bool, sector: usize) {
    let mut a: Vec<u8> = (0..RUN).map(|i| (i * 31 + i / 257) as u8).collect();
    let mut b = a.clone();
    ours_on(ours, encrypt, &mut a);
    evp_on(evp, sector, &mut b);
    assert!(a == b, "the contestants disagree");
}

/// One sample: the same run of sectors again and again for a fixed time.
fn run(mut work: impl FnMut(&mut [u8])) -> impl FnMut() -> f64 {
    let mut data = vec![0x5a; RUN];
    move || {
        let started = Instant::now();
        let mut bytes = 0;
        while started.elapsed() < SAMPLE {
            for _ in 0..8 {
                work(&mut data);
                bytes += RUN;
            }
        }
        bytes as f64 / started.elapsed().as_secs_f64() / 1e6
    }
}

/// Fits the second-level cache, and is as long as a run of the streaming pipeline may be.
const RUN: usize = 128 << 10;
const SAMPLE: Duration = Duration::from_millis(40);
const ROUNDS: usize = 15;
const FIRST_IV: u64 = 1 << 20;
