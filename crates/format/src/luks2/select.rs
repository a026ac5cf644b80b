//! Selects the valid copy of the two, and the copy that must be written again: a pure function of
//! the bytes read, with the same result as cryptsetup's LUKS2_disk_hdr_read.

use super::header::{BinaryHeader, Copy, HeaderSize};
use super::metadata::Metadata;
use crate::Error;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// A complete and valid copy: its checksum matches, and its metadata is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderCopy {
    /// The binary header.
    pub binary: BinaryHeader,
    /// The JSON metadata.
    pub metadata: Metadata,
}

impl HeaderCopy {
    /// Parses the bytes of one copy (`size` bytes, any more are ignored).
    ///
    /// # Errors
    /// As [`BinaryHeader::parse_copy`] and [`Metadata::parse`].
    pub fn parse(bytes: &[u8], copy: Copy) -> Result<Self, Error> {
        let (binary, json) = BinaryHeader::parse_copy(bytes, copy)?;
        let metadata = Metadata::parse(json, binary.size)?;
        Ok(Self { binary, metadata })
    }
}

/// The selected copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Its content.
    pub header: HeaderCopy,
    /// The copy that is damaged or out of date. It should be rewritten from `header` with a new
    /// salt and the same sequence id: [`BinaryHeader::as_copy`].
    pub recover: Option<Copy>,
}

/// The possible places of the secondary copy, given the bytes at the start of the device: directly
/// after a primary whose checksum matches (its metadata may be invalid); otherwise any of the nine
/// offsets, to be probed in this order.
pub fn secondary_candidates(primary: &[u8]) -> Vec<HeaderSize> {
    match BinaryHeader::parse_checked(primary, Copy::Primary) {
        Ok((header, _)) => [header.size].into(),
        Err(_) => HeaderSize::ALL.into(),
    }
}

/// Selects the valid copy with the higher sequence id, or the primary when both ids are equal.
///
/// # Errors
/// Both errors, when neither copy is valid.
pub fn select<E>(
    primary: Result<HeaderCopy, E>,
    secondary: Result<HeaderCopy, E>,
) -> Result<Selection, (E, E)> {
    match (primary, secondary) {
        (Ok(primary), Ok(secondary)) => {
            let (first, second) = (primary.binary.sequence_id, secondary.binary.sequence_id);
            Ok(match first.cmp(&second) {
                Ordering::Equal => Selection { header: primary, recover: None },
                Ordering::Greater => Selection { header: primary, recover: Some(Copy::Secondary) },
                Ordering::Less => Selection { header: secondary, recover: Some(Copy::Primary) },
            })
        }
        (Ok(header), Err(_)) => Ok(Selection { header, recover: Some(Copy::Secondary) }),
        (Err(_), Ok(header)) => Ok(Selection { header, recover: Some(Copy::Primary) }),
        (Err(primary), Err(secondary)) => Err((primary, secondary)),
    }
}
