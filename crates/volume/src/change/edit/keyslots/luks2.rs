//! Keyslots of LUKS2. A change is written to a free area and becomes effective with one write of
//! the metadata; the old area is wiped after that. (Where no area is free and the caller accepts
//! it, the old one is overwritten.) A killed keyslot's area is wiped before the
//! keyslot is removed from the metadata.

use super::{AddKey, in_use, not_active};
use crate::change::create::new_digest;
use crate::change::edit::wipe::wipe_what_can_be;
use crate::change::edit::{commit_luks2, luks2_parts, removed, wipe_area, write_material};
use crate::error::shared;
use crate::header::luks::Edit;
use crate::keyslot::area_cipher::{self, Areas};
use crate::keyslot::kdf_cost::{DEFAULT_HASH, online_cpus};
use crate::keyslot::material::Keyslot;
use crate::keyslot::unlock::verify_volume_key;
use crate::random::random_bytes;
use crate::{Error, Header, KdfChoice, Luks, Random, Refusal, Result, Unlocked};
use keyway_crypto::{CipherSpec, Hash, Secret, Stop};
use keyway_format::af::STRIPES;
use keyway_format::luks2::{self, Area, KeyslotKind, MAX_OBJECTS, Metadata, Priority, SegmentKind};
use std::ops::Range;

pub(super) fn add(
    luks: &mut Luks,
    volume_key: &Secret,
    new: &Secret,
    options: &AddKey,
    rng: &mut dyn Random,
) -> Result<u32> {
    let digest = verify_volume_key(luks, volume_key)?;
    let (binary, mut metadata) = luks2_parts(luks)?;
    let number = free_number(&metadata, options.keyslot)?;
    let area = free_area(&metadata, volume_key)?;
    let sealed = Sealed::new(&metadata, number, area, volume_key, new, options, rng)?;
    metadata.add_keyslot(number, &sealed.description, digest)?;
    let lock = luks.lock_for(Edit::Change)?;
    sealed.write(luks)?;
    commit_luks2(luks, binary, &metadata, rng)?;
    drop(lock);
    Ok(number)
}

pub(super) fn add_unbound(
    luks: &mut Luks,
    key: &Secret,
    new: &Secret,
    options: &AddKey,
    rng: &mut dyn Random,
) -> Result<u32> {
    let (binary, mut metadata) = luks2_parts(luks)?;
    if key.is_empty() {
        return Err(Refusal::KeyLength.because("an unbound key cannot be empty"));
    }
    let number = free_number(&metadata, options.keyslot)?;
    let area = free_area(&metadata, key)?;
    let sealed = Sealed::new(&metadata, number, area, key, new, options, rng)?;
    let digest = new_digest(af_hash(options)?, key, &options.kdf, rng)?;
    let digest_id = metadata.free_digest().ok_or_else(shared::no_free_digest)?;
    metadata.add_keyslot_with_digest(number, &sealed.description, digest_id, &digest)?;
    let lock = luks.lock_for(Edit::Change)?;
    sealed.write(luks)?;
    commit_luks2(luks, binary, &metadata, rng)?;
    drop(lock);
    Ok(number)
}

pub(super) fn change(
    luks: &mut Luks,
    unlocked: &Unlocked,
    new: &Secret,
    options: &AddKey,
    rng: &mut dyn Random,
) -> Result<u32> {
    let (binary, mut metadata) = luks2_parts(luks)?;
    let old = unlocked.keyslot;
    let old_slot = metadata.keyslots.get(&old).ok_or_else(|| not_active(old))?;
    let (old_area, priority) = (old_slot.area, old_slot.priority);
    let number = options.keyslot.unwrap_or(old);
    if number != old {
        free_number(&metadata, Some(number))?;
    }
    let area = match free_area(&metadata, &unlocked.volume_key) {
        Err(_) if options.in_place && number == old && fits(old_area, &unlocked.volume_key) => old_area,
        found => found?,
    };
    let mut sealed = Sealed::new(&metadata, number, area, &unlocked.volume_key, new, options, rng)?;
    sealed.description.priority = priority;
    if number == old {
        metadata.replace_keyslot(old, &sealed.description)?;
    } else {
        move_to(&mut metadata, old, number, &sealed.description, unlocked.digest)?;
    }
    let is_in_place = area == old_area;
    let lock = luks.lock_for(Edit::Change)?;
    if is_in_place {
        wipe_area(&**luks.storage(), span(old_area), rng)?;
    }
    sealed.write(luks)?;
    commit_luks2(luks, binary, &metadata, rng)?;
    if !is_in_place {
        wipe_area(&**luks.storage(), span(old_area), rng)?;
    }
    drop(lock);
    Ok(number)
}

pub(super) fn kill(luks: &mut Luks, keyslot: u32, rng: &mut dyn Random) -> Result<()> {
    let (binary, mut metadata) = luks2_parts(luks)?;
    let area = metadata.keyslots.get(&keyslot).ok_or_else(|| not_active(keyslot))?.area;
    metadata.remove_keyslot(keyslot)?;
    let lock = luks.lock_for(Edit::Removal)?;
    let unwiped = wipe_what_can_be(&**luks.storage(), keyslot, span(area), rng);
    let written = commit_luks2(luks, binary, &metadata, rng);
    drop(lock);
    removed(unwiped.into_iter().collect(), written)
}

/// All areas are overwritten, whatever each of them does, and the header is written once at the end.
/// A keyslot of an unknown type or KDF may be one of a known type that somebody has renamed.
pub(super) fn erase(luks: &mut Luks, rng: &mut dyn Random) -> Result<()> {
    let Header::Luks2 { binary, metadata } = luks.header() else { return luks2_parts(luks).map(drop) };
    let (binary, mut metadata) = (binary.clone(), metadata.clone());
    let lock = luks.lock_for(Edit::Erasure)?;
    let mut unwiped = Vec::new();
    for (&number, slot) in &metadata.keyslots {
        unwiped.extend(wipe_what_can_be(&**luks.storage(), number, span(slot.area), rng));
    }
    // A re-encryption that is under way is described by its keyslot, which holds no key.
    let describes =
        |slot: &luks2::Keyslot| matches!(&slot.kind, KeyslotKind::Other(name) if name == REENCRYPT);
    let mut holding = metadata.keyslots.clone();
    holding.retain(|_, slot| !describes(slot));
    let without = holding.into_keys().try_for_each(|number| metadata.remove_keyslot(number));
    let written = without.map_err(Error::from).and_then(|()| commit_luks2(luks, binary, &metadata, rng));
    drop(lock);
    removed(unwiped, written)
}

/// The parameters of a new keyslot of type luks2. Lengths are in bytes.
pub(crate) struct NewKeyslot<'a> {
    pub(crate) number: u32,
    pub(crate) key_len: usize,
    pub(crate) area: Area,
    pub(crate) kdf: &'a KdfChoice,
    pub(crate) af_hash: Hash,
    pub(crate) area_cipher: &'a str,
    pub(crate) area_key_bytes: u32,
}

impl NewKeyslot<'_> {
    /// Settles its KDF's cost, generates its salt, and returns it both as the metadata describes it
    /// and in the form that can be sealed.
    pub(crate) fn settle(&self, rng: &mut dyn Random) -> Result<(luks2::Keyslot, Keyslot)> {
        let salt: [u8; luks2::SALT_LEN] = random_bytes(rng)?;
        let description = luks2::Keyslot {
            key_size: self.key_len as u32,
            priority: Priority::Normal,
            area: self.area,
            kind: KeyslotKind::Luks2 {
                kdf: self.kdf.settle(self.area_key_bytes as usize)?.with_salt(salt.to_vec()),
                af_hash: self.af_hash.name().into(),
                af_stripes: STRIPES,
                area_cipher: self.area_cipher.into(),
                area_key_size: self.area_key_bytes,
            },
        };
        let keyslot = Keyslot::of_luks2(self.number, &description, Areas::Strong)?;
        Ok((description, keyslot))
    }
}

/// A new keyslot's description and its material, placed in a free area.
pub(crate) struct Sealed {
    pub(crate) description: luks2::Keyslot,
    material: Vec<u8>,
}

impl Sealed {
    pub(crate) fn new(
        metadata: &Metadata,
        number: u32,
        area: Area,
        key: &Secret,
        passphrase: &Secret,
        options: &AddKey,
        rng: &mut dyn Random,
    ) -> Result<Self> {
        options.kdf.check()?;
        let (cipher, key_bytes) = area_encryption(metadata, key, options)?;
        let (description, keyslot) = NewKeyslot {
            number,
            key_len: key.len(),
            area,
            kdf: &options.kdf,
            af_hash: af_hash(options)?,
            area_cipher: &cipher,
            area_key_bytes: key_bytes,
        }
        .settle(rng)?;
        let derived = keyslot.derive(passphrase, online_cpus(), &Stop::new())?;
        let material = keyslot.seal(&derived, key, rng)?;
        Ok(Self { description, material })
    }

    pub(crate) fn write(&self, luks: &Luks) -> Result<()> {
        write_material(&**luks.storage(), self.description.area.offset.0, &self.material)
    }
}

pub(crate) fn free_area(metadata: &Metadata, key: &Secret) -> Result<Area> {
    metadata.free_area(key.len() as u32).map_err(|_| {
        Refusal::NoFreeKeyslot.because(
            "No space for new keyslot: its material needs a free area in the keyslots area. Kill a keyslot that \
             is no longer needed first.",
        )
    })
}

fn fits(area: Area, key: &Secret) -> bool {
    area.size >= Area::material_size(key.len() as u32)
}

/// Moves a keyslot to another number: tokens that opened the old one open the new one.
fn move_to(
    metadata: &mut Metadata,
    old: u32,
    number: u32,
    description: &luks2::Keyslot,
    digest: u32,
) -> Result<()> {
    let tokens: Vec<u32> = metadata
        .tokens
        .iter()
        .filter(|(_, token)| token.keyslots.contains(&old))
        .map(|(&token, _)| token)
        .collect();
    metadata.add_keyslot(number, description, digest)?;
    metadata.remove_keyslot(old)?;
    for token in tokens {
        metadata.assign_token(token, number)?;
    }
    Ok(())
}

/// The cipher of a new keyslot's area, and its key length in bytes: as requested, or else the
/// segment's own cipher and key size, or the default where that cipher cannot encrypt a keyslot.
fn area_encryption(metadata: &Metadata, key: &Secret, options: &AddKey) -> Result<(String, u32)> {
    let segment =
        metadata.segments.values().filter(|segment| !segment.is_backup()).find_map(|segment| match &segment
            .kind
        {
            SegmentKind::Crypt { encryption, .. } => Some(encryption.clone()),
            _ => None,
        });
    let bound = metadata.keyslots.iter().find(|(number, _)| !metadata.is_unbound(**number));
    let key_bytes = bound.map_or(key.len() as u32, |(_, slot)| slot.key_size);
    if let Some(cipher) = options.keyslot_cipher.clone() {
        let bits = options.keyslot_key_bits.unwrap_or(key_bytes * 8);
        CipherSpec::parse(&cipher)?.check_key_bits(bits as usize)?;
        return Ok((cipher, bits / 8));
    }
    let (cipher, default_bytes) = match segment {
        Some(segment) => area_cipher::default_for(&segment, key_bytes),
        None => area_cipher::default_for("", key_bytes),
    };
    Ok((cipher, options.keyslot_key_bits.map_or(default_bytes, |bits| bits / 8)))
}

fn af_hash(options: &AddKey) -> Result<Hash> {
    Ok(Hash::parse(options.hash.as_deref().unwrap_or(DEFAULT_HASH))?)
}

pub(crate) fn free_number(metadata: &Metadata, wanted: Option<u32>) -> Result<u32> {
    match wanted {
        Some(number) if number >= MAX_OBJECTS => Err(Refusal::KeyslotNumber.because(format!(
            "Key slot {number} is invalid, please select keyslot between 0 and {}.",
            MAX_OBJECTS - 1
        ))),
        Some(number) if metadata.keyslots.contains_key(&number) => Err(in_use(number)),
        Some(number) => Ok(number),
        None => metadata.free_keyslot().ok_or_else(shared::no_free_keyslot),
    }
}

fn span(area: Area) -> Range<u64> {
    area.offset.0..area.end().0
}

/// The type of the keyslot that describes a re-encryption.
const REENCRYPT: &str = "reencrypt";
