//! Key derivations: rates of each hash and of Argon2, and the costs that take a given time.

use super::{Asked, Listed, Named, Suite, Unknown, or};
use crate::results::{Case, KdfCase};
use keyway_crypto::Hash;
use keyway_format::tcrypt::{KDFS, Program, Stretch};

/// Every KDF case.
pub(super) fn list(asked: &Asked) -> Result<Vec<Listed>, Unknown> {
    let named = !(asked.kdfs.is_empty() && asked.hashes.is_empty());
    let ciphers_named = !(asked.ciphers.is_empty() && asked.key_bits.is_empty());
    if ciphers_named && !named {
        return Ok(Vec::new());
    }
    check(asked)?;
    let mut cases = Vec::new();
    for kdf in ALL.into_iter().filter(|kdf| wanted(asked, kdf)) {
        match kdf {
            "pbkdf2" => pbkdf2(asked, &mut cases),
            "bitlocker" => cases.push(KdfCase { key_bits: 256, ..KdfCase::new(kdf, 1) }),
            argon => argon2(asked, argon, &mut cases),
        }
    }
    Ok(cases.into_iter().map(|case| Listed { case: Case::Kdf(case), outcome: None }).collect())
}

/// A hash alone means PBKDF2.
fn wanted(asked: &Asked, kdf: &str) -> bool {
    match (asked.kdfs.is_empty(), asked.hashes.is_empty()) {
        (true, true) => match asked.suite {
            Some(Suite::Quick) => kdf != "bitlocker",
            Some(Suite::VeraCrypt) => matches!(kdf, "pbkdf2" | "argon2id"),
            _ => true,
        },
        (true, false) => kdf == "pbkdf2",
        (false, _) => asked.kdfs.iter().any(|name| name == kdf),
    }
}

fn check(asked: &Asked) -> Result<(), Unknown> {
    if let Some(name) = asked.hashes.iter().find(|name| Hash::find(name).is_none()) {
        let known = Hash::ALL.iter().map(|hash| hash.name().to_owned()).collect();
        return Err(Unknown { what: Named::Hash, name: name.clone(), known });
    }
    if let Some(name) = asked.kdfs.iter().find(|name| !ALL.contains(&name.as_str())) {
        return Err(Unknown { what: Named::Kdf, name: name.clone(), known: ALL.map(str::to_owned).into() });
    }
    Ok(())
}

fn pbkdf2(asked: &Asked, cases: &mut Vec<KdfCase>) {
    let usual: Vec<&str> = match asked.suite {
        Some(Suite::Quick) => vec!["sha256", "sha512"],
        Some(Suite::VeraCrypt) => veracrypts().filter_map(of_hash).map(Hash::name).collect(),
        Some(Suite::All) => Hash::ALL.iter().map(|hash| hash.name()).collect(),
        _ => vec!["sha1", "sha256", "sha512", "ripemd160", "whirlpool"],
    };
    let usual: Vec<String> = usual.into_iter().map(str::to_owned).collect();
    for hash in or(&asked.hashes, &usual) {
        let one = KdfCase { hash: Some(hash), ..KdfCase::new("pbkdf2", 1) };
        let many = asked.cpus > 1 && asked.suite != Some(Suite::Quick);
        let many = many.then(|| KdfCase { lanes: asked.cpus, ..one.clone() });
        cases.extend([Some(one.clone()), many, timed(asked, one)].into_iter().flatten());
    }
}

fn argon2(asked: &Asked, kdf: &str, cases: &mut Vec<KdfCase>) {
    let (usual_memory, usual_lanes): (Vec<u32>, &[u32]) = match asked.suite {
        Some(Suite::Quick) => (vec![64 << 10], &[1, 4]),
        Some(Suite::Article) => (vec![1 << 20], &[4]),
        Some(Suite::VeraCrypt) => (veracrypts().filter_map(of_memory).collect(), &[1]),
        _ => (vec![64 << 10, 1 << 20], &[1, 4]),
    };
    for memory in or(asked.memory_kib.as_slice(), &usual_memory) {
        for lanes in or(asked.lanes.as_slice(), usual_lanes) {
            let default = kdf == "argon2id" && (memory, lanes) == (1 << 20, 4);
            let one = KdfCase { memory_kib: Some(memory), default, ..KdfCase::new(kdf, lanes) };
            cases.extend([Some(one.clone()), timed(asked, one)].into_iter().flatten());
        }
    }
}

/// What VeraCrypt derives the keys of volumes by, without a PIM.
fn veracrypts() -> impl Iterator<Item = Stretch> {
    let of_volumes = KDFS.iter().filter(|kdf| kdf.program == Program::VeraCrypt && !kdf.boot);
    of_volumes.filter_map(|kdf| kdf.stretch(None))
}

fn of_hash(stretch: Stretch) -> Option<Hash> {
    match stretch {
        Stretch::Pbkdf2 { hash, .. } => Some(hash),
        Stretch::Argon2id(_) => None,
    }
}

fn of_memory(stretch: Stretch) -> Option<u32> {
    match stretch {
        Stretch::Argon2id(argon2) => Some(argon2.memory_kib),
        Stretch::Pbkdf2 { .. } => None,
    }
}

/// The same case, but seeking the cost that takes the given time.
fn timed(asked: &Asked, one: KdfCase) -> Option<KdfCase> {
    Some(KdfCase { iter_time_ms: Some(asked.iter_time_ms?), ..one })
}

/// The key derivation functions, by name. BitLocker's always has the same rounds.
pub(super) const ALL: [&str; 4] = ["pbkdf2", "argon2i", "argon2id", "bitlocker"];
