//! The JSON metadata: a typed view for what Keyway understands, and the document itself, so that what it does not
//! understand survives an edit. Every edit goes back through the parser: an invalid document cannot be held.

use crate::{Bytes, Error};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// Digest number.
pub type DigestId = u32;

/// A valid LUKS2 metadata document.
#[derive(Debug, Clone, PartialEq)]
pub struct Metadata {
    /// Keyslots by number (0–31).
    pub keyslots: BTreeMap<u32, Keyslot>,
    /// Tokens by number (0–31).
    pub tokens: BTreeMap<u32, Token>,
    /// Segments by number.
    pub segments: BTreeMap<u32, Segment>,
    /// Digests by number.
    pub digests: BTreeMap<DigestId, Digest>,
    /// Sizes, flags, requirements.
    pub config: Config,
    // + the preserved document (private)
}

/// A keyslot.
#[derive(Debug, Clone, PartialEq)]
pub struct Keyslot {
    /// Length of the key it holds, in bytes.
    pub key_size: u32,
    /// "priority"; normal when absent.
    pub priority: Priority,
    /// Where its material lies.
    pub area: Area,
    /// What opens it.
    pub kind: KeyslotKind,
}

/// What opens a keyslot.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyslotKind {
    /// Type "luks2": a KDF, an AF splitter and a cipher.
    Luks2 { kdf: Kdf, af_hash: String, af_stripes: u32, area_cipher: String, area_key_size: u32 },
    /// Type "reencrypt" or any other: preserved, never opened here.
    Other(String),
}

/// Order in which keyslots are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Priority {
    Ignore,
    Normal,
    Prefer,
}

/// A keyslot's area, in bytes from the start of the header device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Area {
    pub offset: Bytes,
    pub size: Bytes,
}

/// A keyslot's KDF with its salt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kdf {
    Pbkdf2 { hash: String, iterations: u32, salt: Vec<u8> },
    Argon2i { time: u32, memory_kib: u32, lanes: u32, salt: Vec<u8> },
    Argon2id { time: u32, memory_kib: u32, lanes: u32, salt: Vec<u8> },
}

/// A piece of the data device.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Segment {
    pub offset: Bytes,
    pub size: SegmentSize,
    /// "backup-final" and so on; a segment with a flag that starts with "backup-" is not mapped.
    pub flags: Vec<String>,
    pub kind: SegmentKind,
}

/// Up to the end of the device, or so many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SegmentSize {
    Dynamic,
    Fixed(Bytes),
}

/// How a segment is mapped.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum SegmentKind {
    Linear,
    Crypt { iv_tweak: u64, encryption: String, sector_size: u32, integrity: Option<Integrity> },
    Other(String),
}

/// dm-integrity under a crypt segment.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Integrity {
    pub kind: String,
    pub journal_encryption: String,
    pub journal_integrity: String,
}

/// Verifies the key of some segments.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Digest {
    pub keyslots: Vec<u32>,
    pub segments: Vec<u32>,
    /// PBKDF2 hash, iterations, salt; `None` for a digest type this build does not know.
    pub pbkdf2: Option<(String, u32, Vec<u8>)>,
    pub value: Vec<u8>,
}

/// A token: its type and keyslots; the rest is preserved as it is.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Token {
    pub kind: String,
    pub keyslots: Vec<u32>,
}

/// The "config" object.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Config {
    pub json_size: Bytes,
    pub keyslots_size: Bytes,
    pub flags: Vec<String>,
    pub requirements: Vec<String>,
}

impl Metadata {
    /// Parses and validates a JSON area's text (limits: depth, duplicate keys, sizes, overlaps).
    pub fn parse(json: &[u8], header_size: Bytes) -> Result<Self, Error> {
        let _ = (json, header_size);
        Err(Error::NotLuks)
    }

    /// The document as text: byte for byte what was parsed when nothing was edited.
    pub fn to_json(&self) -> Vec<u8> {
        todo!()
    }
}
