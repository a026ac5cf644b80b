//! The beginning of a re-encryption: the header says what will be, and not a sector of data has
//! changed its meaning. One write of the header begins it, so a cut before leaves the volume as it
//! was.

use super::convert::{Conversion, convert};
use super::draft::{draft, only_segment};
use super::job::zones;
use super::keys::{VolumeKeys, metadata};
use super::moving::move_first;
use super::terms::{NewSlot, Terms};
use crate::change::create::new_digest;
use crate::change::edit::{Sealed, commit_luks2, free_area, free_keyslot, luks2_parts};
use crate::error::shared;
use crate::header::luks::Edit;
use crate::header::under_way::geometry::{
    check_header_stays, check_hot_zone, check_moved_fits, check_whole_sectors, volume_len,
};
use crate::{Error, Luks, Random, Refusal, Result, Storage};
use keyway_crypto::{CipherSpec, Hash, Secret, SectorSize};
use keyway_format::Bytes;
use keyway_format::luks2::reencryption::{
    Backup, Checksum, Direction, END, Mode, MovedResilience, Resilience, State,
};
use keyway_format::luks2::{Digest, Metadata, Reencryption, Segment, SegmentKind, SegmentSize};

/// What is to be done.
#[derive(Clone, Copy)]
pub enum Begin<'a> {
    /// The volume gets another key, cipher or sector size.
    Reencrypt {
        /// "aes-xts-plain64".
        cipher: &'a str,
        /// Encryption sector size in bytes.
        sector_size: u32,
        /// The new volume key with its keyslots; `None` to keep the old one.
        new: Option<(&'a Secret, &'a [NewSlot<'a>])>,
    },
    /// Plaintext becomes the volume that the header describes; the header is on another device, or
    /// in a file that is put in front of the data afterwards.
    Encrypt {
        /// Whether the data moves back by the header's length to make room for it.
        moves: bool,
    },
    /// The volume becomes plaintext; the header is on another device.
    Decrypt,
    /// A volume of another kind becomes the one that the header describes, which is on another device.
    Convert(&'a Conversion<'a>),
}

/// Begins a re-encryption of the volume on `data`. `old` is its volume key, unless it is plaintext;
/// for plaintext and for a volume of another kind, it is the key of the header. Returns the keys of both sides.
///
/// # Errors
/// A cipher, size or hash that cannot be used; no room for keyslots, for what protects the hot zone,
/// or on the device. Nothing was changed then.
pub fn begin(
    luks: &mut Luks,
    data: &dyn Storage,
    key: &Secret,
    begin: Begin<'_>,
    terms: &Terms,
    rng: &mut dyn Random,
) -> Result<VolumeKeys> {
    let (binary, mut changed) = luks2_parts(luks)?;
    let holds_header = terms.holds_header;
    let place = Place { len: data.len(), holds_header };
    let terms = &match begin {
        Begin::Convert(Conversion { old, .. }) => old.shape().terms(terms),
        _ => terms.clone(),
    };
    let copy = |key: &Secret| Some(Secret::copy_from(key.expose()));
    let (mut what, state, keys, digest, sealed) = match begin {
        Begin::Reencrypt { cipher, sector_size, new } => {
            check_cipher(cipher, sector_size, new.map_or(key, |(key, _)| key))?;
            let (digest, sealed) = match new {
                Some((new, slots)) => {
                    let (digest, sealed) = add_slots(&mut changed, new, slots, terms, rng)?;
                    (Some(digest), sealed)
                }
                None => (None, Vec::new()),
            };
            let number = digest.as_ref().map(|(number, _)| *number);
            let (what, state) = reencrypt(&changed, cipher, sector_size, number, terms)?;
            let keys = VolumeKeys::new(copy(key), copy(new.map_or(key, |(new, _)| new)));
            (what, state, keys, digest, sealed)
        }
        Begin::Encrypt { moves } => {
            let (what, state) = encrypt(&changed, moves, place, terms)?;
            (what, state, VolumeKeys::new(None, copy(key)), None, Vec::new())
        }
        Begin::Decrypt => {
            let (what, state) = decrypt(&changed, place, terms)?;
            (what, state, VolumeKeys::new(copy(key), None), None, Vec::new())
        }
        Begin::Convert(Conversion { old, slot }) => {
            let (cipher, sector_size, old_key) = old.encryption();
            check_cipher(cipher, sector_size, old_key)?;
            let (digest, sealed) = add_slots(&mut changed, old_key, std::slice::from_ref(slot), terms, rng)?;
            let (what, state) = convert(metadata(luks)?, old.shape(), digest.0, place.len)?;
            (what, state, VolumeKeys::new(copy(old_key), copy(key)), Some(digest), sealed)
        }
    };
    let len = volume_len(&what, &state, data.len())?;
    check_whole_sectors(&what, &state, len, data.len())?;
    settle(&mut what, &changed, len, terms)?;
    check_header_stays(&what, if holds_header { luks.header().end() } else { 0 })?;
    check_moved_fits(&what)?;
    check_hot_zone(&what, &state)?;
    zones(&what, terms.zone)?;
    let number = changed.free_digest_beside(digest.as_ref().map(|(number, _)| *number));
    let number = number.ok_or_else(shared::no_free_digest)?;
    let vouches = keys.vouch(&what, &terms.kdf, rng)?;
    let new = digest.as_ref().map(|(number, digest)| (*number, digest));
    changed.begin_reencryption(&what, &state, (number, &vouches), new)?;

    let lock = luks.lock_for(Edit::Change)?;
    sealed.iter().try_for_each(|sealed| sealed.write(luks))?;
    move_first(&what, data)?;
    if let Begin::Convert(Conversion { old, .. }) = begin {
        old.keep_start(&what, data, &**luks.storage())?;
    }
    commit_luks2(luks, binary, &changed, rng)?;
    drop(lock);
    keys.check(metadata(luks)?, &what)?;
    Ok(keys)
}

#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) len: u64,
    pub(super) holds_header: bool,
}

/// Adds keyslots of a new key, and a digest for it, to metadata in memory.
fn add_slots(
    changed: &mut Metadata,
    key: &Secret,
    slots: &[NewSlot<'_>],
    terms: &Terms,
    rng: &mut dyn Random,
) -> Result<((u32, Digest), Vec<Sealed>)> {
    let hash = slots.first().and_then(|slot| slot.options.hash.as_deref()).unwrap_or("sha256");
    let kdf = slots.first().map_or(&terms.kdf, |slot| &slot.options.kdf);
    let digest = new_digest(Hash::parse(hash)?, key, kdf, rng)?;
    let digest_id = changed.free_digest().ok_or_else(shared::no_free_digest)?;
    let mut all = Vec::new();
    for slot in slots {
        let number = free_keyslot(changed, slot.options.keyslot)?;
        let area = free_area(changed, key)?;
        let mut sealed = Sealed::new(changed, number, area, key, slot.passphrase, &slot.options, rng)?;
        let old = slot.replaces.and_then(|old| changed.keyslots.get(&old));
        if let Some(old) = old {
            sealed.description.priority = old.priority;
        }
        if all.is_empty() {
            changed.add_keyslot_with_digest(number, &sealed.description, digest_id, &digest)?;
        } else {
            changed.add_keyslot(number, &sealed.description, digest_id)?;
        }
        let serves =
            |token: &u32| slot.replaces.is_some_and(|old| changed.tokens[token].keyslots.contains(&old));
        for token in changed.tokens.keys().copied().filter(serves).collect::<Vec<_>>() {
            changed.assign_token(token, number)?;
        }
        all.push(sealed);
    }
    Ok(((digest_id, digest), all))
}

pub(super) fn reencrypt(
    metadata: &Metadata,
    cipher: &str,
    sector_size: u32,
    new_digest: Option<u32>,
    terms: &Terms,
) -> Result<(Reencryption, State)> {
    let (segment, digest) = only_segment(metadata)?;
    let old = Backup { segment: segment.clone(), digest: Some(digest) };
    let kind = SegmentKind::Crypt { iv_tweak: 0, encryption: cipher.into(), sector_size, integrity: None };
    let offset = segment.offset.0.checked_add(terms.shift);
    let offset = offset.filter(|offset| offset.is_multiple_of(sector_size.into())).map(Bytes);
    let offset = offset.ok_or_else(|| {
        Refusal::Geometry
            .because(format!("Data shift is not aligned to encryption sector size ({sector_size} bytes)."))
    })?;
    let segment = Segment { kind, size: SegmentSize::Dynamic, offset, flags: Vec::new() };
    let new = Backup { segment, digest: new_digest.or(Some(digest)) };
    let total = match (terms.data_len, old.segment.size) {
        (Some(len), _) => len,
        (None, SegmentSize::Fixed(size)) => size.0,
        (None, SegmentSize::Dynamic) => END,
    };
    let direction = if terms.shift > 0 { Direction::Backward } else { Direction::Forward };
    Ok((draft(Mode::Reencrypt, direction, old, new, None), State { done: 0..0, hot: None, total }))
}

pub(super) fn encrypt(
    metadata: &Metadata,
    moves: bool,
    place: Place,
    terms: &Terms,
) -> Result<(Reencryption, State)> {
    let (segment, digest) = only_segment(metadata)?;
    let new = Backup { segment: segment.clone(), digest: Some(digest) };
    let linear = |offset, size| Backup {
        segment: Segment { offset: Bytes(offset), size, flags: Vec::new(), kind: SegmentKind::Linear },
        digest: None,
    };
    let offset = segment.offset.0;
    if !moves {
        let size = terms.data_len.map_or(SegmentSize::Dynamic, |len| SegmentSize::Fixed(Bytes(len)));
        let direction = if terms.shift > 0 { Direction::Backward } else { Direction::Forward };
        let from = offset.checked_sub(terms.shift);
        let from = from.ok_or_else(|| Refusal::Geometry.because("Data shift is too big."))?;
        let what = draft(Mode::Encrypt, direction, linear(from, size), new, None);
        return Ok((what, State { done: 0..0, hot: None, total: terms.data_len.unwrap_or(END) }));
    }
    // Behind the data there must be room for its first part, and before it for the header.
    let room = place.len.checked_sub(2 * offset).filter(|room| *room > 0);
    let len = match (room, terms.data_len) {
        (Some(room), None) => room,
        (Some(room), Some(len)) if len <= room && len > 0 => len,
        _ => {
            let needs = offset.saturating_mul(2).saturating_add(terms.data_len.unwrap_or(512));
            return Err(Error::TooShort { needs, has: place.len });
        }
    };
    let first = linear(place.len - offset, SegmentSize::Fixed(Bytes(len.min(offset))));
    let old = linear(0, SegmentSize::Fixed(Bytes(len)));
    let what = draft(Mode::Encrypt, Direction::Backward, old, new, Some(first));
    Ok((what, State { done: 0..0, hot: None, total: len }))
}

pub(super) fn decrypt(metadata: &Metadata, place: Place, terms: &Terms) -> Result<(Reencryption, State)> {
    if place.holds_header {
        return Err(Refusal::Geometry
            .because("LUKS2 decryption is supported with detached header device only (see --header)."));
    }
    let (segment, digest) = only_segment(metadata)?;
    let plain = |offset| Backup {
        segment: Segment {
            offset: Bytes(offset),
            size: SegmentSize::Dynamic,
            flags: Vec::new(),
            kind: SegmentKind::Linear,
        },
        digest: None,
    };
    let total = terms.data_len.unwrap_or(END);
    let size = terms.data_len.map_or(SegmentSize::Dynamic, |len| SegmentSize::Fixed(Bytes(len)));
    let old = Backup { segment: Segment { size, ..segment.clone() }, digest: Some(digest) };
    let shift = segment.offset.0;
    if shift == 0 {
        let what = draft(Mode::Decrypt, Direction::Backward, old, plain(0), None);
        return Ok((what, State { done: 0..0, hot: None, total }));
    }
    if terms.shift == shift {
        let what = draft(Mode::Decrypt, Direction::Forward, old, plain(0), None);
        return Ok((what, State { done: 0..0, hot: None, total }));
    }
    let len = terms.data_len.unwrap_or(place.len.saturating_sub(shift));
    let first = terms.zone.unwrap_or(FIRST).min(shift).min(len);
    let moved = Segment { offset: Bytes(0), size: SegmentSize::Fixed(Bytes(first)), ..segment.clone() };
    let moved = Backup { segment: moved, digest: Some(digest) };
    // Where nothing follows the first part, the volume has one segment.
    let total = if first == len { len } else { total };
    let what = draft(Mode::Decrypt, Direction::Forward, old, plain(0), Some(moved));
    Ok((what, State { done: first..first, hot: None, total }))
}

/// Finds a keyslot and an area for it, and decides what protects the hot zone of a volume of `len`
/// bytes.
pub(super) fn settle(what: &mut Reencryption, metadata: &Metadata, len: u64, terms: &Terms) -> Result<()> {
    what.keyslot = metadata.free_keyslot().ok_or_else(shared::no_free_keyslot)?;
    let gap = metadata.largest_gap();
    let mut area = gap.ok_or_else(|| {
        Refusal::NoRoom.because("there is no room between the keyslots to protect a reencryption")
    })?;
    let checksum = || {
        Hash::parse(&terms.hash)?;
        Ok::<_, Error>(Checksum { hash: terms.hash.clone(), block: block(what, len, terms.block) })
    };
    let unsupported =
        || Refusal::Unusable.because(format!("Unsupported resilience mode {}", terms.resilience));
    let shift = what.old.segment.offset.0.abs_diff(what.new.segment.offset.0);
    what.resilience = match (what.mode, what.moved.is_some(), terms.resilience.as_str()) {
        // What is written may lie over what is read.
        (Mode::Reencrypt, false, _) if what.old.first_sector() > 0 => Resilience::Journal,
        // The old data stays where it is: nothing has to be kept.
        (Mode::Encrypt, true, _) | (_, false, _) if shift > 0 => {
            area.size = Bytes(4096);
            Resilience::DataShift { shift: Bytes(shift), moved: MovedResilience::DataShift }
        }
        (_, true, "checksum" | "datashift-checksum") => {
            Resilience::DataShift { shift: Bytes(shift), moved: MovedResilience::Checksum(checksum()?) }
        }
        (_, true, "journal" | "datashift-journal") => {
            Resilience::DataShift { shift: Bytes(shift), moved: MovedResilience::Journal }
        }
        (_, false, "checksum") => Resilience::Checksum(checksum()?),
        (_, false, "journal") => Resilience::Journal,
        (_, false, "none") => Resilience::None,
        _ => return Err(unsupported()),
    };
    what.area = area;
    Ok(())
}

/// The block of checksums: the device's, if the volume consists of whole ones. Smaller ones are safe,
/// too, and only cost room.
fn block(what: &Reencryption, len: u64, device: u32) -> u32 {
    let wanted = device.clamp(512, 1 << 16).next_power_of_two().max(what.sector_size());
    // Both are powers of two, so that the last blocks of the parts end with them.
    let fits = |block: &u32| len.is_multiple_of((*block).into());
    std::iter::successors(Some(wanted), |block| Some(block / 2))
        .take_while(|block| *block > what.sector_size())
        .find(fits)
        .unwrap_or(what.sector_size())
}

fn check_cipher(cipher: &str, sector_size: u32, key: &Secret) -> Result<()> {
    let spec = CipherSpec::parse(cipher)?;
    spec.check_key_bits(key.len() * 8)?;
    spec.check_sector_size(SectorSize::new(sector_size)?)?;
    Ok(())
}

/// The part of a volume that moves first when it is decrypted, as in cryptsetup.
const FIRST: u64 = 20 << 20;
