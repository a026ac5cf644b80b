//! LVM2 as a boot meets it: what a physical volume says of its volume group, and which sectors of which devices a logical
//! volume consists of. Only linear and striped volumes; all others are known, and refused by name.
//!
//! ```text
//! label      where a physical volume says that it is one, and where its metadata are
//! area       a metadata area: a ring of texts, of which its header names the valid one
//! text       the syntax of these texts: sections, numbers, strings, lists
//! group      a text as a volume group: physical volumes, logical volumes, their segments
//! assembly   what was found on all devices, as groups with their devices; whose metadata count
//! name       names below /dev and the kernel's, as lvm2 makes them
//! ```
//!
//! (lvm2: lib/format_text/layout.h, format-text.c, import_vsn1.c; lvmsystemid(7). Nothing of it is authenticated: on a disk
//! that is not encrypted, all of it is whoever wrote it last.)

pub mod area;
pub mod assembly;
pub mod group;
pub mod label;
pub mod name;
#[cfg(test)]
mod tests;
pub mod text;

pub use assembly::{Assembled, Found, Piece, Why, assemble};
pub use group::{Group, Logical};
pub use label::Label;
pub use name::Named;

use std::fmt;

/// A UUID of LVM's: 32 letters and digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id([u8; 32]);

impl Id {
    /// As a label has it, without dashes.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let id: [u8; 32] = bytes.try_into().ok()?;
        id.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#".contains(byte)).then_some(Self(id))
    }

    /// As metadata have it, with dashes.
    pub fn parse(text: &str) -> Option<Self> {
        let bare: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
        Self::of_bytes(&bare)
    }

    /// Without dashes, as in the UUIDs of mappings.
    pub fn bare(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut start = 0;
        for (number, length) in [6, 4, 4, 4, 4, 4, 6].into_iter().enumerate() {
            let dash = if number > 0 { "-" } else { "" };
            write!(f, "{dash}{}", &self.bare()[start..start + length])?;
            start += length;
        }
        Ok(())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Why metadata cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A device cannot be read at this byte.
    Unreadable(u64),
    /// A checksum does not match: of the label, of an area's header, of a text.
    Checksum(&'static str),
    /// A field that cannot be, and where it is.
    Field(String),
    /// The text's syntax, and the byte where it ends.
    Syntax {
        /// What is wrong.
        what: &'static str,
        /// Where, in bytes from the text's start.
        at: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(offset) => write!(f, "it cannot be read at byte {offset}"),
            Self::Checksum(what) => write!(f, "the checksum of {what} is wrong"),
            Self::Field(what) => f.write_str(what),
            Self::Syntax { what, at } => write!(f, "{what} at byte {at} of the metadata"),
        }
    }
}

impl std::error::Error for Error {}

/// Reads bytes of a device: an offset, and the room for them. False if they are not there.
pub type Read<'a> = &'a mut dyn FnMut(u64, &mut [u8]) -> bool;

/// CRC-32 as zlib's, with LVM's own start and without the final inversion.
pub(crate) fn checksum(start: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(start, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}

/// Where checksums start.
pub(crate) const FIRST: u32 = 0xf597_a6cf;
/// The unit of all offsets in metadata.
pub const SECTOR: u64 = 512;

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
