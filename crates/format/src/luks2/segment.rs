//! A segment object: a part of the data device, and how it is mapped.

use super::field::Node;
use crate::json::{Object, Value};
use crate::{Bytes, Error, Sectors};
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A part of the data device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Its first byte on the data device.
    pub offset: Bytes,
    /// Its length.
    pub size: SegmentSize,
    /// "backup-final" and the like; a segment with a flag that starts with "backup-" is not mapped.
    pub flags: Vec<String>,
    /// How it is mapped.
    pub kind: SegmentKind,
}

/// Up to the end of the device, or a fixed number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SegmentSize {
    Dynamic,
    Fixed(Bytes),
}

/// How a segment is mapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SegmentKind {
    /// Not encrypted.
    Linear,
    /// Encrypted.
    Crypt {
        /// Added to the sector number (in 512-byte units) to form the IV.
        iv_tweak: u64,
        /// "aes-xts-plain64".
        encryption: String,
        /// Encryption sector size in bytes: 512, 1024, 2048 or 4096.
        sector_size: u32,
        /// dm-integrity below it.
        integrity: Option<Integrity>,
    },
    /// A type that this build does not map: preserved. ("hw-opal" and "hw-opal-crypt" are locking
    /// ranges of self-encrypting drives.)
    Other(String),
}

/// dm-integrity below a crypt segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integrity {
    /// "hmac(sha256)", "aead", …
    pub kind: String,
    /// "none".
    pub journal_encryption: String,
    /// "none".
    pub journal_integrity: String,
}

impl Segment {
    pub(super) fn read(node: &Node<'_>) -> Result<Self, Error> {
        let offset = Bytes(node.uint64("offset")?);
        if !offset.0.is_multiple_of(Sectors::SIZE) {
            return Err(node.refuse("offset", format!("{} is not a multiple of 512", offset.0)));
        }
        let size = SegmentSize::read(node)?;
        let kind = match node.string("type")? {
            "linear" => SegmentKind::Linear,
            "crypt" => SegmentKind::read_crypt(node, size)?,
            opal if opal.starts_with(OPAL) => {
                check_opal(node, opal, size)?;
                SegmentKind::Other(opal.to_owned())
            }
            other => SegmentKind::Other(other.to_owned()),
        };
        Ok(Self { offset, size, flags: node.optional_strings("flags")?, kind })
    }

    /// Whether it only records a state of reencryption and is not part of the volume.
    pub fn is_backup(&self) -> bool {
        self.flags.iter().any(|flag| flag.starts_with("backup-"))
    }

    /// Whether the drive encrypts it by itself, in a locking range.
    pub fn is_opal(&self) -> bool {
        matches!(&self.kind, SegmentKind::Other(kind) if kind.starts_with(OPAL))
    }

    /// The first byte after it; `None` when it extends to the end of the device.
    pub fn end(&self) -> Option<Bytes> {
        match self.size {
            SegmentSize::Dynamic => None,
            SegmentSize::Fixed(size) => Some(Bytes(self.offset.0.saturating_add(size.0))),
        }
    }

    /// The object, with its members in cryptsetup's order. `None` for a type that this build does
    /// not write.
    pub(super) fn to_json(&self) -> Option<Object> {
        let kind = match self.kind {
            SegmentKind::Linear => "linear",
            SegmentKind::Crypt { .. } => "crypt",
            SegmentKind::Other(_) => return None,
        };
        let size = match self.size {
            SegmentSize::Dynamic => "dynamic".to_owned(),
            SegmentSize::Fixed(size) => size.0.to_string(),
        };
        let mut object =
            Object::new().with("type", kind).with("offset", self.offset.0.to_string()).with("size", size);
        if let SegmentKind::Crypt { iv_tweak, encryption, sector_size, integrity } = &self.kind {
            object.set("iv_tweak", iv_tweak.to_string());
            object.set("encryption", encryption.as_str());
            object.set("sector_size", *sector_size);
            if let Some(integrity) = integrity {
                object.set("integrity", integrity.to_json());
            }
        }
        if !self.flags.is_empty() {
            object.set("flags", self.flags.iter().map(|flag| flag.as_str().into()).collect::<Vec<Value>>());
        }
        Some(object)
    }
}

impl SegmentSize {
    /// As in cryptsetup, the segment may end beyond 64 bits: it then does not fit its device.
    fn read(node: &Node<'_>) -> Result<Self, Error> {
        if node.string("size")? == "dynamic" {
            return Ok(Self::Dynamic);
        }
        let size = node.uint64("size")?;
        if size == 0 || !size.is_multiple_of(Sectors::SIZE) {
            return Err(node.refuse("size", format!("{size} is not a positive multiple of 512")));
        }
        Ok(Self::Fixed(Bytes(size)))
    }
}

impl SegmentKind {
    fn read_crypt(node: &Node<'_>, size: SegmentSize) -> Result<Self, Error> {
        let sector_size = node.uint32("sector_size")?;
        if ![512, 1024, 2048, 4096].contains(&sector_size) {
            return Err(node.refuse("sector_size", format!("{sector_size} is not 512, 1024, 2048 or 4096")));
        }
        if let SegmentSize::Fixed(size) = size
            && !size.0.is_multiple_of(sector_size.into())
        {
            return Err(
                node.refuse("size", format!("{} is not a multiple of the sector size {sector_size}", size.0))
            );
        }
        Ok(Self::Crypt {
            iv_tweak: node.uint64("iv_tweak")?,
            encryption: node.name("encryption")?,
            sector_size,
            integrity: if node.has("integrity") {
                Some(Integrity::read(&node.object("integrity")?)?)
            } else {
                None
            },
        })
    }
}

/// A locking range of a self-encrypting drive (TCG Opal; in cryptsetup from 2.7 on): its number, the
/// part of the volume key that unlocks it, and its length; with "-crypt", dm-crypt above it.
fn check_opal(node: &Node<'_>, kind: &str, size: SegmentSize) -> Result<(), Error> {
    let SegmentSize::Fixed(size) = size else {
        return Err(node.refuse("size", "a locking range has no dynamic size".to_owned()));
    };
    node.uint32("opal_segment_number")?;
    node.uint32("opal_key_size")?;
    let range = node.uint64("opal_segment_size")?;
    if range == 0 || size.0 > range {
        return Err(
            node.refuse("opal_segment_size", format!("{range} bytes do not hold the segment's {}", size.0))
        );
    }
    if kind == OPAL_AND_CRYPT {
        SegmentKind::read_crypt(node, SegmentSize::Fixed(size))?;
    }
    Ok(())
}

/// How the types of segments begin that a self-encrypting drive encrypts.
const OPAL: &str = "hw-opal";
const OPAL_AND_CRYPT: &str = "hw-opal-crypt";

impl Integrity {
    fn read(node: &Node<'_>) -> Result<Self, Error> {
        Ok(Self {
            kind: node.string("type")?.to_owned(),
            journal_encryption: node.string("journal_encryption")?.to_owned(),
            journal_integrity: node.string("journal_integrity")?.to_owned(),
        })
    }

    fn to_json(&self) -> Object {
        Object::new()
            .with("type", self.kind.as_str())
            .with("journal_encryption", self.journal_encryption.as_str())
            .with("journal_integrity", self.journal_integrity.as_str())
    }
}

/// Checks the rules that span several segments: numbers without gaps, backups after the regular
/// ones, no overlap among the regular ones, and only the last of these may extend to the end of the
/// device.
pub(super) fn check(segments: &BTreeMap<u32, Segment>) -> Result<(), Error> {
    if segments.is_empty() {
        return Err(Error::invalid("segments", "is empty"));
    }
    if let Some((expected, _)) = (0..).zip(segments.keys()).find(|(expected, id)| expected != *id) {
        return Err(Error::invalid(
            format!("segments.{expected}"),
            "is missing, though a higher number exists",
        ));
    }
    let regular: Vec<_> = segments.iter().take_while(|(_, segment)| !segment.is_backup()).collect();
    if regular.is_empty() {
        return Err(Error::invalid("segments.0", "is a backup: no segment is mapped"));
    }
    if let Some((id, _)) = segments.iter().skip(regular.len()).find(|(_, segment)| !segment.is_backup()) {
        return Err(Error::invalid(format!("segments.{id}"), "follows a backup segment"));
    }
    check_regular(&regular)
}

fn check_regular(regular: &[(&u32, &Segment)]) -> Result<(), Error> {
    for (index, (id, segment)) in regular.iter().enumerate() {
        if segment.end().is_none() && index + 1 < regular.len() {
            return Err(Error::invalid(
                format!("segments.{id}.size"),
                "only the last segment may be dynamic",
            ));
        }
        let overlap = |other: &Segment| {
            let starts_in =
                |a: &Segment, b: &Segment| a.offset >= b.offset && b.end().is_none_or(|end| a.offset < end);
            starts_in(segment, other) || starts_in(other, segment)
        };
        if let Some((other, _)) = regular[..index].iter().find(|(_, other)| overlap(other)) {
            return Err(Error::invalid(format!("segments.{id}"), format!("overlaps segments.{other}")));
        }
    }
    Ok(())
}
