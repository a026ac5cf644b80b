//! The "config" object: sizes, activation flags, and requirements that forbid activation.

use super::field::Node;
use super::header::HeaderSize;
use crate::{Bytes, Error};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Maximum size of the keyslots area.
pub const MAX_KEYSLOTS_SIZE: Bytes = Bytes(128 << 20);

/// The activation flags that a header can store, in the order in which cryptsetup writes them.
pub const PERSISTENT_FLAGS: [&str; 7] = [
    "allow-discards",
    "same-cpu-crypt",
    "submit-from-crypt-cpus",
    "no-journal",
    "no-read-workqueue",
    "no-write-workqueue",
    "high_priority",
];

/// Requirements that this build meets. Each requirement that cryptsetup knows ("offline-reencrypt",
/// "online-reencrypt", "online-reencrypt-v2", "online-reencrypt-v3", "opal", "inline-hw-tags")
/// changes how data is read, so a header with any of them is not opened.
const MET_REQUIREMENTS: [&str; 0] = [];

/// The "config" object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Size of each JSON area.
    pub json_size: Bytes,
    /// Size of the keyslots area.
    pub keyslots_size: Bytes,
    /// Activation flags, as written; see [`PERSISTENT_FLAGS`].
    pub flags: Vec<String>,
    /// Mandatory requirements, as written.
    pub requirements: Vec<String>,
}

impl Config {
    pub(super) fn read(node: &Node<'_>, header: HeaderSize) -> Result<Self, Error> {
        let json_size = Bytes(node.uint64("json_size")?);
        if json_size != header.json_area() {
            let why = format!("{} bytes, but the binary header leaves {}", json_size.0, header.json_area().0);
            return Err(node.refuse("json_size", why));
        }
        let keyslots_size = Bytes(node.uint64("keyslots_size")?);
        if !keyslots_size.0.is_multiple_of(4096) || keyslots_size > MAX_KEYSLOTS_SIZE {
            let why = format!("{} bytes is not a multiple of 4096 up to 128 MiB", keyslots_size.0);
            return Err(node.refuse("keyslots_size", why));
        }
        let requirements = if node.has("requirements") {
            node.object("requirements")?.optional_strings("mandatory")?
        } else {
            Vec::new()
        };
        Ok(Self { json_size, keyslots_size, flags: node.optional_strings("flags")?, requirements })
    }

    /// Mandatory requirements that this build does not meet: the volume must be neither opened nor
    /// written.
    pub fn unmet_requirements(&self) -> Vec<&str> {
        self.requirements.iter().map(String::as_str).filter(|name| !MET_REQUIREMENTS.contains(name)).collect()
    }
}
