//! Blocks: 8192 bytes, of which the first 64 say what they are.
//!
//! | offset | length | field                                              |
//! |--------|--------|----------------------------------------------------|
//! | 0      | 4      | CRC-32C of the bytes from 8 on, not inverted at the end |
//! | 4      | 4      | the register that it begins with                   |
//! | 8      | 2      | version: 1                                         |
//! | 10     | 2      | type                                               |
//! | 16     | 8      | transaction: of two that say the same, the later counts |
//! | 24     | 8      | the object that it describes                       |
//! | 48     | 4      | its length: 8192                                   |

use crate::crc32;
use crate::le::{le16, le32, le64};

/// A block.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// Its type.
    pub kind: u16,
    /// When it was written, by a counter.
    pub transaction: u64,
    /// What it describes.
    pub object: u64,
    /// All of it, its first bytes too.
    pub bytes: &'a [u8; 8192],
}

impl<'a> Block<'a> {
    /// Its length.
    pub const LEN: usize = 8192;

    /// Parses a block; `None` where there is none: it was never written, or wiped, or its checksum does not match.
    pub fn parse(bytes: &'a [u8; 8192]) -> Option<Self> {
        let is_block = le16(bytes, 8) == 1 && le32(bytes, 48) == Self::LEN as u32;
        if !is_block || crc32::crc32c_register(&bytes[8..], le32(bytes, 4)) != le32(bytes, 0) {
            return None;
        }
        let (kind, transaction, object) = (le16(bytes, 10), le64(bytes, 16), le64(bytes, 24));
        Some(Self { kind, transaction, object, bytes })
    }
}
