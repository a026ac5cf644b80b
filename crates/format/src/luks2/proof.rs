//! What a damaged copy's own checksum confirms.
//!
//! The checksum covers the binary header and the JSON area. Of what it covers, only salt and checksum
//! are a copy's alone: magic, version, size and offset have known values at a given place, everything
//! else is the same in both copies, padding is zero. So whatever is damaged outside salt and checksum
//! is replaced by what the other copy has, or by the known value, and the checksum says whether that
//! is what was there. Nothing is taken that it does not confirm.

use super::header::{ALGORITHM, BinaryHeader, CHECKSUM, Copy, HeaderSize, LABEL, SUBSYSTEM, UUID};
use super::header::{magic, offset};
use super::select::HeaderCopy;
use crate::{Error, text};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use keyway_crypto::Hash;

/// A copy that its checksum confirms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Its content.
    pub header: HeaderCopy,
    /// All its bytes as they were before the damage.
    pub bytes: Vec<u8>,
    /// What had to be put back; empty when it was sound.
    pub restored: Vec<Part>,
}

/// A part of a copy that was damaged and is known again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its name in the specification ("magic").
    pub name: &'static str,
    /// The bytes that differ, from the copy's start.
    pub range: Range<usize>,
    /// Whether it was taken from the other copy; else it has a known value.
    pub from_other: bool,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Tries what was there before the damage: `own` are the bytes at the place of `copy` in a header of
/// `size`, `other` those of the other copy, as far as there are any.
///
/// # Errors
/// As [`HeaderCopy::parse`], where nothing is confirmed, or where what is confirmed is not valid.
pub fn prove(own: &[u8], other: &[u8], copy: Copy, size: HeaderSize) -> Result<Proof, Error> {
    let len = size.bytes().0 as usize;
    let Some(own) = own.get(..len) else {
        return Err(Error::Truncated { needs: len as u64, has: own.len() as u64 });
    };
    let other = &other[..other.len().min(len)];
    let mut bytes = own.to_vec();
    put_known(&mut bytes, copy, size);
    let is_proven = is_confirmed(&bytes, copy) || has_checksum(own, other) && search(&mut bytes, other, copy);
    if !is_proven {
        return Err(HeaderCopy::parse(own, copy).err().unwrap_or(Error::NotLuks));
    }
    let header = HeaderCopy::parse(&bytes, copy)?;
    let restored = differences(own, &bytes, other);
    Ok(Proof { header, bytes, restored })
}

/// Whether these bytes were once a copy: they have its magic, or name a hash and have its checksum.
pub(super) fn has_trace(own: &[u8], copy: Copy) -> bool {
    own.starts_with(&magic(copy)) || named_hash(own).is_some_and(|hash| has_digest(own, hash))
}

/// Whether something stands where the checksum does, so that a search has an end.
fn has_checksum(own: &[u8], other: &[u8]) -> bool {
    let hashes = [named_hash(own), named_hash(other), Some(Hash::Sha256)];
    hashes.into_iter().flatten().any(|hash| has_digest(own, hash))
}

fn named_hash(bytes: &[u8]) -> Option<Hash> {
    Hash::parse(&text::name(bytes.get(ALGORITHM)?, "").ok()?).ok()
}

/// Whether the checksum's field has a digest of that length, and zeros after it.
fn has_digest(own: &[u8], hash: Hash) -> bool {
    let field = own.get(CHECKSUM).unwrap_or_default();
    let (digest, rest) = field.split_at(hash.output_len().min(field.len()));
    digest.iter().any(|&byte| byte != 0) && rest.iter().all(|&byte| byte == 0)
}

/// Puts in what is known of every copy at this place.
fn put_known(bytes: &mut [u8], copy: Copy, size: HeaderSize) {
    bytes[MAGIC].copy_from_slice(&magic(copy));
    bytes[VERSION].copy_from_slice(&super::header::VERSION.to_be_bytes());
    bytes[SIZE].copy_from_slice(&size.bytes().0.to_be_bytes());
    bytes[OFFSET].copy_from_slice(&offset(copy, size).to_be_bytes());
}

fn is_confirmed(bytes: &[u8], copy: Copy) -> bool {
    BinaryHeader::parse_checked(bytes, copy).is_ok()
}

/// Tries the combinations of what may have stood where the copies differ: first binary header and JSON
/// area as wholes, then each field and each stretch of damage, then finer pieces of these, for copies
/// that are damaged side by side.
fn search(bytes: &mut [u8], other: &[u8], copy: Copy) -> bool {
    let zeros = vec![0; bytes.len()];
    let before = bytes.to_vec();
    if try_wholes(bytes, &choices(&before, other, &zeros, GRAINS[0]), copy) {
        return true;
    }
    let mut tried = 0;
    GRAINS.into_iter().any(|grain| {
        let choices = choices(&before, other, &zeros, grain);
        let is_finer = core::mem::replace(&mut tried, choices.len()) != choices.len();
        bytes.copy_from_slice(&before);
        is_finer && try_all(bytes, &choices, copy)
    })
}

/// What may stand at a place; the first is what does.
struct Choice<'a> {
    at: usize,
    values: Vec<&'a [u8]>,
    /// What the other copy has, if that is something else.
    other: Option<&'a [u8]>,
}

impl<'a> Choice<'a> {
    /// `None` where there is nothing to choose.
    fn new(at: usize, own: &'a [u8], other: Option<&'a [u8]>, known: Option<&'a [u8]>) -> Option<Self> {
        let mut values = vec![own];
        for value in other.into_iter().chain(known) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        (values.len() > 1).then_some(Self { at, values, other: other.filter(|other| *other != own) })
    }

    fn is_json(&self) -> bool {
        self.at >= BinaryHeader::LEN
    }

    fn put(&self, value: &[u8], bytes: &mut [u8]) {
        bytes[self.at..self.at + value.len()].copy_from_slice(value);
    }
}

fn choices<'a>(own: &'a [u8], other: &'a [u8], zeros: &'a [u8], grain: usize) -> Vec<Choice<'a>> {
    let values = |range: &Range<usize>, known: Option<&'a [u8]>| {
        Choice::new(range.start, &own[range.clone()], other.get(range.clone()), known)
    };
    let runs = runs(own, other, grain);
    let json = runs.iter().filter_map(|run| values(run, Some(&zeros[run.clone()])));
    let fields = FIELDS.iter().filter_map(|(_, range, content)| match content {
        Content::Known => None,
        Content::Shared => values(range, None),
        Content::Padding => values(range, Some(&zeros[range.clone()])),
        Content::Algorithm => values(range, Some(SHA256)),
    });
    json.chain(fields).collect()
}

/// Where the JSON areas differ, in whole sectors, in pieces of at most `grain` bytes.
fn runs(own: &[u8], other: &[u8], grain: usize) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in (BinaryHeader::LEN..own.len()).step_by(SECTOR) {
        let sector = at..at + SECTOR;
        if other.get(sector.clone()).is_none_or(|theirs| theirs == &own[sector.clone()]) {
            continue;
        }
        match runs.last_mut().filter(|run| run.end == at && !at.is_multiple_of(grain)) {
            Some(run) => run.end = sector.end,
            None => runs.push(sector),
        }
    }
    runs
}

/// Tries the other copy's JSON area, its binary header, and both.
fn try_wholes(bytes: &mut [u8], choices: &[Choice<'_>], copy: Copy) -> bool {
    [(true, false), (false, true), (true, true)].into_iter().any(|(json, header)| {
        for choice in choices {
            let from_other = if choice.is_json() { json } else { header };
            choice.put(choice.other.filter(|_| from_other).unwrap_or(choice.values[0]), bytes);
        }
        is_confirmed(bytes, copy)
    })
}

/// Counts through the combinations, as many as the budget of hashed bytes allows.
fn try_all(bytes: &mut [u8], choices: &[Choice<'_>], copy: Copy) -> bool {
    let mut digits = vec![0; choices.len()];
    for _ in 0..BUDGET / bytes.len() {
        let mut carries = true;
        for (digit, choice) in digits.iter_mut().zip(choices) {
            *digit = (*digit + 1) % choice.values.len();
            choice.put(choice.values[*digit], bytes);
            carries = *digit == 0;
            if !carries {
                break;
            }
        }
        if carries {
            return false;
        }
        if is_confirmed(bytes, copy) {
            return true;
        }
    }
    false
}

/// The parts in which `now` differs from `before`.
fn differences(before: &[u8], now: &[u8], other: &[u8]) -> Vec<Part> {
    let json = BinaryHeader::LEN..now.len();
    let fields = FIELDS.iter().map(|(name, range, content)| (*name, range.clone(), *content));
    let parts = fields.chain([("JSON area", json, Content::Shared)]);
    let differing = parts.filter_map(|(name, range, content)| {
        let differs = |at: &usize| before[*at] != now[*at];
        let (first, last) = (range.clone().find(differs)?, range.rev().find(differs)?);
        let range = first..last + 1;
        let is_shared = !matches!(content, Content::Known);
        let from_other = is_shared && other.get(range.clone()) == Some(&now[range.clone()]);
        Some(Part { name, range, from_other })
    });
    differing.collect()
}

/// What a field of the binary header has.
#[derive(Clone, Copy)]
enum Content {
    /// A known value.
    Known,
    /// The same in both copies.
    Shared,
    /// The same, zeros in what is written today.
    Padding,
    /// The same, sha256 in what is written today.
    Algorithm,
}

const MAGIC: Range<usize> = 0..6;
const VERSION: Range<usize> = 6..8;
const SIZE: Range<usize> = 8..16;
const OFFSET: Range<usize> = 256..264;
/// All but salt and checksum.
const FIELDS: [(&str, Range<usize>, Content); 11] = [
    ("magic", MAGIC, Content::Known),
    ("version", VERSION, Content::Known),
    ("size", SIZE, Content::Known),
    ("sequence id", 16..24, Content::Shared),
    ("label", LABEL, Content::Shared),
    ("checksum algorithm", ALGORITHM, Content::Algorithm),
    ("UUID", UUID, Content::Shared),
    ("subsystem", SUBSYSTEM, Content::Shared),
    ("offset", OFFSET, Content::Known),
    ("padding", 264..CHECKSUM.start, Content::Padding),
    ("padding", CHECKSUM.end..BinaryHeader::LEN, Content::Padding),
];
const SHA256: &[u8] = b"sha256\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
const SECTOR: usize = 512;
/// Damage comes in stretches, in blocks and in sectors.
const GRAINS: [usize; 3] = [usize::MAX, 4096, SECTOR];
/// Bytes hashed at most for a copy, at each grain: a quarter of a second.
const BUDGET: usize = 64 << 20;
