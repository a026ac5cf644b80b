//! Recovery of damaged headers: every place where a copy may lie, what each copy's own checksum
//! confirms, and what is to be written: a pure function of a device's first bytes.

use super::header::{self, Copy, HeaderSize};
use super::proof::{self, Proof, prove};
use super::select::HeaderCopy;
use crate::{Error, luks1};
use alloc::vec::Vec;

/// Bytes from the start of a device in which every copy lies.
pub const SEARCHED: usize = 2 * (4 << 20);

/// A place with something of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Which copy it would be.
    pub copy: Copy,
    /// Its first byte.
    pub offset: u64,
    /// What the checksum confirms; the reason, where that is nothing.
    pub proof: Result<Proof, Error>,
}

/// What becomes of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// It becomes what it was: at `offset`, these bytes.
    Restored {
        /// The copy.
        copy: Copy,
        /// Its first byte.
        offset: u64,
        /// All its bytes.
        bytes: Vec<u8>,
    },
    /// It is written anew from the other, with a new salt.
    Rewritten(Copy),
}

/// What can be recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// Every place with something of a copy; the primary's first.
    pub places: Vec<Place>,
    /// The copy that counts: of those that are confirmed, the one with the highest sequence id.
    pub winner: HeaderCopy,
    /// What is to be written, in this order: at every moment as much can be confirmed as before.
    pub writes: Vec<Write>,
}

/// Why nothing can be recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// There is no trace of a header.
    NoTrace,
    /// The primary is a header of a later version.
    LaterVersion(Error),
    /// Nothing is confirmed at any of these places.
    Unproven(Vec<Place>),
    /// Without the primary, secondaries of several headers are confirmed.
    Ambiguous(Vec<Place>),
    /// A LUKS1 header without its magic stands where the primary would.
    OverLuks1(Vec<Place>),
}

impl Recovery {
    /// Searches the first bytes of a device ([`SEARCHED`], or all it has).
    ///
    /// # Errors
    /// [`Lost`].
    pub fn search(start: &[u8]) -> Result<Self, Lost> {
        let places = places(start);
        if places.is_empty() {
            return Err(Lost::NoTrace);
        }
        let primary = places.iter().find(|place| place.copy == Copy::Primary);
        if primary.is_none_or(|primary| primary.proof.is_err()) {
            header::refuse_later_version(start, Copy::Primary).map_err(Lost::LaterVersion)?;
        }
        let proven: Vec<&Place> = places.iter().filter(|place| place.proof.is_ok()).collect();
        let Some(winner) = proven.iter().copied().reduce(newer) else { return Err(Lost::Unproven(places)) };
        let has_primary = proven.iter().any(|place| place.copy == Copy::Primary);
        if !has_primary && proven.iter().any(|place| uuid(place) != uuid(winner)) {
            return Err(Lost::Ambiguous(places));
        }
        if !has_primary && is_luks1_without_magic(start) {
            return Err(Lost::OverLuks1(places));
        }
        let other = proven.iter().copied().find(|place| place.copy != winner.copy);
        let writes = writes(winner, other);
        let Ok(Proof { header: winner, .. }) = winner.proof.clone() else { return Err(Lost::NoTrace) };
        Ok(Self { places, winner, writes })
    }
}

/// The primary, then the secondaries: where the primary is confirmed, the one after it; otherwise at
/// all nine offsets.
fn places(start: &[u8]) -> Vec<Place> {
    let mut primary = primary(start);
    let confirmed = primary.as_ref().and_then(|place| place.proof.as_ref().ok());
    let sizes: Vec<HeaderSize> = match confirmed {
        Some(proof) => [proof.header.binary.size].into(),
        None => HeaderSize::ALL.into(),
    };
    let sound = confirmed.map(|proof| proof.bytes.clone());
    let first = sound.as_deref().unwrap_or(start);
    let secondaries: Vec<Place> = sizes.iter().filter_map(|size| secondary(start, first, *size)).collect();
    // What was put back in the secondary may be what the primary lacks.
    for proof in secondaries.iter().filter_map(|place| place.proof.as_ref().ok()) {
        if let Some(place) = primary.as_mut().filter(|place| place.proof.is_err()) {
            let again = prove(start, &proof.bytes, Copy::Primary, proof.header.binary.size);
            place.proof = again.or_else(|_| place.proof.clone());
        }
    }
    primary.into_iter().chain(secondaries).collect()
}

fn primary(start: &[u8]) -> Option<Place> {
    let stated = header::stated_size(start);
    let others = HeaderSize::ALL.into_iter().filter(|size| Some(*size) != stated);
    let mut sizes = stated.into_iter().chain(others);
    let proof = sizes.find_map(|size| {
        let behind = start.get(size.bytes().0 as usize..).unwrap_or_default();
        // Without another copy there is little to try; with one a search takes a second.
        let is_likely = Some(size) == stated || proof::has_trace(behind, Copy::Secondary);
        prove(start, if is_likely { behind } else { &[] }, Copy::Primary, size).ok()
    });
    let place = |proof| Place { copy: Copy::Primary, offset: 0, proof };
    match proof {
        Some(proof) => Some(place(Ok(proof))),
        None if proof::has_trace(start, Copy::Primary) => {
            let why = HeaderCopy::parse(start, Copy::Primary).err().unwrap_or(Error::NotLuks);
            Some(place(Err(why)))
        }
        None => None,
    }
}

/// The secondary of a header of `size`; `None` where nothing of one is there.
fn secondary(start: &[u8], primary: &[u8], size: HeaderSize) -> Option<Place> {
    let offset = size.bytes().0;
    let own = start.get(offset as usize..2 * offset as usize)?;
    let proof = prove(own, primary, Copy::Secondary, size);
    (proof.is_ok() || proof::has_trace(own, Copy::Secondary)).then_some(Place {
        copy: Copy::Secondary,
        offset,
        proof,
    })
}

/// The one with the higher sequence id; the first where they are equal.
fn newer<'a>(first: &'a Place, second: &'a Place) -> &'a Place {
    if sequence_id(second) > sequence_id(first) { second } else { first }
}

fn writes(winner: &Place, other: Option<&Place>) -> Vec<Write> {
    let mut writes: Vec<Write> = restored(winner).into_iter().collect();
    let is_current = |place: &&Place| sequence_id(place) == sequence_id(winner);
    match other.filter(is_current) {
        Some(other) => writes.extend(restored(other)),
        None => writes.push(Write::Rewritten(winner.copy.other())),
    }
    writes
}

fn restored(place: &Place) -> Option<Write> {
    let proof = place.proof.as_ref().ok().filter(|proof| !proof.restored.is_empty())?;
    Some(Write::Restored { copy: place.copy, offset: place.offset, bytes: proof.bytes.clone() })
}

fn sequence_id(place: &Place) -> Option<u64> {
    place.proof.as_ref().ok().map(|proof| proof.header.binary.sequence_id)
}

fn uuid(place: &Place) -> Option<&str> {
    place.proof.as_ref().ok().map(|proof| proof.header.binary.uuid.as_str())
}

/// Whether all but the magic is a LUKS1 header.
fn is_luks1_without_magic(start: &[u8]) -> bool {
    luks1::Header::parse_with_magic(start).is_ok()
}
