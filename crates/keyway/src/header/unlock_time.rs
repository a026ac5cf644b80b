//! Estimates how long a keyslot takes to unlock on this machine: its key derivation, and the digest
//! that verifies the key.

use crate::{Error, Result};
use keyway_crypto::Hash;
use keyway_format::luks1::SlotState;
use keyway_format::luks2::{DigestKind, KeyslotKind, Metadata};
use keyway_volume::{Header, Luks, UnlockTimes};
use std::time::Duration;

pub(super) fn of(luks: &Luks, keyslot: u32, threads: usize) -> Result<Duration> {
    let mut times = UnlockTimes::new(threads.max(1));
    match luks.header() {
        Header::Luks1(header) => {
            let slot = header.slots.get(keyslot as usize).filter(|slot| slot.state == SlotState::Enabled);
            let slot = slot.ok_or_else(|| no_such(keyslot))?;
            let (hash, len) = (hash(&header.hash_spec)?, header.key_bytes as usize);
            let derivation = times.of_pbkdf2(hash, slot.iterations, len)?;
            let digest = times.of_pbkdf2(hash, header.digest_iterations, header.digest.len())?;
            Ok(derivation.saturating_add(digest))
        }
        Header::Luks2 { metadata, .. } => {
            let slot = metadata.keyslots.get(&keyslot).ok_or_else(|| no_such(keyslot))?;
            let KeyslotKind::Luks2 { kdf, area_key_size, .. } = &slot.kind else {
                return Err(Error::unsupported(format!("the kind of keyslot {keyslot}")));
            };
            let derivation = times.of_kdf(kdf, *area_key_size as usize)?;
            Ok(derivation.saturating_add(digest(metadata, keyslot, &mut times)?))
        }
    }
}

fn digest(metadata: &Metadata, keyslot: u32, times: &mut UnlockTimes) -> Result<Duration> {
    let digest = metadata.digest_of_keyslot(keyslot).and_then(|id| metadata.digests.get(&id));
    match digest.map(|digest| &digest.kind) {
        Some(DigestKind::Pbkdf2 { hash: name, iterations, value, .. }) => {
            Ok(times.of_pbkdf2(hash(name)?, *iterations, value.len())?)
        }
        _ => Ok(Duration::ZERO),
    }
}

fn hash(name: &str) -> Result<Hash> {
    Ok(Hash::parse(name).map_err(keyway_volume::Error::from)?)
}

fn no_such(keyslot: u32) -> Error {
    Error::refused(format!("keyslot {keyslot} is not active"))
}
