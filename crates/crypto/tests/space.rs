//! The sweep: every combination of cipher, mode and IV that exists gives back what
//! it took, makes no difference between one call for a run of sectors and one call
//! a sector, and does the same at every CPU level.

use keyway_crypto::spec::{Existing, space};
use keyway_crypto::{Cpu, Error, Secret, SectorCipher, SectorSize};
use std::sync::Mutex;

#[test]
fn every_combination_at_every_level() {
    let existing: Vec<Existing> = space().filter_map(|it| it.outcome.ok()).collect();
    let total = Mutex::new(Total::default());
    let queue = Mutex::new(existing.iter());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some(existing) = next else { break };
                    let part = sweep(existing);
                    total.lock().unwrap().add(&part);
                }
            });
        }
    });
    let total = total.into_inner().unwrap();
    println!(
        "sweep: {} combinations exist, {} have code; {} keyed ciphers (key sizes × sector sizes × CPU levels, {} levels), {} runs",
        existing.len(),
        total.combinations,
        total.keyed,
        Cpu::levels().len(),
        total.runs
    );
    assert!(total.combinations > 1000, "{} combinations", total.combinations);
}

/// What has been checked.
#[derive(Default)]
struct Total {
    combinations: usize,
    keyed: usize,
    runs: usize,
}

impl Total {
    fn add(&mut self, other: &Self) {
        self.combinations += other.combinations;
        self.keyed += other.keyed;
        self.runs += other.runs;
    }
}

fn sweep(existing: &Existing) -> Total {
    let mut total = Total { combinations: 1, ..Total::default() };
    let text = existing.spec.to_string();
    for bits in some(&existing.key_bits) {
        let mut key = Secret::zeroed(bits / 8);
        noise(key.expose_mut(), bits as u64);
        for &size in &existing.sector_sizes {
            let (keyed, runs) = at_all_levels(existing, &text, &key, size);
            total.keyed += keyed;
            total.runs += runs;
        }
    }
    total
}

/// The least, one in the middle and the most.
fn some(sizes: &[usize]) -> Vec<usize> {
    let mut some = vec![sizes[0], sizes[sizes.len() / 2], sizes[sizes.len() - 1]];
    some.dedup();
    some
}

/// One key and sector size, at each level that the combination has
/// other code for; with the usual IV, at every level.
fn at_all_levels(existing: &Existing, text: &str, key: &Secret, size: SectorSize) -> (usize, usize) {
    let mut plain = vec![0; size.bytes() * if size == SectorSize::S512 { 9 } else { 3 }];
    noise(&mut plain, size.bytes() as u64);
    let every_level = text.ends_with("-plain64") || text.ends_with("-ecb");
    let mut expected: Option<Vec<u8>> = None;
    let (mut codes, mut runs) = (Vec::new(), 0);
    for cpu in Cpu::levels() {
        let cipher = match SectorCipher::new(&existing.spec, key, size, cpu) {
            Ok(cipher) => cipher,
            Err(error) => panic!("{text} at {cpu:?}: {error}"),
        };
        if codes.contains(&cipher.code()) && !every_level {
            continue;
        }
        codes.push(cipher.code());
        let what =
            format!("{text}, {} bits, {} bytes, {cpu:?} ({})", 8 * key.len(), size.bytes(), cipher.code());
        let found = there_and_back(&cipher, &plain, &what);
        if text != "cipher_null-ecb" {
            assert_ne!(found, plain, "{what} does not encrypt");
        }
        match &expected {
            Some(expected) => assert!(*expected == found, "{what} differs from the level before"),
            None => expected = Some(found),
        }
        runs += 1;
        if size != SectorSize::S512 && codes.len() == 1 {
            there_and_back(&cipher.with_large_iv_sectors(), &plain, &format!("{what}, large IV sectors"));
            runs += 1;
        }
    }
    (codes.len(), runs)
}

/// Encrypts a run in one call, and sector by sector; decrypts it in one call, and sector by sector.
fn there_and_back(cipher: &SectorCipher, plain: &[u8], what: &str) -> Vec<u8> {
    let sector = cipher.sector_size().bytes();
    let units = cipher.sector_size().units();
    let number = |index: usize| FIRST + index as u64 * units;
    let mut run = plain.to_vec();
    cipher.encrypt(FIRST, &mut run);
    let mut single = plain.to_vec();
    single.chunks_mut(sector).enumerate().for_each(|(index, data)| cipher.encrypt(number(index), data));
    assert!(run == single, "{what}: a run is not its sectors");
    single.chunks_mut(sector).enumerate().for_each(|(index, data)| cipher.decrypt(number(index), data));
    assert!(single == plain, "{what}: sectors do not come back");
    let encrypted = run.clone();
    cipher.decrypt(FIRST, &mut run);
    assert!(run == plain, "{what}: a run does not come back");
    encrypted
}

#[test]
fn what_does_not_fit_is_refused_when_a_key_is_set() {
    let spec = keyway_crypto::CipherSpec::parse("aes:64-cbc-lmk").unwrap();
    let key = Secret::zeroed(64 * 32);
    let made = |size| SectorCipher::new(&spec, &key, size, Cpu::detect()).err();
    assert!(matches!(made(SectorSize::S4096), Some(Error::Impossible(_))));
    assert_eq!(made(SectorSize::S512), None);
}

/// Plain IVs wrap at 32 bits between the first sectors of a run.
const FIRST: u64 = (1 << 32) - 8;

/// SplitMix64 (Steele, Lea and Flood, 2014), enough to fill memory.
fn noise(bytes: &mut [u8], seed: u64) {
    let mut state = seed;
    for chunk in bytes.chunks_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        chunk.copy_from_slice(&(word ^ (word >> 31)).to_le_bytes()[..chunk.len()]);
    }
}
