//! Converts LUKS2 to LUKS1, where LUKS1 can express the header.

use super::areas::Moves;
use super::{refused, write};
use crate::device::storage::Exclusive;
use crate::header::luks::{Edit, Header};
use crate::{Error, Luks, Random, Result};
use keyway_format::af::STRIPES;
use keyway_format::luks1::{self, NewHeader, Payload, SLOTS, SlotState};
use keyway_format::luks2::{
    AREA_ALIGNMENT, Area, Digest, DigestKind, Kdf, Keyslot, KeyslotKind, Metadata, Segment, SegmentKind,
    SegmentSize,
};
use keyway_format::{Sectors, luks2};

/// Converts a LUKS2 header to LUKS1; refused, with the reason, when LUKS1 cannot express it.
pub fn to_luks1(luks: &mut Luks, rng: &mut dyn Random) -> Result<()> {
    luks.check_requirements()?;
    let Header::Luks2 { binary, metadata } = luks.header() else {
        return Err(refused("Device is already LUKS1 type."));
    };
    let storage = luks.storage().clone();
    let storage_len = storage.len();
    let plain = Expressible::new(binary, metadata)?;
    let moves = Moves::to_grid(metadata, AREA_ALIGNMENT.0, plain.end(storage_len));
    let header = match &moves {
        Some(moves) => {
            Expressible::new(binary, &moves.outcome(metadata)?)?.header(&binary.uuid, storage_len)?
        }
        None => plain.header(&binary.uuid, storage_len)?,
    };
    let copies_end = 2 * binary.size.bytes().0 as usize;
    let bytes = header.to_bytes();

    let alone = Exclusive::claim(luks.storage().clone())?;
    let lock = luks.lock_for(Edit::Change)?;
    if let Some(moves) = moves {
        moves.run(luks, rng)?;
    }
    // The primary copy is damaged from the first byte written, and the secondary is the valid one,
    // until the version says 1.
    for range in [SECTOR..bytes.len(), VERSION.end..SECTOR, VERSION] {
        write(&*storage, &bytes, range)?;
    }
    luks.set_header(Header::Luks1(header));
    let mut wiped = vec![0; copies_end];
    wiped[..bytes.len()].copy_from_slice(&bytes);
    write(&*storage, &wiped, bytes.len()..copies_end)?;
    drop((lock, alone));
    Ok(())
}

/// A LUKS2 header that LUKS1 can express.
struct Expressible<'a> {
    metadata: &'a Metadata,
    cipher_name: &'a str,
    cipher_mode: &'a str,
    hash: &'a str,
    key_bytes: u32,
    payload: Sectors,
    digest: [u8; 20],
    digest_salt: [u8; 32],
    digest_iterations: u32,
}

impl<'a> Expressible<'a> {
    fn new(binary: &luks2::BinaryHeader, metadata: &'a Metadata) -> Result<Self> {
        check_extras(binary, metadata)?;
        let (segment, cipher) = only_segment(metadata)?;
        let digest = only_digest(metadata)?;
        let DigestKind::Pbkdf2 { hash, iterations, salt, value } = &digest.kind else {
            return Err(cannot("key slot digests are not LUKS1 compatible"));
        };
        let incompatible = || cannot("key slot digests are not LUKS1 compatible");
        let Some(first) = metadata.keyslots.values().next() else {
            return Err(cannot("there are no active keyslots"));
        };
        let plain = Self {
            metadata,
            cipher_name: cipher.split_once('-').map_or(cipher, |(name, _)| name),
            cipher_mode: cipher.split_once('-').map_or("", |(_, mode)| mode),
            hash,
            key_bytes: first.key_size,
            payload: segment.offset.sectors(),
            digest: *value.first_chunk().ok_or_else(incompatible)?,
            digest_salt: salt.as_slice().try_into().map_err(|_| incompatible())?,
            digest_iterations: *iterations,
        };
        for (&number, slot) in &metadata.keyslots {
            if number as usize >= SLOTS {
                return Err(cannot(&format!("slot {number} (over maximum slots) is still active")));
            }
            if !plain.expresses(slot, cipher) {
                return Err(cannot(&format!("keyslot {number} is not LUKS1 compatible")));
            }
        }
        Ok(plain)
    }

    /// LUKS1 has one hash, one cipher and one key size for everything, and only PBKDF2.
    fn expresses(&self, slot: &Keyslot, cipher: &str) -> bool {
        let KeyslotKind::Luks2 {
            kdf: Kdf::Pbkdf2 { hash, .. },
            af_hash,
            af_stripes,
            area_cipher,
            area_key_size,
        } = &slot.kind
        else {
            return false;
        };
        hash == self.hash
            && af_hash == self.hash
            && *af_stripes == STRIPES
            && area_cipher == cipher
            && *area_key_size == self.key_bytes
            && slot.key_size == self.key_bytes
            && slot.priority == luks2::Priority::Normal
    }

    /// The header: used areas stay where they are, unused slots get areas in the gaps.
    fn header(&self, uuid: &str, storage_len: u64) -> Result<luks1::Header> {
        let fresh = luks1::Header::new(&NewHeader {
            cipher_name: self.cipher_name,
            cipher_mode: self.cipher_mode,
            hash_spec: self.hash,
            key_bytes: self.key_bytes,
            payload: if self.payload.0 == 0 { Payload::Detached } else { Payload::At(self.payload) },
            uuid,
            digest: self.digest,
            digest_salt: self.digest_salt,
            digest_iterations: self.digest_iterations,
        })?;
        let mut gaps = self.gaps(self.end(storage_len)).into_iter();
        let mut slots = fresh.slots.clone();
        for (number, slot) in slots.iter_mut().enumerate() {
            *slot = match self.metadata.keyslots.get(&(number as u32)) {
                Some(old) => descriptor(old)?,
                None => luks1::Keyslot {
                    offset: Sectors(
                        gaps.next().ok_or_else(|| {
                            cannot("there is no space for the areas of the unused keyslots before the data")
                        })? / 512,
                    ),
                    ..slot.clone()
                },
            };
        }
        Ok(fresh.with_slots(&slots)?)
    }

    /// Where keyslot areas must end, in bytes.
    fn end(&self, storage_len: u64) -> u64 {
        if self.payload.0 == 0 { storage_len } else { self.payload.0 * 512 }
    }

    /// Offsets in bytes at which areas of one keyslot's size fit between the used ones, from the
    /// first place on where a LUKS1 keyslot may lie.
    fn gaps(&self, end: u64) -> Vec<u64> {
        let size = Area::size_for(self.key_bytes).0;
        let mut used: Vec<_> = self.metadata.keyslots.values().map(|slot| slot.area).collect();
        used.sort_by_key(|area| area.offset);
        let mut gaps = Vec::new();
        let mut at = AREA_ALIGNMENT.0;
        for (start, next) in used.iter().map(|area| (area.offset.0, area.end().0)).chain([(end, end)]) {
            while at + size <= start && gaps.len() < SLOTS {
                gaps.push(at);
                at += size;
            }
            at = at.max(next).next_multiple_of(AREA_ALIGNMENT.0);
        }
        gaps
    }
}

/// Refuses metadata that LUKS1 cannot store at all.
fn check_extras(binary: &luks2::BinaryHeader, metadata: &Metadata) -> Result<()> {
    if !metadata.tokens.is_empty() {
        return Err(cannot(&format!("LUKS2 header contains {} token(s)", metadata.tokens.len())));
    }
    if !binary.label.is_empty() || !binary.subsystem.is_empty() {
        return Err(cannot("LUKS1 has no label and no subsystem; set both to \"\" first"));
    }
    if !metadata.config.flags.is_empty() {
        return Err(cannot("LUKS1 has no persistent flags; clear them first"));
    }
    Ok(())
}

/// The one segment, and its cipher.
fn only_segment(metadata: &Metadata) -> Result<(&Segment, &str)> {
    let mut segments = metadata.segments.values();
    let (Some(segment), None) = (segments.next(), segments.next()) else {
        return Err(cannot("there is more than one data segment"));
    };
    match &segment.kind {
        SegmentKind::Crypt { iv_tweak: 0, encryption, sector_size: 512, integrity: None }
            if segment.size == SegmentSize::Dynamic && segment.flags.is_empty() =>
        {
            Ok((segment, encryption))
        }
        SegmentKind::Crypt { sector_size, .. } if *sector_size != 512 => {
            Err(cannot(&format!("the encryption sector size is {sector_size}, LUKS1 supports only 512")))
        }
        _ => Err(cannot("the data segment is not LUKS1 compatible")),
    }
}

fn only_digest(metadata: &Metadata) -> Result<&Digest> {
    let mut digests = metadata.digests.values();
    match (digests.next(), digests.next()) {
        (Some(digest), None) => Ok(digest),
        _ => Err(cannot("key slot digests are not LUKS1 compatible")),
    }
}

fn descriptor(slot: &Keyslot) -> Result<luks1::Keyslot> {
    let KeyslotKind::Luks2 { kdf: Kdf::Pbkdf2 { iterations, salt, .. }, .. } = &slot.kind else {
        return Err(cannot("a keyslot is not LUKS1 compatible"));
    };
    Ok(luks1::Keyslot {
        state: SlotState::Enabled,
        iterations: *iterations,
        salt: salt.as_slice().try_into().map_err(|_| cannot("a keyslot's salt is not LUKS1 compatible"))?,
        offset: slot.area.offset.sectors(),
        stripes: STRIPES,
    })
}

fn cannot(why: &str) -> Error {
    refused(format!("Cannot convert to LUKS1 format - {why}."))
}

/// The low byte of the version: what makes the header LUKS1.
const VERSION: std::ops::Range<usize> = 7..8;
const SECTOR: usize = Sectors::SIZE as usize;
