//! Prints what this machine reaches: sector ciphers at every level of the CPU, PBKDF2 with every
//! hash and with eight keyslots together, Argon2id.
//!
//! `cargo run --release -p keyway-crypto --example speed [cipher|pbkdf2|slots|argon2 [lanes]]`

use keyway_crypto::kdf::{Argon2Cost, Argon2Variant, Derivation, argon2, pbkdf2, pbkdf2_side_by_side};
use keyway_crypto::{CipherSpec, Cpu, Hash, Secret, SectorCipher, SectorSize, Stop};
use std::time::Instant;

fn main() {
    let only = std::env::args().nth(1);
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    println!("{}", Cpu::detect());
    if wanted("cipher") {
        ciphers();
    }
    if wanted("pbkdf2") {
        pbkdf2_rates();
    }
    if wanted("slots") {
        slots();
    }
    if wanted("argon2") {
        argon2_seconds();
    }
}

/// MB/s over 64 KiB in cache, encrypt and decrypt.
fn ciphers() {
    for (spec, bits) in [
        ("aes-xts-plain64", 512),
        ("aes-xts-plain64", 256),
        ("aes-cbc-essiv:sha256", 256),
        ("aes-ecb", 256),
        ("xchacha12,aes-adiantum-plain64", 256),
        ("xchacha20,aes-adiantum-plain64", 256),
        ("aes-hctr2-plain64", 256),
    ] {
        for cpu in Cpu::levels() {
            print!("{spec:22} {bits} bits, {:12}", cpu.level().name());
            for sector_size in [SectorSize::S4096, SectorSize::S512] {
                let key = Secret::copy_from(&[0x5a; 64][..bits / 8]);
                let cipher =
                    SectorCipher::new(&CipherSpec::parse(spec).unwrap(), &key, sector_size, cpu).unwrap();
                let mut data = vec![0x11; 65536];
                let encrypt = rate(data.len(), || cipher.encrypt(7, &mut data));
                let decrypt = rate(data.len(), || cipher.decrypt(7, &mut data));
                print!("  {:4} B {encrypt:6.0} {decrypt:6.0}", sector_size.bytes());
            }
            println!("  MB/s");
        }
    }
}

/// The best of several short runs, in 10^6 units a second.
fn rate(units: usize, mut run: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..60 {
        let start = Instant::now();
        for _ in 0..100 {
            run();
        }
        best = best.min(start.elapsed().as_secs_f64() / 100.0);
    }
    units as f64 / best / 1e6
}

/// Million iterations a second for a 256-bit and a 512-bit key.
fn pbkdf2_rates() {
    const ITERATIONS: u32 = 2_000;
    for hash in Hash::ALL {
        print!("PBKDF2-{:12}", hash.name());
        for len in [32, 64] {
            let mut out = vec![0; len];
            let mut best = f64::MAX;
            for _ in 0..40 {
                let start = Instant::now();
                pbkdf2(
                    hash,
                    b"foobarfoobar",
                    b"saltsaltsaltsaltsaltsaltsaltsalt",
                    ITERATIONS,
                    &mut out,
                    &Stop::new(),
                )
                .unwrap();
                best = best.min(start.elapsed().as_secs_f64());
            }
            print!("  {} bits {:6.3}", 8 * len, f64::from(ITERATIONS) / best / 1e6);
        }
        println!("  M/s");
    }
}

/// Eight keyslots together against one alone: 64-byte keys, all cores.
fn slots() {
    const ITERATIONS: u32 = 100_000;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for hash in [Hash::Sha1, Hash::Sha256, Hash::Sha512] {
        let (mut one, mut eight) = (f64::MAX, f64::MAX);
        for _ in 0..9 {
            for (slots, best) in [(1u8, &mut one), (8, &mut eight)] {
                let stop = Stop::new();
                let slot = |salt| Derivation::new(hash, b"foobar", &[salt; 32], ITERATIONS, 64, &stop);
                let derivations =
                    (0..slots).map(|salt| slot(salt).expect("a hash that goes in lanes")).collect();
                let start = Instant::now();
                pbkdf2_side_by_side(derivations, threads, &|_, key| {
                    key.expect("nobody stops it");
                    None
                });
                *best = best.min(start.elapsed().as_secs_f64());
            }
        }
        println!("PBKDF2-{:8} eight slots in {:.2} times the time of one", hash.name(), eight / one);
    }
}

/// Seconds of Argon2id, t=4.
fn argon2_seconds() {
    let only: Option<u32> = std::env::args().nth(2).map(|lanes| lanes.parse().expect("a number of lanes"));
    for (memory_kib, lanes) in [(1 << 20, 4), (1 << 20, 2), (1 << 20, 1), (1 << 16, 4)] {
        if only.is_some_and(|only| only != lanes || memory_kib < 1 << 20) {
            continue;
        }
        let cost = Argon2Cost { time: 4, memory_kib, lanes };
        let mut best = f64::MAX;
        for _ in 0..if only.is_some() { 1 } else { 3 } {
            let mut out = [0; 32];
            let start = Instant::now();
            argon2(
                Argon2Variant::Argon2id,
                cost,
                b"foobar",
                &[7; 32],
                &mut out,
                lanes as usize,
                &Stop::new(),
            )
            .unwrap();
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("Argon2id t=4 m={memory_kib} KiB p={lanes}  {best:.3} s");
    }
}
