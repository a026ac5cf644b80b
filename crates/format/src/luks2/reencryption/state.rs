//! How far a re-encryption is, and the segments that say so.
//!
//! Offsets are in bytes of plaintext. What is done is one run that grows from one end; the hot zone
//! lies beside it. A header may say nothing that no re-encryption leaves behind: its segments must
//! be those of a [`State`].

use super::{Backup, Direction, Mode, Reencryption};
use crate::luks2::digest::DigestId;
use crate::luks2::metadata::Metadata;
use crate::luks2::segment::{Segment, SegmentKind, SegmentSize};
use crate::{Bytes, Error, Sectors};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// The end of a volume that reaches to the end of its device.
pub const END: u64 = u64::MAX;

/// How far a re-encryption is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// What is done; it ends at [`State::total`] where it reaches the end of the volume.
    pub done: Range<u64>,
    /// What is being written: parts of it may be done, others not.
    pub hot: Option<Range<u64>>,
    /// The volume's length, or [`END`].
    pub total: u64,
}

/// A segment of a volume in re-encryption, and what encrypts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The segment.
    pub segment: Segment,
    /// Whose volume keys it has.
    pub keys: Keys,
}

/// Which volume keys a segment has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// None: it is not encrypted.
    None,
    /// That of the volume as it was.
    Old,
    /// That of the volume as it will be.
    New,
    /// Both: the hot zone.
    Both,
}

impl State {
    /// Whether nothing is left to do.
    pub fn is_complete(&self) -> bool {
        self.hot.is_none() && self.done.start == 0 && self.done.end >= self.total
    }

    /// The state while `zone` of a volume of `len` bytes is written.
    #[must_use]
    pub fn heated(&self, zone: &Range<u64>, len: u64) -> Self {
        let total = if zone.end == len { len } else { self.total };
        let done = self.done.start.min(total)..self.done.end.min(total);
        Self { done, hot: Some(zone.clone()), total }
    }

    /// The state once `zone` of a volume of `len` bytes is written.
    #[must_use]
    pub fn advanced(&self, zone: &Range<u64>, len: u64) -> Self {
        let zone = zone.start..if zone.end == len { self.total } else { zone.end };
        let done = match &self.done {
            done if done.is_empty() => zone,
            done => done.start.min(zone.start)..done.end.max(zone.end),
        };
        Self { done, hot: None, total: self.total }
    }
}

impl Reencryption {
    /// How far it is, by the segments of `metadata`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for the first segment that this re-encryption does not leave there.
    pub fn state(&self, metadata: &Metadata) -> Result<State, Error> {
        let regular: Vec<(u32, &Segment)> =
            metadata.segments.iter().filter(|(_, s)| !s.is_backup()).map(|(id, s)| (*id, s)).collect();
        let borders = borders(&regular)?;
        let hot = regular.iter().position(|(_, s)| s.flags.iter().any(|flag| flag == "in-reencryption"));
        let hot = hot.map(|at| borders[at]..borders[at + 1]);
        let moved = self.moved_len();
        if let Some(hot) = &hot
            && hot.start < moved
            && *hot != (0..moved)
        {
            return Err(Error::invalid("segments", "the hot zone is not the whole moved segment"));
        }
        let mut furthest = 0;
        for state in self.candidates(&borders, hot.as_ref()) {
            let expected = self.pieces(&state);
            let same = regular
                .iter()
                .zip(&expected)
                .take_while(|((id, found), piece)| {
                    **found == piece.segment && self.has_keys(metadata, *id, piece.keys)
                })
                .count();
            if same == regular.len() && same == expected.len() {
                self.check_total(&state)?;
                return Ok(state);
            }
            furthest = furthest.max(same);
        }
        let id = regular.get(furthest).or(regular.last()).map_or(0, |(id, _)| *id);
        let why = format!(
            "is not what {} {} leaves there",
            self.direction.name(),
            match self.mode {
                Mode::Reencrypt => "re-encryption",
                Mode::Encrypt => "encryption",
                Mode::Decrypt => "decryption",
            }
        );
        Err(Error::invalid(format!("segments.{id}"), why))
    }

    /// What was no LUKS volume says itself how long it is.
    fn check_total(&self, state: &State) -> Result<(), Error> {
        match self.old.segment.size {
            SegmentSize::Fixed(size) if self.old.first_sector() > 0 && size.0 != state.total => {
                let why = format!("they have {} bytes, but the old data had {}", state.total, size.0);
                Err(Error::invalid("segments", why))
            }
            _ => Ok(()),
        }
    }

    /// The segments of a volume in this state, in the order of their plaintext.
    pub fn pieces(&self, state: &State) -> Vec<Piece> {
        let mut cuts =
            vec![0, self.moved_len().min(state.total), state.done.start, state.done.end, state.total];
        cuts.extend(state.hot.iter().flat_map(|hot| [hot.start, hot.end]));
        cuts.sort_unstable();
        cuts.dedup();
        let mut pieces: Vec<(Range<u64>, Part)> = Vec::new();
        for (start, end) in cuts.iter().zip(&cuts[1..]) {
            let part = match &state.hot {
                Some(hot) if hot.contains(start) => Part::Hot,
                _ if state.done.contains(start) => Part::New,
                _ if *start < self.moved_len() => Part::Moved,
                _ => Part::Old,
            };
            match pieces.last_mut() {
                Some((range, last)) if *last == part => range.end = *end,
                _ => pieces.push((*start..*end, part)),
            }
        }
        pieces.into_iter().map(|(range, part)| self.piece(&range, part)).collect()
    }

    /// The number of the digest that verifies a piece's key; two while it is hot.
    pub fn digests(&self, keys: Keys) -> impl Iterator<Item = DigestId> {
        let (old, new) = match keys {
            Keys::None => (None, None),
            Keys::Old => (self.old.digest, None),
            Keys::New => (None, self.new.digest),
            Keys::Both => (self.old.digest.filter(|old| self.new.digest != Some(*old)), self.new.digest),
        };
        new.into_iter().chain(old)
    }

    /// The next zone of at most `most` bytes in a volume of `len` bytes; `None` when all is done.
    /// `most` is a multiple of the sector size.
    pub fn next_zone(&self, state: &State, len: u64, most: u64) -> Option<Range<u64>> {
        let (done, moved) = (&state.done, self.moved_len().min(len));
        let most = match self.resilience.shift() {
            0 => most,
            shift => most.min(shift),
        };
        // As far as one zone goes, the part that was moved is written whole, and last.
        let zone = match self.direction {
            Direction::Forward => {
                let start = done.end.max(moved);
                if start < len {
                    start..len.min(start.saturating_add(most))
                } else {
                    0..done.start.min(moved)
                }
            }
            Direction::Backward => {
                let end = if done.is_empty() { len } else { done.start };
                let least = if end > moved { moved } else { 0 };
                if least == 0 && moved > 0 { 0..end } else { end.saturating_sub(most).max(least)..end }
            }
        };
        (!zone.is_empty()).then_some(zone)
    }

    /// Where the old ciphertext of `zone` is on the data device.
    pub fn old_place(&self, zone: &Range<u64>) -> u64 {
        match &self.moved {
            Some(moved) if zone.start < self.moved_len() => moved.segment.offset.0 + zone.start,
            _ => self.old.segment.offset.0 + zone.start,
        }
    }

    /// Where the new ciphertext of `zone` is on the data device.
    pub fn new_place(&self, zone: &Range<u64>) -> u64 {
        self.new.segment.offset.0 + zone.start
    }

    /// The states that segments with these borders may be in.
    fn candidates(&self, borders: &[u64], hot: Option<&Range<u64>>) -> Vec<State> {
        let total = borders.last().copied().unwrap_or(END);
        let moved = self.moved_len().min(total);
        let with = |done: Range<u64>| State { done, hot: hot.cloned(), total };
        if let Some(hot) = hot {
            let (before, after) = (with(moved..hot.start.max(moved)), with(hot.end..total));
            return match self.direction {
                Direction::Forward if self.moved.is_some() && hot.start == 0 => vec![after],
                Direction::Forward => vec![before],
                Direction::Backward => vec![after],
            };
        }
        let mut states = vec![with(moved..moved)];
        for border in borders {
            states.push(match self.direction {
                Direction::Forward => with(moved..(*border).max(moved)),
                Direction::Backward => with(*border..total),
            });
        }
        // Everything is done, and the header was not told yet.
        states.push(with(0..total));
        states
    }

    fn piece(&self, range: &Range<u64>, part: Part) -> Piece {
        let size = match range.end {
            END => SegmentSize::Dynamic,
            end => SegmentSize::Fixed(Bytes(end - range.start)),
        };
        let (backup, base, keys) = match part {
            Part::Moved => (&self.old, self.moved.as_ref().unwrap_or(&self.old), Keys::Old),
            Part::Old => (&self.old, &self.old, Keys::Old),
            Part::New => (&self.new, &self.new, Keys::New),
            Part::Hot => (&self.new, &self.new, Keys::Both),
        };
        let flags = if part == Part::Hot { vec!["in-reencryption".into()] } else { Vec::new() };
        let offset = Bytes(base.segment.offset.0.saturating_add(range.start));
        let keys = match (keys, self.mode) {
            // As in cryptsetup, a hot zone names two keys only where one replaces the other.
            (Keys::Both, Mode::Encrypt) => Keys::New,
            (Keys::Both, Mode::Decrypt) => Keys::None,
            (_, _) if backup.digest.is_none() => Keys::None,
            (keys, _) => keys,
        };
        Piece { segment: Segment { offset, size, flags, kind: kind_at(backup, range.start) }, keys }
    }

    /// Whether exactly these digests verify the segment's key. A cryptsetup before 2.4 names the new
    /// key alone in the hot zone.
    fn has_keys(&self, metadata: &Metadata, segment: u32, keys: Keys) -> bool {
        let has = |keys: Keys| {
            let named = |id: &DigestId| self.digests(keys).any(|digest| digest == *id);
            metadata.digests.iter().all(|(id, digest)| digest.segments.contains(&segment) == named(id))
        };
        has(keys) || (keys == Keys::Both && self.version < 2 && has(Keys::New))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Moved,
    Old,
    Hot,
    New,
}

/// The mapping from plaintext byte `start` on.
fn kind_at(backup: &Backup, start: u64) -> SegmentKind {
    match &backup.segment.kind {
        SegmentKind::Crypt { iv_tweak, encryption, sector_size, integrity } => SegmentKind::Crypt {
            iv_tweak: iv_tweak.saturating_add(start / Sectors::SIZE),
            encryption: encryption.clone(),
            sector_size: *sector_size,
            integrity: integrity.clone(),
        },
        other => other.clone(),
    }
}

/// Where each segment starts in the plaintext, and where the last one ends.
fn borders(regular: &[(u32, &Segment)]) -> Result<Vec<u64>, Error> {
    let mut borders = vec![0];
    for (id, segment) in regular {
        let start: u64 = borders.last().copied().unwrap_or(0);
        let end = match segment.size {
            SegmentSize::Dynamic => Some(END),
            SegmentSize::Fixed(size) => start.checked_add(size.0).filter(|end| *end < END),
        };
        borders
            .push(end.ok_or_else(|| Error::invalid(format!("segments.{id}.size"), "ends beyond 64 bits"))?);
    }
    Ok(borders)
}
