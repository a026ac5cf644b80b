//! What a re-encryption is drawn up from: the volume's only segment, and a description that still lacks a keyslot.

use crate::{Refusal, Result};
use keyway_format::Bytes;
use keyway_format::luks2::reencryption::{Backup, Direction, Mode, Resilience};
use keyway_format::luks2::{Area, Metadata, Reencryption, Segment, SegmentKind};

/// Without keyslot, area and protection.
pub(super) fn draft(
    mode: Mode,
    direction: Direction,
    old: Backup,
    new: Backup,
    moved: Option<Backup>,
) -> Reencryption {
    Reencryption {
        keyslot: 0,
        version: if mode == Mode::Decrypt && moved.is_some() { 3 } else { 2 },
        mode,
        direction,
        resilience: Resilience::None,
        area: Area { offset: Bytes(0), size: Bytes(0) },
        old,
        new,
        moved,
    }
}

/// The volume's segment and its digest.
pub(super) fn only_segment(metadata: &Metadata) -> Result<(&Segment, u32)> {
    let refuse = |why: &str| Refusal::Unusable.because(why);
    match (metadata.segments.get(&0), metadata.segments.len()) {
        (Some(segment), 1) => match &segment.kind {
            SegmentKind::Crypt { integrity: Some(_), .. } => {
                Err(refuse("Reencryption of device with integrity profile is not supported."))
            }
            SegmentKind::Crypt { iv_tweak: 0, .. } => {
                let digest = metadata.digest_of_segment(0);
                Ok((segment, digest.ok_or_else(|| refuse("no digest verifies the key of segment 0"))?))
            }
            _ => Err(refuse("segment 0 has an encryption that cannot be reencrypted")),
        },
        _ => Err(refuse("only a volume of one segment can be reencrypted")),
    }
}
