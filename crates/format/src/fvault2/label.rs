//! A label: a block of type 17, which says where the encrypted metadata are.
//!
//! | offset | length | field                                                    |
//! |--------|--------|----------------------------------------------------------|
//! | 220    | 4      | where the places are, from the label's start: 48 bytes        |
//! | + 8    | 8      | blocks (of the physical volume) that the metadata have      |
//! | + 32   | 8      | the first block                                          |
//! | + 40   | 8      | that of a copy; 0: there is none                           |

use super::header::place;
use super::{Block, VolumeHeader};
use crate::le::{le32, le64};
use crate::{Bytes, Error};
use alloc::format;

/// Where the encrypted metadata are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetadataPlaces {
    /// How long they are.
    pub len: Bytes,
    /// Where they are, and where their copy is.
    pub at: [Option<Bytes>; 2],
}

impl MetadataPlaces {
    /// The bytes of [`MetadataPlaces::parse`].
    pub const LEN: usize = 48;

    /// Where they are in a label of this header, from its start.
    ///
    /// # Errors
    /// The block is no label; they would be beyond its end.
    pub fn offset(label: &Block<'_>, header: &VolumeHeader) -> Result<Bytes, Error> {
        if label.kind != LABEL {
            return Err(Error::invalid("label", format!("a block of type {} is not a label", label.kind)));
        }
        let offset = le32(label.bytes, 220);
        match u64::from(offset) + Self::LEN as u64 {
            end if end <= header.label_size.0 => Ok(Bytes(offset.into())),
            end => Err(Error::Truncated { needs: end, has: header.label_size.0 }),
        }
    }

    /// Parses these bytes.
    ///
    /// # Errors
    /// There are more metadata than any volume has, or none.
    pub fn parse(bytes: &[u8; Self::LEN], header: &VolumeHeader) -> Result<Self, Error> {
        let blocks = le64(bytes, 8);
        let len = blocks.saturating_mul(header.block_size.0);
        if !(Block::LEN as u64..=MOST).contains(&len) {
            return Err(Error::invalid("label: blocks of the metadata", format!("{blocks}")));
        }
        let at = [place(le64(bytes, 32), header.block_size)?, place(le64(bytes, 40), header.block_size)?];
        if at == [None; 2] {
            return Err(Error::invalid("label: place of the metadata", "there is none"));
        }
        Ok(Self { len: Bytes(len), at })
    }
}

const LABEL: u16 = 0x11;
/// Those of a volume of 512 MiB have 24 MiB.
const MOST: u64 = 512 << 20;
