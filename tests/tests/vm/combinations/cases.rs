//! The questions to the kernel: every combination that Keyway knows, with a random key and an IV
//! offset at which counters carry.

use keyway_crypto::spec::{Combination, Existing, space};
use keyway_crypto::{CipherSpec, SectorSize};
use keyway_tests::kernel::{Action, Question, SIZE};
use keyway_tests::random;
use std::collections::BTreeMap;

/// A question to the kernel, and Keyway's own answer.
pub(super) struct Case {
    pub(super) question: Question,
    pub(super) expected: Expected,
    /// "aes-xts" and "plain64": row and entry of the printed list.
    pub(super) row: String,
    pub(super) entry: String,
}

/// Keyway's answer.
pub(super) enum Expected {
    /// It encrypts, with this specification and sector size.
    Ciphertext { spec: CipherSpec, sector_size: SectorSize, large_ivs: bool },
    /// It takes a key of this size.
    Taken,
    /// It refuses, for this reason.
    Refused(String),
}

/// All questions.
pub(super) fn all() -> Vec<Case> {
    let combinations: Vec<Combination> = space().collect();
    let plain_keys = keys_of_rows(&combinations);
    let wanted = std::env::var("KEYWAY_COMBINATIONS").unwrap_or_default();
    let mut cases = Vec::new();
    for (number, combination) in combinations.iter().enumerate() {
        if !everything() && !combination.text.contains(&wanted) {
            continue;
        }
        if wanted.is_empty() && is_left_to_all(number, combination) {
            continue;
        }
        match &combination.outcome {
            Ok(existing) => cases.extend(existing_cases(number, combination, existing)),
            Err(why) => {
                let keys = plain_keys.get(&row(combination)).map_or(&[][..], |keys| keys);
                cases.extend(refused_cases(number, combination, keys, &why.to_string()));
            }
        }
    }
    if everything() || wanted.is_empty() {
        cases.extend(key_sizes());
    }
    cases
}

/// The ESSIV is computed before the mode uses it: every hash with CBC and XTS, one in eight with
/// the other modes, until `KEYWAY_COMBINATIONS=all` requests the rest.
fn is_left_to_all(number: usize, combination: &Combination) -> bool {
    combination.iv.starts_with("essiv")
        && !["cbc", "xts"].contains(&combination.mode)
        && !number.is_multiple_of(8)
}

fn existing_cases(number: usize, combination: &Combination, existing: &Existing) -> Vec<Case> {
    let mut cases = Vec::new();
    for bits in chosen_keys(number, combination, existing) {
        let turn = number + bits / 8;
        for sector_size in chosen_sizes(combination, existing, turn) {
            // Large IVs alternate with the others.
            let large_ivs = sector_size == SectorSize::S4096 && turn.is_multiple_of(2);
            let mut options = Vec::new();
            if sector_size != SectorSize::S512 {
                options.push(format!("sector_size:{}", sector_size.bytes()));
            }
            if large_ivs {
                options.push("iv_large_sectors".into());
            }
            let action = if turn.is_multiple_of(5) { Action::Both } else { Action::Write };
            let question = Question {
                cipher: combination.text.clone(),
                key: key(number, bits),
                iv_offset: IV_OFFSETS[turn % IV_OFFSETS.len()],
                options,
                action,
            };
            let expected = Expected::Ciphertext { spec: existing.spec.clone(), sector_size, large_ivs };
            cases.push(Case { question, expected, row: row(combination), entry: combination.iv.clone() });
        }
    }
    cases
}

/// With plain64 and in ECB both sizes, if there are two; with other IVs they alternate.
fn chosen_sizes(combination: &Combination, existing: &Existing, turn: usize) -> Vec<SectorSize> {
    let wanted = [SectorSize::S512, SectorSize::S4096];
    let mut sizes: Vec<_> = wanted.into_iter().filter(|size| existing.sector_sizes.contains(size)).collect();
    if sizes.len() == 2 && !everything() && !matches!(&combination.iv[..], "" | "plain64") {
        sizes.remove(turn / 2 % 2);
    }
    sizes
}

/// Key sizes rotate from combination to combination; with plain64 and in ECB each cipher and mode
/// shows its smallest, its largest and a third.
fn chosen_keys(number: usize, combination: &Combination, existing: &Existing) -> Vec<usize> {
    let keys = &existing.key_bits;
    let turn = keys[number % keys.len()];
    match &combination.iv[..] {
        _ if everything() => keys.clone(),
        "" | "plain64" if keys.len() > 2 => {
            let middle = keys[1 + number % (keys.len() - 2)];
            Vec::from([keys[0], middle, keys[keys.len() - 1]])
        }
        "" | "plain64" => keys.clone(),
        _ => Vec::from([turn]),
    }
}

/// The kernel must refuse it whatever the key: tried with the sizes that the cipher and mode take
/// with another IV, and with those sizes plus the IV's part.
fn refused_cases(number: usize, combination: &Combination, keys: &[usize], why: &str) -> Vec<Case> {
    let keys = match keys {
        // The mode is incompatible with the cipher.
        [] if combination.iv == "plain64" || everything() => Vec::from([128, 256, 512]),
        [] => Vec::new(),
        [first, .., last] if everything() => Vec::from([*first, *last, 2 * first]),
        // A digest of the wrong length for a key is wrong in every mode.
        [..] if combination.iv.starts_with("essiv") && combination.mode != "cbc" => Vec::new(),
        [.., last] => Vec::from([*last]),
    };
    let case = |bits| Case {
        question: Question {
            cipher: combination.text.clone(),
            key: key(number, bits),
            iv_offset: 0,
            options: Vec::new(),
            action: Action::Both,
        },
        expected: Expected::Refused(why.into()),
        row: row(combination),
        entry: combination.iv.clone(),
    };
    keys.into_iter().map(case).collect()
}

/// Keys of every length up to 72 bytes: each cipher in its simplest mode, AES in all modes.
fn key_sizes() -> Vec<Case> {
    let simplest =
        |text: &str| text.ends_with("-cbc-plain") || text == "arc4-ecb" || text == "cipher_null-ecb";
    let aes = |text: &str| {
        ["aes-xts-plain64", "aes-lrw-benbi", "xchacha12,aes-adiantum-plain64", "aes-hctr2-plain64"]
            .contains(&text)
    };
    let mut cases = Vec::new();
    for combination in space().filter(|combination| simplest(&combination.text) || aes(&combination.text)) {
        let Ok(existing) = &combination.outcome else { continue };
        for bits in (0..=576).step_by(8) {
            let expected = match existing.spec.check_key_bits(bits) {
                // A header's key of any length is taken, and none of it given to dm-crypt.
                Ok(()) if existing.spec.is_null() && bits > 0 => Expected::Refused("no key is used".into()),
                Ok(()) => Expected::Taken,
                Err(why) => Expected::Refused(why.to_string()),
            };
            let question = Question {
                cipher: combination.text.clone(),
                key: key(0, bits),
                iv_offset: 0,
                options: Vec::new(),
                action: Action::Map,
            };
            let entry = format!("{bits}-bit key");
            cases.push(Case { question, expected, row: "key sizes".into(), entry });
        }
    }
    cases
}

/// The key sizes of each cipher and mode with a plain IV.
fn keys_of_rows(combinations: &[Combination]) -> BTreeMap<String, Vec<usize>> {
    let simple = combinations.iter().filter(|combination| ["", "plain64"].contains(&&combination.iv[..]));
    simple
        .filter_map(|combination| {
            Some((row(combination), combination.outcome.as_ref().ok()?.key_bits.clone()))
        })
        .collect()
}

fn row(combination: &Combination) -> String {
    format!("{}-{}", combination.cipher, combination.mode)
}

fn key(seed: usize, bits: usize) -> Vec<u8> {
    random(seed as u64, bits / 8)
}

/// Every key size of every combination.
fn everything() -> bool {
    std::env::var("KEYWAY_COMBINATIONS").is_ok_and(|which| which == "all")
}

/// In 512-byte units, multiples of eight: the first three carry out of 32 bits, out of the 56 that
/// loop-AES keeps, and out of 64 in the middle of the range.
const IV_OFFSETS: [u64; 5] =
    [(1 << 32) - MIDDLE, (1 << 56) - MIDDLE, u64::MAX - (MIDDLE - 1), 0, 0x0123_4567_89ab_cde0];
const MIDDLE: u64 = SIZE as u64 / 512 / 2;
