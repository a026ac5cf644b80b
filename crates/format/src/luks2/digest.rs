//! A digest object: verifies the key of some segments.

use super::field::Node;
use crate::json::{Object, Value};
use crate::{Error, base64};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use keyway_crypto::Hash;

/// Digest number.
pub type DigestId = u32;

/// The length of LUKS1's digest, whatever the hash, which a converted volume keeps. Also the
/// minimum for an unknown hash.
const LUKS1_LEN: usize = 20;

/// Verifies the key of some segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// Keyslots that hold this key.
    pub keyslots: Vec<u32>,
    /// Segments encrypted with it; none for an unbound key.
    pub segments: Vec<u32>,
    /// How it is computed.
    pub kind: DigestKind,
}

/// How a digest is computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DigestKind {
    /// PBKDF2 of the key.
    Pbkdf2 {
        /// Hash of PBKDF2.
        hash: String,
        /// Iterations of PBKDF2.
        iterations: u32,
        /// Salt of PBKDF2.
        salt: Vec<u8>,
        /// The expected value: 20 bytes (from LUKS1), or the full length of the hash.
        value: Vec<u8>,
    },
    /// A type that this build does not know: preserved, but it verifies nothing.
    Other(String),
}

impl Digest {
    pub(super) fn read(node: &Node<'_>, keyslots: &Node<'_>, segments: &Node<'_>) -> Result<Self, Error> {
        Ok(Self {
            kind: DigestKind::read(node)?,
            keyslots: node.references("keyslots", keyslots)?,
            segments: node.references("segments", segments)?,
        })
    }

    /// The object, with its members in cryptsetup's order. `None` for a type that this build does
    /// not write.
    pub(super) fn to_json(&self) -> Option<Object> {
        let DigestKind::Pbkdf2 { hash, iterations, salt, value } = &self.kind else {
            return None;
        };
        Some(
            Object::new()
                .with("type", "pbkdf2")
                .with("keyslots", id_list(&self.keyslots))
                .with("segments", id_list(&self.segments))
                .with("hash", hash.as_str())
                .with("iterations", *iterations)
                .with("salt", base64::encode(salt))
                .with("digest", base64::encode(value)),
        )
    }
}

impl DigestKind {
    fn read(node: &Node<'_>) -> Result<Self, Error> {
        match node.string("type")? {
            "pbkdf2" => {}
            other => return Ok(Self::Other(other.to_owned())),
        }
        let (hash, value) = (node.name("hash")?, node.base64("digest")?);
        let whole = Hash::parse(&hash).ok().map(Hash::output_len);
        // cryptsetup allows MD5, whose digests are shorter than LUKS1's.
        let fits = match whole {
            Some(whole) => value.len() == whole || value.len() == LUKS1_LEN,
            None => value.len() >= LUKS1_LEN,
        };
        if !fits {
            return Err(node.refuse("digest", format!("{} bytes is not the length of {hash}", value.len())));
        }
        Ok(Self::Pbkdf2 { hash, iterations: node.positive("iterations")?, salt: node.salt("salt")?, value })
    }
}

/// Numbers in LUKS2's list format: an array of strings.
pub(super) fn id_list(ids: &[u32]) -> Value {
    ids.iter().map(|id| id.to_string().into()).collect::<Vec<Value>>().into()
}
