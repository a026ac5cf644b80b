//! Hashes of images: nodes "hash-1" with the properties algo and value.

use super::Error;
use crate::fdt::Node;
use crate::uboot::crc;
use keyway_crypto::hash::Hash;

/// U-Boot's hash algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// zlib's CRC-32, four bytes.
    Crc32,
    /// A digest.
    Digest(Hash),
}

/// The result of checking an image's hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The hash matches.
    Right,
    /// The hash does not match.
    Wrong,
    /// The algorithm is unknown, or there is no value.
    Unknown,
}

impl Algorithm {
    /// Looks up an algorithm by U-Boot's name.
    pub fn find(name: &str) -> Option<Self> {
        match name {
            "crc32" => Some(Self::Crc32),
            "md5" | "sha1" | "sha256" | "sha384" | "sha512" => Hash::find(name).map(Self::Digest),
            _ => None,
        }
    }

    /// The hash of some data.
    pub fn value(self, data: &[u8]) -> Vec<u8> {
        match self {
            Self::Crc32 => crc(data).to_be_bytes().to_vec(),
            Self::Digest(hash) => hash.digest(&[data]),
        }
    }
}

/// Computes the hashes for which an image's node has entries.
pub(super) fn fill_in(image: &mut Node<'_>) -> Result<(), Error> {
    let data = image.property("data").unwrap_or_default().to_vec();
    let path = format!("/images/{}", image.name);
    for node in image.children.iter_mut().filter(|node| is_hash(node)) {
        let name = node.text("algo").unwrap_or_default().to_owned();
        let Some(algorithm) = Algorithm::find(&name) else {
            let why =
                format!("U-Boot has no hash \"{name}\": it has crc32, md5, sha1, sha256, sha384 and sha512");
            return Err(Error::Node { path: format!("{path}/{}", node.name), why });
        };
        node.set("value", algorithm.value(&data));
    }
    Ok(())
}

/// The algorithm and verdict of each hash of an image.
pub(super) fn verify(image: &Node<'_>, data: &[u8]) -> Vec<(String, Verdict)> {
    let verdict = |node: &Node<'_>| {
        let name = node.text("algo").unwrap_or_default();
        let verdict = match (Algorithm::find(name), node.property("value")) {
            (Some(algorithm), Some(value)) if algorithm.value(data) == value => Verdict::Right,
            (Some(_), Some(_)) => Verdict::Wrong,
            _ => Verdict::Unknown,
        };
        (name.to_owned(), verdict)
    };
    image.children.iter().filter(|node| is_hash(node)).map(verdict).collect()
}

pub(super) fn is_hash(node: &Node<'_>) -> bool {
    node.name.starts_with("hash")
}
