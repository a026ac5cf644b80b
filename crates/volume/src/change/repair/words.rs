//! What a repair found, what is lost, and what it writes, in words.

use super::luks1::Luks1;
use crate::device::probe;
use crate::{Error, Refusal, Storage};
use keyway_format::luks1::Repair as Luks1Repair;
use keyway_format::luks2::recovery::Lost;
use keyway_format::luks2::{Copy, HeaderCopy, Part, Place, Recovery, Write};
use std::fmt;
use std::ops::Range;

/// A place with a header or with something of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its name ("Primary LUKS2 header").
    pub name: &'static str,
    /// Its first byte.
    pub offset: u64,
    /// What is certain about it.
    pub state: State,
    /// LUKS2: how often the header had been written; `None` where nothing is confirmed.
    pub sequence_id: Option<u64>,
    /// Its UUID; `None` where nothing is confirmed.
    pub uuid: Option<String>,
}

/// What is certain about a header copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is as it was written.
    Sound,
    /// Its checksum holds once these parts are put back.
    Confirmed(Vec<String>),
    /// LUKS1: only a passphrase can confirm it.
    Unconfirmed,
    /// Nothing, for this reason.
    Damaged(String),
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: ", self.name, self.offset)?;
        match &self.state {
            State::Sound => f.write_str("sound")?,
            State::Confirmed(parts) => {
                write!(f, "damaged, but its checksum is right after restoring: {}", parts.join(", "))?;
            }
            State::Unconfirmed => {
                f.write_str("its magic is lost; LUKS1 has no checksum, so only a passphrase can confirm it")?;
            }
            State::Damaged(why) => write!(f, "nothing in it is confirmed ({why})")?,
        }
        self.sequence_id.map_or(Ok(()), |id| write!(f, "; sequence id {id}"))?;
        f.write_str(".")
    }
}

impl Found {
    pub(super) fn of_luks1(found: &Luks1) -> Self {
        let state = match found.needs_passphrase {
            true => State::Unconfirmed,
            false => State::Sound,
        };
        Self { name: "LUKS1 header", offset: 0, state, sequence_id: None, uuid: Some(found.new.uuid.clone()) }
    }

    pub(super) fn at(place: &Place) -> Self {
        let (state, header) = match &place.proof {
            Ok(proof) if proof.restored.is_empty() => (State::Sound, Some(&proof.header)),
            Ok(proof) => {
                let parts = proof.restored.iter().map(|part| with_source(part, place.copy));
                (State::Confirmed(parts.collect()), Some(&proof.header))
            }
            Err(why) => (State::Damaged(why.to_string()), None),
        };
        Self {
            name: name(place.copy),
            offset: place.offset,
            state,
            sequence_id: header.map(|header| header.binary.sequence_id),
            uuid: header.map(|header| header.binary.uuid.clone()),
        }
    }
}

fn with_source(part: &Part, copy: Copy) -> String {
    match part.from_other {
        true => format!("{part} (from the {})", short(copy.other())),
        false => part.to_string(),
    }
}

/// What becomes of each copy that is written.
pub(super) fn changes(recovery: &Recovery) -> Vec<String> {
    let change = |write: &Write| match write {
        Write::Restored { copy, offset, .. } => {
            let place = recovery.places.iter().find(|place| place.copy == *copy && place.offset == *offset);
            let parts = place.and_then(|place| place.proof.as_ref().ok()).map(|proof| &proof.restored[..]);
            let parts = parts.unwrap_or_default().iter().map(|part| with_bytes(part, *offset));
            format!(
                "{} is damaged: put back as it was: {}.",
                name(*copy),
                parts.collect::<Vec<_>>().join(", ")
            )
        }
        Write::Rewritten(copy) => {
            let (damaged, good) = (name(*copy), short(copy.other()));
            format!("{damaged} is damaged or out of date: rewritten from the {good}.")
        }
    };
    recovery.writes.iter().map(change).collect()
}

fn with_bytes(part: &Part, offset: u64) -> String {
    let (start, end) = (offset + part.range.start as u64, offset + part.range.end as u64);
    format!("{part} (bytes {start} to {end})")
}

/// What is lost for good: what copies said that are written anew.
pub(super) fn lost(recovery: &Recovery) -> Vec<String> {
    let lost = |write: &Write| match write {
        Write::Restored { .. } => None,
        Write::Rewritten(copy) => {
            let other = recovery.places.iter().find(|place| place.copy == *copy && place.proof.is_ok());
            let (it, id) = (short(*copy), recovery.winner.binary.sequence_id);
            Some(match other {
                Some(_) => {
                    format!("The {it} header, which is older than sequence id {id}: an edit was interrupted.")
                }
                None => format!(
                    "The {it} header. It equals sequence id {id}, unless an edit was interrupted after writing \
                     it; then that edit is lost."
                ),
            })
        }
    };
    recovery.writes.iter().filter_map(lost).collect()
}

pub(super) fn luks1_changes(found: &Luks1) -> Vec<String> {
    let magic =
        found.needs_passphrase.then(|| "LUKS1 header has no magic: put back (bytes 0 to 8).".to_owned());
    magic.into_iter().chain(found.repairs.iter().map(describe_repair)).collect()
}

fn describe_repair(repair: &Luks1Repair) -> String {
    match repair {
        Luks1Repair::CipherMode => "Cipher mode repaired (ecb).".into(),
        Luks1Repair::Offset { slot, from, to } => {
            format!("Keyslot {slot}: offset repaired ({} -> {}).", from.0, to.0)
        }
        Luks1Repair::Stripes { slot, from } => format!("Keyslot {slot}: stripes repaired ({from} -> 4000)."),
        Luks1Repair::Wiped { slot } => format!("Keyslot {slot}: salt wiped."),
        _ => "Keyslot repaired.".into(),
    }
}

/// What else the device holds, and what is overwritten of it.
pub(super) fn signatures(storage: &dyn Storage, written: &[Range<u64>]) -> Vec<String> {
    // What cannot be read is no signature that anybody uses.
    let found = probe::probe(storage).unwrap_or_default().into_iter();
    let foreign = found.filter(|found| !found.signature.is_luks());
    let sentence = |found: probe::Found| {
        let (name, at) = (found.signature.name, found.offset);
        match written.iter().any(|range| range.contains(&at)) {
            true => {
                format!("The device also has the signature of {name}, at byte {at}, which is overwritten.")
            }
            false => format!("The device also has the signature of {name}, at byte {at}, which stays."),
        }
    };
    foreign.map(sentence).collect()
}

pub(super) fn unreadable(range: &Range<u64>) -> String {
    format!("Bytes {} to {} are unreadable, and count as lost.", range.start, range.end)
}

pub(super) fn differing_uuids(winner: &HeaderCopy, other: &str) -> String {
    format!("The copies have different UUIDs: {} stays, {other} goes.", winner.binary.uuid)
}

/// Why nothing is written.
pub(super) fn refusal(lost: Lost) -> Error {
    let (why, places) = match lost {
        Lost::NoTrace => return keyway_format::Error::NotLuks.into(),
        Lost::LaterVersion(error) => return error.into(),
        Lost::Unproven(places) => ("Nothing of its LUKS2 header is confirmed by a checksum", places),
        Lost::Ambiguous(places) => {
            ("It has secondary LUKS2 headers of several volumes, and no primary", places)
        }
        Lost::OverLuks1(places) => (
            "It has a secondary LUKS2 header, and a LUKS1 header without its magic where the primary would be",
            places,
        ),
    };
    let looked: Vec<String> = places.iter().map(|place| Found::at(place).to_string()).collect();
    Refusal::Unproven.because(format!(
        "{why}. Looked at byte 0 and at the nine places of a secondary (16384 to 4194304). {} Nothing was written. A \
         header backup brings it back: \"keyway luksHeaderRestore\".",
        looked.join(" ")
    ))
}

const fn name(copy: Copy) -> &'static str {
    match copy {
        Copy::Primary => "Primary LUKS2 header",
        Copy::Secondary => "Secondary LUKS2 header",
    }
}

const fn short(copy: Copy) -> &'static str {
    match copy {
        Copy::Primary => "primary",
        Copy::Secondary => "secondary",
    }
}
