//! The 4096-byte binary header of each copy, and the checksum over it
//! and its JSON area. Numbers are big-endian.
//!
//! | offset | length | field                                                                |
//! |--------|--------|----------------------------------------------------------------------|
//! | 0      | 6      | magic: `LUKS` 0xba 0xbe, in the secondary copy `SKUL` 0xba 0xbe        |
//! | 6      | 2      | version, 2                                                           |
//! | 8      | 8      | size of this copy in bytes, JSON area included                       |
//! | 16     | 8      | sequence id                                                          |
//! | 24     | 48     | label                                                                |
//! | 72     | 32     | checksum algorithm ("sha256")                                        |
//! | 104    | 64     | salt                                                                 |
//! | 168    | 40     | UUID                                                                 |
//! | 208    | 48     | subsystem                                                            |
//! | 256    | 8      | offset of this copy on the device: 0 or size                         |
//! | 264    | 184    | padding                                                              |
//! | 448    | 64     | checksum of header and JSON area, taken with this field zeroed       |
//! | 512    | 3584   | padding                                                              |

use crate::{Bytes, Error, luks1, text};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, Range};
use keyway_crypto::Hash;

const MAGIC_SECONDARY: [u8; 6] = *b"SKUL\xba\xbe";
pub(super) const VERSION: u16 = 2;
pub(super) const LABEL: Range<usize> = 24..72;
pub(super) const ALGORITHM: Range<usize> = 72..104;
const SALT: Range<usize> = 104..168;
pub(super) const UUID: Range<usize> = 168..208;
pub(super) const SUBSYSTEM: Range<usize> = 208..256;
pub(super) const CHECKSUM: Range<usize> = 448..512;

/// One of the two copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copy {
    /// At the start of the device.
    Primary,
    /// Directly after the primary.
    Secondary,
}

impl Copy {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Primary => Self::Secondary,
            Self::Secondary => Self::Primary,
        }
    }
}

/// One of the nine valid sizes of a copy (binary header and JSON area): 16 KiB to 4 MiB, powers of
/// two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeaderSize(u64);

impl HeaderSize {
    /// Every valid size, smallest first; these are also the possible offsets of a secondary copy.
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

    /// Accepts the nine valid sizes.
    pub fn new(bytes: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.0 == bytes)
    }

    /// The size of one copy in bytes.
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0)
    }

    /// The size of the JSON area in one copy.
    pub const fn json_area(self) -> Bytes {
        Bytes(self.0 - BinaryHeader::LEN as u64)
    }

    /// Where the keyslots area starts.
    pub const fn keyslots_start(self) -> Bytes {
        Bytes(2 * self.0)
    }
}

/// A valid binary header. Its [`Fields`] are read through deref; padding and bytes after a string's
/// NUL are preserved as on disk.
#[derive(Clone, PartialEq, Eq)]
pub struct BinaryHeader {
    bytes: Box<[u8; Self::LEN]>,
    fields: Fields,
}

/// The content of a [`BinaryHeader`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// Size of this copy, JSON area included.
    pub size: HeaderSize,
    /// Incremented by every write; the copy with the higher id wins.
    pub sequence_id: u64,
    /// Label; bytes that are not UTF-8 are replaced.
    pub label: String,
    /// Checksum algorithm as written ("sha256").
    pub checksum_algorithm: String,
    /// Differs between the copies.
    pub salt: [u8; 64],
    /// UUID text.
    pub uuid: String,
    /// Subsystem label; bytes that are not UTF-8 are replaced.
    pub subsystem: String,
    /// Which copy this is (its offset on disk: 0 or `size`).
    pub copy: Copy,
}

impl Deref for BinaryHeader {
    type Target = Fields;

    fn deref(&self) -> &Fields {
        &self.fields
    }
}

impl fmt::Debug for BinaryHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields.fmt(f)
    }
}

impl BinaryHeader {
    /// Length of the binary header alone.
    pub const LEN: usize = 4096;

    /// The primary header of a fresh volume: sequence id 1, checksum sha256, no labels.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the UUID's text does not fit.
    pub fn new(size: HeaderSize, uuid: &str, salt: [u8; 64]) -> Result<Self, Error> {
        let mut bytes = Box::new([0; Self::LEN]);
        bytes[..6].copy_from_slice(&magic(Copy::Primary));
        bytes[6..8].copy_from_slice(&VERSION.to_be_bytes());
        bytes[8..16].copy_from_slice(&size.0.to_be_bytes());
        bytes[16..24].copy_from_slice(&1u64.to_be_bytes());
        text::store(&mut bytes[ALGORITHM], "sha256", "checksum algorithm")?;
        bytes[SALT].copy_from_slice(&salt);
        text::store(&mut bytes[UUID], uuid, "UUID")?;
        Self::parse(&bytes[..], Copy::Primary)
    }

    /// Parses a binary header. The checksum is not verified, because that needs the JSON area; see
    /// [`BinaryHeader::parse_copy`].
    ///
    /// # Errors
    /// [`Error::NotLuks`] without this copy's magic or version 2, [`Error::UnsupportedVersion`] for
    /// a primary of a later version, [`Error::Truncated`], [`Error::Invalid`].
    pub fn parse(bytes: &[u8], copy: Copy) -> Result<Self, Error> {
        refuse_later_version(bytes, copy)?;
        if !has_magic(bytes, copy) {
            return Err(Error::NotLuks);
        }
        let Some(bytes) = bytes.first_chunk::<{ Self::LEN }>() else {
            return Err(Error::Truncated { needs: Self::LEN as u64, has: bytes.len() as u64 });
        };
        Ok(Self { bytes: Box::new(*bytes), fields: Fields::read(bytes, copy)? })
    }

    /// Parses a whole copy (`size` bytes, any more are ignored), verifies its checksum and returns
    /// the JSON text (without the zero padding).
    ///
    /// # Errors
    /// As [`BinaryHeader::parse`], and [`Error::Checksum`]; [`Error::Invalid`] for a JSON area that
    /// does not start with `{` or contains something after its text.
    pub fn parse_copy(bytes: &[u8], copy: Copy) -> Result<(Self, &[u8]), Error> {
        let (header, area) = Self::parse_checked(bytes, copy)?;
        Ok((header, json_text(area)?))
    }

    /// Like [`BinaryHeader::parse_copy`] up to the checksum; returns the JSON area unchanged.
    pub(super) fn parse_checked(bytes: &[u8], copy: Copy) -> Result<(Self, &[u8]), Error> {
        let mut header = Self::parse(bytes, copy)?;
        let size = header.size.0 as usize;
        let Some(area) = bytes.get(Self::LEN..size) else {
            return Err(Error::Truncated { needs: header.size.0, has: bytes.len() as u64 });
        };
        let digest = header.checksum(area)?;
        if header.bytes[CHECKSUM][..digest.len()] != digest {
            return Err(Error::Checksum);
        }
        // Cleared after verification, so that headers with the same content compare equal.
        header.bytes[CHECKSUM][..digest.len()].fill(0);
        Ok((header, area))
    }

    /// A whole copy: binary header with checksum, JSON text, zeros up to `size`.
    ///
    /// # Errors
    /// [`Error::Full`] when the text and one zero byte do not fit;
    /// [`Error::Invalid`] for an unknown checksum algorithm.
    pub fn copy_to_bytes(&self, json: &[u8]) -> Result<Vec<u8>, Error> {
        check_json_len(json.len(), self.size)?;
        let mut copy = vec![0; self.size.0 as usize];
        let (header, area) = copy.split_at_mut(Self::LEN);
        area[..json.len()].copy_from_slice(json);
        let digest = self.checksum(area)?;
        header.copy_from_slice(&self.bytes[..]);
        header[CHECKSUM][..digest.len()].copy_from_slice(&digest);
        Ok(copy)
    }

    /// The same header as the other copy (or as the same copy again), with a new salt: for writing
    /// both copies, and for recovering one from the other.
    #[must_use]
    pub fn as_copy(&self, copy: Copy, salt: [u8; 64]) -> Self {
        let mut new = self.clone();
        new.bytes[..6].copy_from_slice(&magic(copy));
        new.bytes[SALT].copy_from_slice(&salt);
        new.bytes[256..264].copy_from_slice(&offset(copy, self.size).to_be_bytes());
        new.fields.copy = copy;
        new.fields.salt = salt;
        new
    }

    /// Sets the sequence id; a header gets the next id before it is written.
    pub fn set_sequence_id(&mut self, id: u64) {
        self.bytes[16..24].copy_from_slice(&id.to_be_bytes());
        self.fields.sequence_id = id;
    }

    /// The most bytes that a label or subsystem label has.
    pub const MAX_LABEL_LEN: usize = LABEL.end - LABEL.start - 1;

    /// Replaces the label: at most 47 bytes; empty removes it.
    pub fn set_label(&mut self, label: &str) -> Result<(), Error> {
        self.set_text(LABEL, label, "label")
    }

    /// Replaces the subsystem label: at most 47 bytes; empty removes it.
    pub fn set_subsystem(&mut self, subsystem: &str) -> Result<(), Error> {
        self.set_text(SUBSYSTEM, subsystem, "subsystem")
    }

    /// Replaces the UUID's text.
    pub fn set_uuid(&mut self, uuid: &str) -> Result<(), Error> {
        self.set_text(UUID, uuid, "UUID")
    }

    fn set_text(&mut self, field: Range<usize>, new: &str, place: &str) -> Result<(), Error> {
        text::store(&mut self.bytes[field], new, place)?;
        self.fields = Fields::read(&self.bytes, self.copy)?;
        Ok(())
    }

    fn checksum(&self, json_area: &[u8]) -> Result<Vec<u8>, Error> {
        let hash = Hash::parse(&self.checksum_algorithm)
            .map_err(|error| Error::invalid("checksum algorithm", format!("{error}")))?;
        let zeros = [0; CHECKSUM.end - CHECKSUM.start];
        Ok(hash.digest(&[&self.bytes[..CHECKSUM.start], &zeros, &self.bytes[CHECKSUM.end..], json_area]))
    }
}

impl Fields {
    fn read(bytes: &[u8; BinaryHeader::LEN], copy: Copy) -> Result<Self, Error> {
        let size = be64(bytes, 8);
        let Some(size) = HeaderSize::new(size) else {
            return Err(Error::invalid(
                "header size",
                format!("{size} bytes is not one of the nine legal sizes"),
            ));
        };
        let (says, expected) = (be64(bytes, 256), offset(copy, size));
        if says != expected {
            return Err(Error::invalid(
                "header offset",
                format!("says {says}, but the header is at {expected}"),
            ));
        }
        let mut salt = [0; 64];
        salt.copy_from_slice(&bytes[SALT]);
        Ok(Self {
            size,
            sequence_id: be64(bytes, 16),
            label: text::lossy(&bytes[LABEL]),
            checksum_algorithm: text::name(&bytes[ALGORITHM], "checksum algorithm")?,
            salt,
            uuid: text::lossy(&bytes[UUID]),
            subsystem: text::lossy(&bytes[SUBSYSTEM]),
            copy,
        })
    }
}

/// The size that a binary header states, if it is one of the nine.
pub(super) fn stated_size(bytes: &[u8]) -> Option<HeaderSize> {
    HeaderSize::new(u64::from_be_bytes(*bytes.get(8..)?.first_chunk()?))
}

/// Whether the bytes start with this copy's magic; the rest is not checked.
pub(crate) fn has_magic(bytes: &[u8], copy: Copy) -> bool {
    bytes.starts_with(&magic(copy)) && bytes.get(6..8) == Some(&VERSION.to_be_bytes())
}

/// A primary of a later version is a header in its own right: a secondary of version 2 after it is
/// not its copy.
pub(super) fn refuse_later_version(bytes: &[u8], copy: Copy) -> Result<(), Error> {
    match bytes.strip_prefix(&magic(Copy::Primary)) {
        Some(&[high, low, ..]) if copy == Copy::Primary => match u16::from_be_bytes([high, low]) {
            later if later > VERSION => Err(Error::UnsupportedVersion(later)),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Refuses a JSON text that, followed by a zero byte, does not fit its area.
pub(super) fn check_json_len(len: usize, size: HeaderSize) -> Result<(), Error> {
    let (needs, has) = (len as u64 + 1, size.json_area().0);
    if needs > has { Err(Error::Full { area: "JSON area", needs, has }) } else { Ok(()) }
}

/// The text in a JSON area: from a `{` at its first byte to the zeros that fill the rest.
fn json_text(area: &[u8]) -> Result<&[u8], Error> {
    if area.first() != Some(&b'{') {
        return Err(Error::invalid("JSON area", "does not start with '{'"));
    }
    let Some(end) = area.iter().position(|&b| b == 0) else {
        return Err(Error::invalid("JSON area", "no zero byte after the text"));
    };
    let (json, padding) = area.split_at(end);
    if let Some(stray) = padding.iter().position(|&b| b != 0) {
        return Err(Error::invalid("JSON area", format!("stray byte {} after the text", end + stray)));
    }
    Ok(json)
}

pub(super) const fn magic(copy: Copy) -> [u8; 6] {
    match copy {
        Copy::Primary => luks1::MAGIC,
        Copy::Secondary => MAGIC_SECONDARY,
    }
}

pub(super) const fn offset(copy: Copy, size: HeaderSize) -> u64 {
    match copy {
        Copy::Primary => 0,
        Copy::Secondary => size.0,
    }
}

fn be64(bytes: &[u8; BinaryHeader::LEN], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_be_bytes(number)
}
