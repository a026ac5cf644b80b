//! A volume in the middle of a re-encryption, as far as its header shows it: judged before anybody is
//! asked for a key, and mapped segment by segment.

use crate::header::layout::mapping;
use crate::{DataDevice, Header, Layout, MappedSegment, Refusal, Result};
use geometry::{check_borders, check_header_stays, check_hot_zone, check_moved_fits, volume_len};
use keyway_format::luks2::reencryption::{Backup, Keys, State};
use keyway_format::luks2::{DigestId, Metadata, Reencryption, Segment, SegmentSize};
use std::ops::Range;

pub(crate) mod geometry;

/// A re-encryption that a header describes, in a state that it leaves behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnderWay {
    what: Reencryption,
    state: State,
    /// The volume's length, where the data device is known.
    len: Option<u64>,
}

impl UnderWay {
    /// What the header says; `None` when no re-encryption is under way.
    ///
    /// # Errors
    /// It contradicts itself, or its segments are not those of a re-encryption.
    pub fn of(header: &Header) -> Result<Option<Self>> {
        let Header::Luks2 { metadata, .. } = header else { return Ok(None) };
        let Some(what) = metadata.reencryption()? else { return Ok(None) };
        let state = what.state(metadata)?;
        check_borders(&what, &state)?;
        Ok(Some(Self { what, state, len: None }))
    }

    /// What the header says, on this device; for one that is to be opened.
    ///
    /// # Errors
    /// Those of [`UnderWay::of`]; a device that cannot be in that state; metadata that nothing vouches
    /// for.
    pub(crate) fn judge(header: &Header, data: Option<DataDevice>) -> Result<Option<Self>> {
        let Some(found) = Self::of(header)? else { return Ok(None) };
        check_version(&found.what)?;
        check_moved_fits(&found.what)?;
        check_hot_zone(&found.what, &found.state)?;
        let Some(data) = data else { return Ok(Some(found)) };
        let len = volume_len(&found.what, &found.state, data.len)?;
        check_header_stays(&found.what, if data.holds_header { header.end() } else { 0 })?;
        Ok(Some(Self { len: Some(len), ..found }))
    }

    /// A re-encryption in a state that was judged before, of a volume of `len` bytes.
    pub(crate) fn at(what: &Reencryption, state: &State, len: u64) -> Self {
        Self { what: what.clone(), state: state.clone(), len: Some(len) }
    }

    /// What is done.
    pub fn what(&self) -> &Reencryption {
        &self.what
    }

    /// How far it is.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// How many bytes are done of a volume of `len` bytes.
    pub fn done(&self, len: u64) -> u64 {
        self.state.done.end.min(len) - self.state.done.start.min(len)
    }

    /// The length of the volume on a device of so many bytes, where that fits.
    pub fn len_on(&self, device_len: u64) -> Option<u64> {
        volume_len(&self.what, &self.state, device_len).ok()
    }

    /// The part that was being written when it was cut off.
    pub fn hot_zone(&self) -> Option<&Range<u64>> {
        self.state.hot.as_ref()
    }

    /// Whether nothing protects it from forgery: an old cryptsetup began it.
    pub fn is_unprotected(&self) -> bool {
        self.what.version < 2
    }

    /// The digest that verifies the first key: that of the volume as it was, unless that was
    /// plaintext.
    pub fn first_digest(&self) -> Option<DigestId> {
        self.what.old.digest.or(self.what.new.digest)
    }

    /// The digest that verifies the second key, where one key replaces another.
    pub fn second_digest(&self) -> Option<DigestId> {
        self.what.new.digest.filter(|new| self.first_digest() != Some(*new))
    }

    /// Refuses to have the kernel map a volume whose hot zone is not complete: it would read what is
    /// left of it.
    ///
    /// # Errors
    /// [`Refusal::NotRecoverable`].
    pub fn check_complete(&self) -> Result<()> {
        let Some(Range { start, end }) = self.hot_zone() else { return Ok(()) };
        Err(Refusal::NotRecoverable.because(format!(
            "bytes {start} to {end} of the volume were being written when the reencryption was cut off: they are \
             completed when the volume is opened for writing, or by \"keyway reencrypt --resume-only\""
        )))
    }

    /// The state after another zone.
    pub(crate) fn after(self, zone: &Range<u64>) -> Self {
        let len = self.len.unwrap_or(u64::MAX);
        let state = State { hot: None, ..self.state }.advanced(zone, len);
        Self { state, ..self }
    }

    /// Maps the plaintext to the data device.
    pub(crate) fn layout(&self) -> Result<Layout> {
        let (mut segments, mut start) = (Vec::new(), 0u64);
        for (number, piece) in (0..).zip(self.what.pieces(&self.state)) {
            let length = match (piece.segment.size, self.len) {
                (SegmentSize::Fixed(bytes), _) => Some(bytes.0),
                (SegmentSize::Dynamic, Some(len)) => Some(len.saturating_sub(start)),
                (SegmentSize::Dynamic, None) => None,
            };
            segments.push(MappedSegment {
                plaintext_start: start,
                length,
                storage_offset: piece.segment.offset.0,
                mapping: mapping(number, &piece.segment.kind)?,
                second_key: matches!(piece.keys, Keys::New | Keys::Both) && self.second_digest().is_some(),
            });
            start = start.saturating_add(length.unwrap_or(0));
        }
        segments.retain(|segment| segment.length != Some(0));
        Ok(Layout::new(segments))
    }

    /// Both sides, with the numbers of their backup segments: each has a cipher that must be strong,
    /// also where no segment has it yet.
    pub(crate) fn sides<'a>(
        &'a self,
        metadata: &'a Metadata,
    ) -> impl Iterator<Item = (u32, &'a Segment, Option<DigestId>)> {
        let number = |flag: &str| {
            let flagged = |segment: &Segment| segment.flags.iter().any(|own| own == flag);
            metadata.segments.iter().find(|(_, segment)| flagged(segment)).map_or(0, |(number, _)| *number)
        };
        let side = move |backup: &'a Backup, flag| (number(flag), &backup.segment, backup.digest);
        [side(&self.what.old, "backup-previous"), side(&self.what.new, "backup-final")].into_iter()
    }
}

/// Refuses metadata that nothing can vouch for.
pub(crate) fn check_version(what: &Reencryption) -> Result<()> {
    match what.version {
        0 | 1 => Err(Refusal::NeedsRepair.because(
            "An old cryptsetup began the reencryption without protection from forgery: run \"keyway repair\" \
             once, if this is your volume.",
        )),
        _ => Ok(()),
    }
}
