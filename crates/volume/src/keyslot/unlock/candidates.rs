//! Selects the keyslots to try, and checks which keys a header's digests may verify.

use super::{Job, UnlockOptions};
use crate::keyslot::digest::KeyDigest;
use crate::keyslot::material::Keyslot;
use crate::{Header, Result};
use keyway_crypto::{CipherSpec, Secret};
use keyway_format::luks1::SlotState;
use keyway_format::luks2::{KeyslotKind, Metadata, Priority, SegmentKind};

/// The keyslots to try, in order; a keyslot that cannot be used is listed with the reason.
pub(super) fn candidates(header: &Header, options: &UnlockOptions) -> Result<Vec<Result<Job>>> {
    match header {
        Header::Luks1(header) => {
            let digest = KeyDigest::of_luks1(header)?;
            let cipher = header.cipher();
            let areas = options.areas(&cipher, header.key_bytes as usize);
            let enabled = (0..header.slots.len() as u32).filter(|&number| {
                options.keyslot.is_none_or(|wanted| wanted == number)
                    && header.slots[number as usize].state == SlotState::Enabled
            });
            Ok(enabled
                .map(|number| {
                    let keyslot = Keyslot::of_luks1(header, number, areas)?;
                    Ok(Job { keyslot, digests: vec![digest.clone()] })
                })
                .collect())
        }
        Header::Luks2 { metadata, .. } => Ok(luks2_candidates(metadata, options)),
    }
}

fn luks2_candidates(metadata: &Metadata, options: &UnlockOptions) -> Vec<Result<Job>> {
    let of_priority = |priority: Priority| {
        let slots = metadata.keyslots.iter().filter(move |(_, slot)| slot.priority == priority);
        slots.map(|(&number, _)| number)
    };
    let order: Vec<u32> = match options.keyslot {
        Some(number) => vec![number],
        None => of_priority(Priority::Prefer).chain(of_priority(Priority::Normal)).collect(),
    };
    order.into_iter().filter_map(|number| luks2_job(metadata, number, options)).collect()
}

/// `None` when the keyslot does not exist, is of a type that a passphrase does not open, or serves
/// no segment.
fn luks2_job(metadata: &Metadata, number: u32, options: &UnlockOptions) -> Option<Result<Job>> {
    let slot = metadata.keyslots.get(&number)?;
    if !matches!(slot.kind, KeyslotKind::Luks2 { .. }) {
        return None;
    }
    let digests: Vec<_> = metadata
        .digests
        .iter()
        .filter(|(_, digest)| digest.keyslots.contains(&number))
        .filter(|(id, digest)| match options.digest {
            Some(wanted) => wanted == **id,
            None => options.unbound_too || serves_data(metadata, &digest.segments),
        })
        .collect();
    if digests.is_empty() {
        return None;
    }
    Some((|| {
        let own = first_cipher(metadata).unwrap_or_default();
        let keyslot = Keyslot::of_luks2(number, slot, options.areas(own, slot.key_size as usize))?;
        let digests = digests.into_iter().map(|(&id, digest)| KeyDigest::of_luks2(id, digest));
        Ok(Job { keyslot, digests: digests.collect::<Result<_>>()? })
    })())
}

/// The cipher of the first encrypted segment.
fn first_cipher(metadata: &Metadata) -> Option<&str> {
    metadata.segments.values().find_map(|segment| match &segment.kind {
        SegmentKind::Crypt { encryption, .. } if !segment.is_backup() => Some(encryption.as_str()),
        _ => None,
    })
}

/// Whether one of `segments` is part of the volume. Where nothing of that is encrypted yet, backup
/// segments say what is to be.
pub(super) fn serves_data(metadata: &Metadata, segments: &[u32]) -> bool {
    let is_planned = first_cipher(metadata).is_none();
    let serves = |number| metadata.segments.get(number).is_some_and(|own| is_planned || !own.is_backup());
    segments.iter().any(serves)
}

/// Whether `key` has the length that the digest's keyslots state or, without keyslots, that the
/// segments' cipher accepts.
pub(crate) fn length_fits(metadata: &Metadata, keyslots: &[u32], key: &Secret) -> Result<bool> {
    let mut lengths = keyslots.iter().filter_map(|number| metadata.keyslots.get(number)).peekable();
    if lengths.peek().is_some() {
        return Ok(lengths.any(|slot| slot.key_size as usize == key.len()));
    }
    for segment in metadata.segments.values().filter(|segment| !segment.is_backup()) {
        if let SegmentKind::Crypt { encryption, .. } = &segment.kind {
            return Ok(CipherSpec::parse(encryption)?.check_key_bits(key.len() * 8).is_ok());
        }
    }
    Ok(true)
}
