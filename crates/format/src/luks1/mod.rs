//! LUKS1 (on-disk format 1.2.3): the 592-byte header at the start of
//! the device. All numbers are big-endian.
//!
//! | offset | length | field                                             |
//! |--------|--------|---------------------------------------------------|
//! | 0      | 6      | magic `LUKS` 0xba 0xbe                            |
//! | 6      | 2      | version, 1                                        |
//! | 8      | 32     | cipher name ("aes")                               |
//! | 40     | 32     | cipher mode ("xts-plain64")                       |
//! | 72     | 32     | hash ("sha256") of PBKDF2, AF splitter and digest |
//! | 104    | 4      | payload offset in sectors                         |
//! | 108    | 4      | volume key length in bytes                        |
//! | 112    | 20     | digest of the volume key                          |
//! | 132    | 32     | salt of the digest                                |
//! | 164    | 4      | iterations of the digest                          |
//! | 168    | 40     | UUID                                              |
//! | 208    | 8 × 48 | keyslots: active, iterations, salt (32), offset in sectors, stripes |

mod edit;
mod keyslot;
mod layout;

use crate::{Error, Sectors, text};
use alloc::format;
use alloc::string::String;
use core::array;
use core::fmt;
use core::ops::Deref;

pub use edit::{NewHeader, Repair};
pub use keyslot::{Keyslot, SlotState};
pub use layout::{KeyslotLayout, Payload, area_sectors};

/// Bytes of the header on disk.
pub const HEADER_LEN: usize = 592;
/// The fixed number of keyslots.
pub const SLOTS: usize = 8;
/// First bytes of every LUKS1 header, and of a LUKS2 primary header.
pub const MAGIC: [u8; 6] = *b"LUKS\xba\xbe";
/// Longest reasonable volume key, in bytes; cryptsetup's ciphers need at most 128.
pub(crate) const MAX_KEY_BYTES: u32 = 512;

/// A valid LUKS1 header: areas are before the payload and do not overlap.
///
/// Its [`Fields`] are read through deref. The methods that change the header check the result
/// first, and leave the header unchanged if the result would be invalid. Bytes after a string's NUL
/// are preserved as on disk.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    bytes: [u8; HEADER_LEN],
    fields: Fields,
}

/// The content of a [`Header`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// "aes".
    pub cipher_name: String,
    /// "xts-plain64".
    pub cipher_mode: String,
    /// PBKDF2, AF and digest hash, as written ("sha256").
    pub hash_spec: String,
    /// Where the data starts, at any sector (QEMU writes 4040); a detached header can have 0.
    pub payload_offset: Sectors,
    /// Volume key length in bytes.
    pub key_bytes: u32,
    /// First 20 bytes of PBKDF2(volume key).
    pub digest: [u8; 20],
    /// Salt of the digest.
    pub digest_salt: [u8; 32],
    /// Iterations of the digest.
    pub digest_iterations: u32,
    /// UUID text; bytes that are not UTF-8 are replaced.
    pub uuid: String,
    /// The eight keyslots.
    pub slots: [Keyslot; SLOTS],
}

impl Deref for Header {
    type Target = Fields;

    fn deref(&self) -> &Fields {
        &self.fields
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields.fmt(f)
    }
}

impl Header {
    /// Parses the first [`HEADER_LEN`] bytes of a device; the bytes after them are ignored.
    ///
    /// # Errors
    /// [`Error::NotLuks`] without the magic or version 1, [`Error::Truncated`], or
    /// [`Error::Invalid`] with the field.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let bytes = header_bytes(bytes)?;
        let fields = Fields::read(&bytes)?;
        fields.check()?;
        Ok(Self { bytes, fields })
    }

    /// The same, whatever stands in place of magic and version: what they would say if these were put
    /// back.
    ///
    /// # Errors
    /// As [`Header::parse`], but [`Error::NotLuks`].
    pub(crate) fn parse_with_magic(bytes: &[u8]) -> Result<Self, Error> {
        let Some(mut bytes) = bytes.first_chunk::<HEADER_LEN>().copied() else {
            return Err(Error::Truncated { needs: HEADER_LEN as u64, has: bytes.len() as u64 });
        };
        bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
        bytes[MAGIC.len()..8].copy_from_slice(&[0, 1]);
        Self::parse(&bytes)
    }

    /// The bytes on disk; parsing them gives the same header.
    pub fn to_bytes(&self) -> [u8; HEADER_LEN] {
        self.bytes
    }

    /// "aes-xts-plain64".
    pub fn cipher(&self) -> String {
        format!("{}-{}", self.cipher_name, self.cipher_mode)
    }

    /// The number of sectors that each slot's material takes.
    pub fn area_sectors(&self) -> Sectors {
        area_sectors(self.key_bytes)
    }

    /// The first sector after the header and all keyslot areas: the end of a header backup, and the
    /// lowest possible payload.
    pub fn end_of_areas(&self) -> Sectors {
        let start = self.slots.iter().map(|slot| slot.offset).max().unwrap_or_default();
        Sectors(start.0 + self.area_sectors().0)
    }
}

/// Whether the bytes start with LUKS1's magic; the rest is not checked.
pub(crate) fn has_magic(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC) && bytes.get(6..8) == Some(&[0, 1])
}

fn header_bytes(bytes: &[u8]) -> Result<[u8; HEADER_LEN], Error> {
    if !has_magic(bytes) {
        return Err(Error::NotLuks);
    }
    match bytes.first_chunk() {
        Some(header) => Ok(*header),
        None => Err(Error::Truncated { needs: HEADER_LEN as u64, has: bytes.len() as u64 }),
    }
}

impl Fields {
    /// Splits the bytes into fields; the areas are not checked yet.
    fn read(bytes: &[u8; HEADER_LEN]) -> Result<Self, Error> {
        Ok(Self {
            cipher_name: text::name(&bytes[8..40], "cipher name")?,
            cipher_mode: text::name(&bytes[40..72], "cipher mode")?,
            hash_spec: text::name(&bytes[72..104], "hash")?,
            payload_offset: Sectors(be32(bytes, 104).into()),
            key_bytes: be32(bytes, 108),
            digest: field(bytes, 112),
            digest_salt: field(bytes, 132),
            digest_iterations: be32(bytes, 164),
            uuid: text::lossy(&bytes[168..208]),
            slots: array::from_fn(|slot| Keyslot::read(&field(bytes, keyslot::offset(slot)))),
        })
    }

    /// Checks every rule that spans several fields.
    fn check(&self) -> Result<(), Error> {
        if self.key_bytes == 0 || self.key_bytes > MAX_KEY_BYTES {
            let why = format!("{} bytes is not between 1 and {MAX_KEY_BYTES}", self.key_bytes);
            return Err(Error::invalid("key length", why));
        }
        if self.digest_iterations == 0 {
            return Err(Error::invalid("digest iterations", "is zero"));
        }
        for (number, slot) in self.slots.iter().enumerate() {
            slot.check(number, self.key_bytes, self.payload_offset)?;
        }
        let order = self.slots_by_offset();
        for (&before, &after) in order.iter().zip(&order[1..]) {
            if self.slots[after].offset.0 < self.slots[before].offset.0 + area_sectors(self.key_bytes).0 {
                let why = format!("area at sector {} overlaps keyslot {after}", self.slots[before].offset.0);
                return Err(Error::invalid(format!("keyslot {before}"), why));
            }
        }
        Ok(())
    }

    fn slots_by_offset(&self) -> [usize; SLOTS] {
        let mut order = array::from_fn(|slot| slot);
        order.sort_by_key(|&slot: &usize| self.slots[slot].offset);
        order
    }
}

/// A field of `N` bytes at `at`. Callers pass constant offsets inside the header; a field beyond
/// its end reads as zeros.
fn field<const N: usize>(bytes: &[u8; HEADER_LEN], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}

fn be32(bytes: &[u8; HEADER_LEN], at: usize) -> u32 {
    u32::from_be_bytes(field(bytes, at))
}

#[cfg(test)]
mod tests;
