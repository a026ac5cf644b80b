//! Keyslots of LUKS1. The only header copy covers two sectors. To add a keyslot, a descriptor's
//! salt and iterations are written while the slot is still disabled, and its active word separately
//! at the end; to remove a keyslot, the order is reversed.

use super::{AddKey, in_use, not_active};
use crate::change::edit::wipe::wipe_what_can_be;
use crate::change::edit::{removed, wipe_area, write_material};
use crate::error::shared;
use crate::header::luks::Edit;
use crate::header::luks1_disk;
use crate::keyslot::area_cipher::Areas;
use crate::keyslot::kdf_cost::SettledKdf;
use crate::keyslot::material::Keyslot;
use crate::keyslot::unlock::verify_volume_key;
use crate::random::random_bytes;
use crate::{Header, Luks, Random, Refusal, Result, Unlocked};
use keyway_crypto::{Secret, Stop};
use keyway_format::luks1::{self, SLOTS, SlotState};
use std::array;
use std::ops::Range;

pub(super) fn add(
    luks: &mut Luks,
    volume_key: &Secret,
    new: &Secret,
    options: &AddKey,
    rng: &mut dyn Random,
) -> Result<u32> {
    verify_volume_key(luks, volume_key)?;
    let slot = free_slot(header(luks)?, options.keyslot)?;
    let sealed = Sealed::new(header(luks)?, slot, volume_key, new, options, rng)?;
    let lock = luks.lock_for(Edit::Change)?;
    enable(luks, slot, &sealed)?;
    drop(lock);
    Ok(slot as u32)
}

/// The new passphrase is first written to a free slot; if the old number is to be kept, it is then
/// moved back. Without a free slot it can only take the old one's place.
pub(super) fn change(
    luks: &mut Luks,
    unlocked: &Unlocked,
    new: &Secret,
    options: &AddKey,
    rng: &mut dyn Random,
) -> Result<u32> {
    verify_volume_key(luks, &unlocked.volume_key)?;
    let old = slot_number(unlocked.keyslot)?;
    if header(luks)?.slots[old].state != SlotState::Enabled {
        return Err(not_active(unlocked.keyslot));
    }
    let stays = options.keyslot == Some(unlocked.keyslot);
    let wanted = if stays { None } else { options.keyslot };
    let spare = match free_slot(header(luks)?, wanted) {
        Err(_) if wanted.is_none() && options.in_place => {
            return change_in_place(luks, old, &unlocked.volume_key, new, options, rng);
        }
        Err(_) if wanted.is_none() => return Err(Refusal::NoFreeKeyslot.because(
            "All key slots are in use: the new key needs a free one before the old is wiped. Kill one that is no \
             longer needed first (luksKillSlot)."
        )),
        found => found?,
    };
    let sealed = Sealed::new(header(luks)?, spare, &unlocked.volume_key, new, options, rng)?;
    let lock = luks.lock_for(Edit::Change)?;
    enable(luks, spare, &sealed)?;
    disable(luks, old, rng)?;
    if stays {
        enable(luks, old, &sealed)?;
        disable(luks, spare, rng)?;
    }
    drop(lock);
    Ok(if stays { unlocked.keyslot } else { spare as u32 })
}

pub(super) fn has_free_slot(luks: &Luks) -> bool {
    header(luks).is_ok_and(|header| free_slot(header, None).is_ok())
}

fn change_in_place(
    luks: &mut Luks,
    slot: usize,
    volume_key: &Secret,
    new: &Secret,
    options: &AddKey,
    rng: &mut dyn Random,
) -> Result<u32> {
    let mut without = header(luks)?.clone();
    without.disable_slot(slot)?;
    let sealed = Sealed::new(&without, slot, volume_key, new, options, rng)?;
    let lock = luks.lock_for(Edit::Change)?;
    disable(luks, slot, rng)?;
    enable(luks, slot, &sealed)?;
    drop(lock);
    Ok(slot as u32)
}

pub(super) fn kill(luks: &mut Luks, keyslot: u32, rng: &mut dyn Random) -> Result<()> {
    let slot = slot_number(keyslot)?;
    // A slot whose active word was damaged in a torn write can still be killed.
    if header(luks)?.slots[slot].state == SlotState::Disabled {
        return Err(not_active(keyslot));
    }
    let lock = luks.lock_for(Edit::Removal)?;
    let outcome = remove(luks, &[slot], rng);
    drop(lock);
    outcome
}

/// All areas are overwritten, those of keyslots that are said to be disabled too: one torn or forged
/// word says so.
pub(super) fn erase(luks: &mut Luks, rng: &mut dyn Random) -> Result<()> {
    let lock = luks.lock_for(Edit::Erasure)?;
    let outcome = remove(luks, &array::from_fn::<usize, SLOTS, _>(|slot| slot), rng);
    drop(lock);
    outcome
}

/// Overwrites what can be of each slot's material, then disables them.
fn remove(luks: &mut Luks, slots: &[usize], rng: &mut dyn Random) -> Result<()> {
    let storage = luks.storage().clone();
    let mut unwiped = Vec::new();
    for &slot in slots {
        let area = material(header(luks)?, slot);
        unwiped.extend(wipe_what_can_be(&*storage, slot as u32, area, rng));
    }
    let mut written = Ok(());
    for &slot in slots {
        let mut new = header(luks)?.clone();
        if new.slots[slot].state == SlotState::Disabled {
            continue;
        }
        new.disable_slot(slot)?;
        match luks1_disk::write_descriptor(&*storage, &new, slot) {
            Ok(()) => luks.set_header(Header::Luks1(new)),
            Err(error) => written = written.and(Err(error)),
        }
    }
    removed(unwiped, written)
}

/// A passphrase's salt, iterations and key material, valid for any slot of the header.
struct Sealed {
    iterations: u32,
    salt: [u8; 32],
    material: Vec<u8>,
}

impl Sealed {
    fn new(
        header: &luks1::Header,
        slot: usize,
        volume_key: &Secret,
        passphrase: &Secret,
        options: &AddKey,
        rng: &mut dyn Random,
    ) -> Result<Self> {
        let kdf = options.kdf.with_hash(&header.hash_spec)?.settle(header.key_bytes as usize)?;
        let SettledKdf::Pbkdf2 { iterations, .. } = kdf else {
            return Err(shared::not_in_luks1());
        };
        let salt = random_bytes(rng)?;
        let mut enabled = header.clone();
        enabled.enable_slot(slot, iterations, salt)?;
        let cipher = header.cipher();
        let areas = match options.weak_cipher_too {
            true => Areas::StrongOr { cipher: &cipher, key_len: header.key_bytes as usize },
            false => Areas::Strong,
        };
        let keyslot = Keyslot::of_luks1(&enabled, slot as u32, areas)?;
        let derived = keyslot.derive(passphrase, 1, &Stop::new())?;
        Ok(Self { iterations, salt, material: keyslot.seal(&derived, volume_key, rng)? })
    }
}

/// Writes the material, then the descriptor, then its active word.
fn enable(luks: &mut Luks, slot: usize, sealed: &Sealed) -> Result<()> {
    let mut new = header(luks)?.clone();
    new.enable_slot(slot, sealed.iterations, sealed.salt)?;
    let storage = luks.storage().clone();
    write_material(&*storage, new.slots[slot].offset.0 * 512, &sealed.material)?;
    luks1_disk::write_descriptor(&*storage, &new, slot)?;
    luks.set_header(Header::Luks1(new));
    Ok(())
}

/// Overwrites the material, then the active word, then the rest of the descriptor.
fn disable(luks: &mut Luks, slot: usize, rng: &mut dyn Random) -> Result<()> {
    let mut new = header(luks)?.clone();
    new.disable_slot(slot)?;
    let storage = luks.storage().clone();
    wipe_area(&*storage, material(&new, slot), rng)?;
    luks1_disk::write_descriptor(&*storage, &new, slot)?;
    luks.set_header(Header::Luks1(new));
    Ok(())
}

/// Where a slot's key material is.
fn material(header: &luks1::Header, slot: usize) -> Range<u64> {
    let start = header.slots[slot].offset.0 * 512;
    start..start + luks1_disk::material_len(header)
}

fn header(luks: &Luks) -> Result<&luks1::Header> {
    match luks.header() {
        Header::Luks1(header) => Ok(header),
        Header::Luks2 { .. } => Err(shared::only_luks1()),
    }
}

fn slot_number(keyslot: u32) -> Result<usize> {
    match keyslot as usize {
        slot if slot < SLOTS => Ok(slot),
        _ => Err(Refusal::KeyslotNumber.because(format!(
            "Key slot {keyslot} is invalid, please select keyslot between 0 and {}.",
            SLOTS - 1
        ))),
    }
}

fn free_slot(header: &luks1::Header, wanted: Option<u32>) -> Result<usize> {
    let is_free = |slot: &usize| header.slots[*slot].state == SlotState::Disabled;
    match wanted {
        Some(keyslot) => {
            let slot = slot_number(keyslot)?;
            if is_free(&slot) { Ok(slot) } else { Err(in_use(keyslot)) }
        }
        None => (0..SLOTS).find(is_free).ok_or_else(shared::no_free_keyslot),
    }
}
