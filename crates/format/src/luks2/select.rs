//! Which of the two copies counts, and which must be written again: a pure function over what was
//! read, with the outcome of cryptsetup's LUKS2_disk_hdr_read.

use super::header::{BinaryHeader, Copy, HeaderSize};
use super::metadata::Metadata;
use crate::Error;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// A whole copy that makes sense: checksum right, metadata valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderCopy {
    /// The binary header.
    pub binary: BinaryHeader,
    /// The JSON metadata.
    pub metadata: Metadata,
}

impl HeaderCopy {
    /// Parses the bytes of one copy (`size` bytes, more are ignored).
    ///
    /// # Errors
    /// As [`BinaryHeader::parse_copy`] and [`Metadata::parse`].
    pub fn parse(bytes: &[u8], copy: Copy) -> Result<Self, Error> {
        let (binary, json) = BinaryHeader::parse_copy(bytes, copy)?;
        let metadata = Metadata::parse(json, binary.size)?;
        Ok(Self { binary, metadata })
    }

    /// The bytes of this copy; `parse` of them gives the same.
    ///
    /// # Errors
    /// As [`BinaryHeader::copy_to_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        self.binary.copy_to_bytes(&self.metadata.to_json())
    }
}

/// The copy that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Its content.
    pub header: HeaderCopy,
    /// The copy that is damaged or out of date. It should be written again from `header` with a new
    /// salt and the same sequence id: [`BinaryHeader::as_copy`].
    pub recover: Option<Copy>,
}

/// Where the secondary copy may stand, given what was read at the start of the device: right
/// behind a primary whose checksum is right (its metadata may be invalid), otherwise at any
/// of the nine offsets, to be probed in this order.
pub fn secondary_candidates(primary: &[u8]) -> Vec<HeaderSize> {
    match BinaryHeader::parse_checked(primary, Copy::Primary) {
        Ok((header, _)) => [header.size].into(),
        Err(_) => HeaderSize::ALL.into(),
    }
}

/// Chooses the copy with the higher sequence id among those that make
/// sense, the primary when they are equal.
///
/// # Errors
/// Both errors, when neither copy makes sense.
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
