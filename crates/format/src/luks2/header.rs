//! The 4096-byte binary header of each copy, and the checksum over it and its JSON area.

use crate::{Bytes, Error};
use alloc::string::String;
use alloc::vec::Vec;

/// Which of the two copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Copy {
    Primary,
    Secondary,
}

/// One of the nine legal sizes of a copy (binary header and JSON area): 16 KiB to 4 MiB, powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeaderSize(u64);

impl HeaderSize {
    /// Every legal size, smallest first: also the offsets where a secondary copy may stand.
    pub const ALL: [HeaderSize; 9] = [
        Self(16 << 10),
        Self(32 << 10),
        Self(64 << 10),
        Self(128 << 10),
        Self(256 << 10),
        Self(512 << 10),
        Self(1 << 20),
        Self(2 << 20),
        Self(4 << 20),
    ];

    /// Accepts the nine legal sizes.
    pub fn new(bytes: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.0 == bytes)
    }

    /// The size of one copy in bytes.
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0)
    }
}

/// The binary header's fields (all but magic and checksum, which `to_bytes` makes).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinaryHeader {
    /// Size of this copy, JSON area included.
    pub size: HeaderSize,
    /// Grows by one with every write; the higher copy wins.
    pub sequence_id: u64,
    /// Label, at most 47 bytes.
    pub label: String,
    /// Checksum algorithm as written ("sha256").
    pub checksum_algorithm: String,
    /// Differs between the copies and changes with every write.
    pub salt: [u8; 64],
    /// UUID text.
    pub uuid: String,
    /// Subsystem label, at most 47 bytes.
    pub subsystem: String,
    /// Which copy this is (its offset on disk: 0 or `size`).
    pub copy: Copy,
}

impl BinaryHeader {
    /// Length of the binary header alone.
    pub const LEN: usize = 4096;

    /// Parses a binary header (no checksum: that needs the JSON area, see [`BinaryHeader::parse_copy`]).
    pub fn parse(bytes: &[u8], copy: Copy) -> Result<Self, Error> {
        let _ = (bytes, copy);
        Err(Error::NotLuks)
    }

    /// Parses a whole copy (`size` bytes), verifies its checksum and returns the JSON text (without the zero padding).
    pub fn parse_copy(bytes: &[u8], copy: Copy) -> Result<(Self, &[u8]), Error> {
        let _ = (bytes, copy);
        Err(Error::NotLuks)
    }

    /// A whole copy: binary header with checksum, JSON text, zeros up to `size`. Fails when the JSON does not fit.
    pub fn copy_to_bytes(&self, json: &[u8]) -> Result<Vec<u8>, Error> {
        let _ = json;
        todo!()
    }
}
