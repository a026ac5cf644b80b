//! Re-encryption under way: what a header says of it (LUKS2 on-disk format 1.1.4, sections 3.2.2 and
//! 4.9).
//!
//! A keyslot of type "reencrypt" says what is done, how, and where the hot zone is protected. Three
//! segments with flags keep the volume as it was ("backup-previous"), as it will be
//! ("backup-final") and, where the data moves, the part that made room ("backup-moved-segment").
//! The other segments are the volume as it is now: what is done, what is not, and between them the
//! hot zone ("in-reencryption"), if one is being written. [`State`] is that, as a value.
//!
//! ```text
//! forward           |  new  | hot |        old        |
//! backward          |        old        | hot |  new  |
//! encrypt, moved    | old (moved) |   old   | hot | new |    in the end: | hot | new             |
//! decrypt, moved    | old (moved) | new | hot |   old   |    in the end: | hot | new             |
//! ```
//!
//! What the keyslot and the backups say is vouched for by a digest over it and the volume keys
//! ([`Reencryption::vouched`]): without these keys nobody can forge a re-encryption.
//!
//! What was no LUKS volume may number its sectors from elsewhere (VeraCrypt's data area begins with sector 256): the
//! first of its IVs is in "backup-previous". Its data moves to the device's start, over what it was read from, and the
//! journal keeps what the hot zone was. cryptsetup does neither, so such a header has a requirement that it does not
//! know, [`CONVERSION`].

pub(super) mod rules;

mod edit;
mod read;
mod state;
mod vouched;

pub use state::{END, Keys, Piece, State};

use super::area::Area;
use super::digest::DigestId;
use super::segment::{Segment, SegmentKind, SegmentSize};
use crate::Bytes;
use alloc::string::String;

/// A re-encryption that a header describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reencryption {
    /// The number of its keyslot.
    pub keyslot: u32,
    /// The version of the requirement that declares it: 1 ("online-reencrypt", vouched for by
    /// nothing), 2, or 3 (decryption that moves data).
    pub version: u8,
    /// What is done.
    pub mode: Mode,
    /// From which end.
    pub direction: Direction,
    /// What protects the hot zone.
    pub resilience: Resilience,
    /// Where that is kept.
    pub area: Area,
    /// The volume as it was.
    pub old: Backup,
    /// The volume as it will be.
    pub new: Backup,
    /// The first part of the volume, at the place where it waits to be processed last.
    pub moved: Option<Backup>,
}

/// The requirement of a re-encryption of what was no LUKS volume: Keyway's own, so that nobody goes on with it whose IVs
/// count from 0.
pub const CONVERSION: &str = "keyway-conversion";

/// Whether a requirement is one of a re-encryption that is under way, of whatever version.
pub fn is_requirement(name: &str) -> bool {
    name.starts_with("online-reencrypt") || name == CONVERSION
}

/// A segment that records a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// The segment, without its flag.
    pub segment: Segment,
    /// What verifies its key; `None` when it is not encrypted.
    pub digest: Option<DigestId>,
}

impl Backup {
    /// The number of its first sector, in 512-byte units: 0 but for what was no LUKS volume.
    pub fn first_sector(&self) -> u64 {
        match self.segment.kind {
            SegmentKind::Crypt { iv_tweak, .. } => iv_tweak,
            _ => 0,
        }
    }
}

/// What a re-encryption does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One encryption replaces another.
    Reencrypt,
    /// Plaintext becomes a volume.
    Encrypt,
    /// A volume becomes plaintext.
    Decrypt,
}

/// From which end a re-encryption goes over the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Direction {
    Forward,
    Backward,
}

/// What protects the hot zone from being lost when the power fails while it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resilience {
    /// Nothing.
    None,
    /// The hash of each block as it was: what still has it was not written yet.
    Checksum(Checksum),
    /// A copy of the hot zone as it was.
    Journal,
    /// The data moves by this many bytes: as it was, it stays where it was.
    DataShift {
        /// Bytes.
        shift: Bytes,
        /// What protects the part that was moved and is processed last, where that happens in
        /// place.
        moved: MovedResilience,
    },
}

/// What protects the moved segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MovedResilience {
    /// It is read at one place and written to another.
    DataShift,
    /// As [`Resilience::Checksum`].
    Checksum(Checksum),
    /// As [`Resilience::Journal`].
    Journal,
}

/// A hash over each block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checksum {
    /// "sha256".
    pub hash: String,
    /// The length of a block in bytes: what the device writes whole or not at all.
    pub block: u32,
}

impl Mode {
    /// "reencrypt", "encrypt", "decrypt".
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reencrypt => "reencrypt",
            Self::Encrypt => "encrypt",
            Self::Decrypt => "decrypt",
        }
    }
}

impl Direction {
    /// "forward", "backward".
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
        }
    }
}

impl Resilience {
    /// "none", "checksum", "journal", "datashift", "datashift-checksum", "datashift-journal".
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Checksum(_) => "checksum",
            Self::Journal => "journal",
            Self::DataShift { moved: MovedResilience::DataShift, .. } => "datashift",
            Self::DataShift { moved: MovedResilience::Checksum(_), .. } => "datashift-checksum",
            Self::DataShift { moved: MovedResilience::Journal, .. } => "datashift-journal",
        }
    }

    /// The hash over blocks, wherever it is used.
    pub const fn checksum(&self) -> Option<&Checksum> {
        match self {
            Self::Checksum(checksum) | Self::DataShift { moved: MovedResilience::Checksum(checksum), .. } => {
                Some(checksum)
            }
            _ => None,
        }
    }

    /// By how many bytes the data moves; 0 when it stays.
    pub const fn shift(&self) -> u64 {
        match self {
            Self::DataShift { shift, .. } => shift.0,
            _ => 0,
        }
    }
}

impl Reencryption {
    /// The length of the part that was moved; 0 without one.
    pub fn moved_len(&self) -> u64 {
        match self.moved.as_ref().map(|moved| moved.segment.size) {
            Some(SegmentSize::Fixed(size)) => size.0,
            _ => 0,
        }
    }

    /// The larger of both encryption sector sizes in bytes.
    pub fn sector_size(&self) -> u32 {
        let of = |backup: &Backup| match backup.segment.kind {
            SegmentKind::Crypt { sector_size, .. } => sector_size,
            _ => 512,
        };
        of(&self.old).max(of(&self.new))
    }
}
