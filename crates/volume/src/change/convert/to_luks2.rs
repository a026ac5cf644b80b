//! Converts LUKS1 to LUKS2.

use super::areas::Moves;
use super::{refused, write};
use crate::change::edit::{luks2_parts, wipe_area};
use crate::device::storage::Exclusive;
use crate::header::luks::{Edit, Header};
use crate::header::luks1_disk;
use crate::random::random_bytes;
use crate::{Luks, Random, Result, Storage};
use keyway_format::af::STRIPES;
use keyway_format::luks1::{self, SLOTS, SlotState};
use keyway_format::luks2::{
    AREA_ALIGNMENT, Area, BinaryHeader, Copy, Digest, DigestKind, HeaderCopy, HeaderSize, Kdf, Keyslot,
    KeyslotKind, MAX_KEYSLOTS_SIZE, Metadata, NewMetadata, Priority, Segment, SegmentKind, SegmentSize,
};
use keyway_format::{Bytes, Sectors};

/// Converts a LUKS1 header to LUKS2. Keyslots keep their numbers.
///
/// # Errors
/// [`crate::Error::Refused`] when there is no room for LUKS2's header before the data, or no unused
/// keyslot whose area could take the material that lies in the header's place.
pub fn to_luks2(luks: &mut Luks, rng: &mut dyn Random) -> Result<()> {
    let Header::Luks1(old) = luks.header() else {
        return Err(refused("Device is already LUKS2 type."));
    };
    let old = old.clone();
    check_no_damaged_slot(&old)?;
    let storage = luks.storage().clone();
    let moves = moves(&old)?;
    let good = new_header(&*storage, &old, &moves, rng)?;
    let secondary = good.binary.as_copy(Copy::Secondary, random_bytes(rng)?);
    let json = good.metadata.to_json();
    let (primary, secondary) = (good.binary.copy_to_bytes(&json)?, secondary.copy_to_bytes(&json)?);

    let alone = Exclusive::claim(luks.storage().clone())?;
    let lock = luks.lock_for(Edit::Change)?;
    check_no_luksmeta(&*storage, &old)?;
    let material_len = luks1_disk::material_len(&old);
    let mut header = old;
    for &(from, to) in &moves {
        header = relocate(&*storage, header, from, to)?;
    }
    write_headers(&*storage, &primary, &secondary)?;
    luks.set_header(good.into());
    for &(from, _) in &moves {
        let start = header.slots[from].offset.0 * 512;
        let behind = start.max(SIZE.keyslots_start().0)..start + material_len;
        if !behind.is_empty() {
            wipe_area(&*storage, behind, rng)?;
        }
    }
    let (_, metadata) = luks2_parts(luks)?;
    let start = SIZE.keyslots_start().0;
    if let Some(moves) = Moves::to_grid(&metadata, start, metadata.header_and_keyslots_size().0) {
        moves.run(luks, rng)?;
    }
    drop((lock, alone));
    Ok(())
}

/// LUKS2 cannot express a keyslot whose active word is neither value: conversion would drop the
/// slot, and with it perhaps the only salt that opens the volume.
fn check_no_damaged_slot(header: &luks1::Header) -> Result<()> {
    match header.slots.iter().position(|slot| matches!(slot.state, SlotState::Damaged(_))) {
        Some(slot) => Err(refused(format!(
            "Keyslot {slot} is damaged (neither enabled nor disabled) and would be lost. Back up the header, then kill \
             that keyslot, then convert."
        ))),
        None => Ok(()),
    }
}

/// Enabled keyslots that lie where the header copies will be, each with the unused one that takes
/// its material.
fn moves(header: &luks1::Header) -> Result<Vec<(usize, usize)>> {
    let start = SIZE.keyslots_start().0;
    let fits = |slot: &usize| {
        let offset = header.slots[*slot].offset.0 * 512;
        offset >= start && offset.is_multiple_of(AREA_ALIGNMENT.0)
    };
    let mut spare = (0..SLOTS).filter(|slot| header.slots[*slot].state == SlotState::Disabled).filter(fits);
    let enabled = (0..SLOTS).filter(|slot| header.slots[*slot].state == SlotState::Enabled);
    enabled
        .filter(|slot| !fits(slot))
        .map(|from| {
            let to = spare.next().ok_or_else(|| {
                refused(format!(
                    "Unable to move keyslot area: keyslot {from} lies where the LUKS2 header goes, and every other \
                     keyslot is in use. Kill one of them, then convert."
                ))
            })?;
            Ok((from, to))
        })
        .collect()
}

/// The LUKS2 header, with each keyslot's area at its place after the moves.
fn new_header(
    storage: &dyn Storage,
    old: &luks1::Header,
    moves: &[(usize, usize)],
    rng: &mut dyn Random,
) -> Result<HeaderCopy> {
    let data_offset = old.payload_offset.0 * 512;
    let end = if data_offset == 0 { storage.len() } else { data_offset };
    let keyslots_size = end.saturating_sub(SIZE.keyslots_start().0) / AREA_ALIGNMENT.0 * AREA_ALIGNMENT.0;
    if keyslots_size == 0 {
        return Err(refused("Unable to move keyslot area. Not enough space."));
    }
    let mut metadata = Metadata::new(&NewMetadata {
        header_size: SIZE,
        keyslots_size: Bytes(keyslots_size.min(MAX_KEYSLOTS_SIZE.0)),
        segment: &segment(old, data_offset),
        digest: &digest(old),
    })?;
    for slot in (0..SLOTS).filter(|slot| old.slots[*slot].state == SlotState::Enabled) {
        let place = moves.iter().find(|(from, _)| *from == slot).map_or(slot, |(_, to)| *to);
        metadata.add_keyslot(slot as u32, &keyslot(old, slot, old.slots[place].offset.0 * 512), 0)?;
    }
    let binary = BinaryHeader::new(SIZE, &old.uuid, random_bytes(rng)?)?;
    Ok(HeaderCopy { binary, metadata })
}

/// The data of a LUKS1 volume as LUKS2 describes it.
pub(crate) fn segment(old: &luks1::Header, data_offset: u64) -> Segment {
    Segment {
        offset: Bytes(data_offset),
        size: SegmentSize::Dynamic,
        flags: Vec::new(),
        kind: SegmentKind::Crypt { iv_tweak: 0, encryption: old.cipher(), sector_size: 512, integrity: None },
    }
}

fn digest(old: &luks1::Header) -> Digest {
    let kind = DigestKind::Pbkdf2 {
        hash: old.hash_spec.clone(),
        iterations: old.digest_iterations,
        salt: old.digest_salt.to_vec(),
        value: old.digest.to_vec(),
    };
    Digest { keyslots: Vec::new(), segments: vec![0], kind }
}

fn keyslot(old: &luks1::Header, slot: usize, offset: u64) -> Keyslot {
    let descriptor = &old.slots[slot];
    Keyslot {
        key_size: old.key_bytes,
        priority: Priority::Normal,
        area: Area { offset: Bytes(offset), size: Area::size_for(old.key_bytes) },
        kind: KeyslotKind::Luks2 {
            kdf: Kdf::Pbkdf2 {
                hash: old.hash_spec.clone(),
                iterations: descriptor.iterations,
                salt: descriptor.salt.to_vec(),
            },
            af_hash: old.hash_spec.clone(),
            af_stripes: STRIPES,
            area_cipher: old.cipher(),
            area_key_size: old.key_bytes,
        },
    }
}

/// Makes `to` a second keyslot for the passphrase of `from`, then disables `from`. The material is
/// copied unchanged.
fn relocate(storage: &dyn Storage, header: luks1::Header, from: usize, to: usize) -> Result<luks1::Header> {
    let mut material = vec![0; luks1_disk::material_len(&header) as usize];
    storage.read_at(&mut material, header.slots[from].offset.0 * 512).map_err(|source| crate::Error::Io {
        what: format!("reading the material of keyslot {from}"),
        source,
    })?;
    let mut both = header;
    let (iterations, salt) = (both.slots[from].iterations, both.slots[from].salt);
    both.enable_slot(to, iterations, salt)?;
    crate::change::edit::write_material(storage, both.slots[to].offset.0 * 512, &material)?;
    luks1_disk::write_descriptor(storage, &both, to)?;
    let mut moved = both;
    moved.disable_slot(from)?;
    luks1_disk::write_descriptor(storage, &moved, from)?;
    Ok(moved)
}

/// Writes the secondary first; then the primary from its end towards its start, so that the LUKS1
/// header at its start stays intact until the sector with the version is overwritten. From then on
/// the primary is damaged until it is complete, and the secondary is the valid copy.
fn write_headers(storage: &dyn Storage, primary: &[u8], secondary: &[u8]) -> Result<()> {
    let size = SIZE.bytes().0;
    crate::change::edit::write_material(storage, size, secondary)?;
    for range in [4096..primary.len(), 0..SECTOR, SECTOR..4096] {
        write(storage, primary, range)?;
    }
    Ok(())
}

/// luksmeta stores foreign metadata after LUKS1's keyslots; LUKS2 has no place for it.
fn check_no_luksmeta(storage: &dyn Storage, header: &luks1::Header) -> Result<()> {
    let offset = luks1_disk::areas_end(header).next_multiple_of(AREA_ALIGNMENT.0);
    let mut magic = [0; 8];
    match storage.read_at(&mut magic, offset) {
        Ok(()) if magic == *b"LUKSMETA" => {
            Err(refused("Unable to convert header with LUKSMETA additional metadata."))
        }
        // A header that ends there has no such metadata.
        _ => Ok(()),
    }
}

/// Size of each copy of the new header.
const SIZE: HeaderSize = HeaderSize::ALL[0];
const SECTOR: usize = Sectors::SIZE as usize;
