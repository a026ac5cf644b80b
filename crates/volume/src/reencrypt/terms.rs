//! The terms of a re-encryption, and the keyslots that it makes.

use crate::KdfChoice;
use crate::change::edit::AddKey;
use keyway_crypto::Secret;

/// How a re-encryption is protected and bounded.
#[derive(Debug, Clone)]
pub struct Terms {
    /// "checksum", "journal" or "none"; where data moves "none" is not possible.
    pub resilience: String,
    /// The hash of "checksum".
    pub hash: String,
    /// The unit that the data device writes whole or not at all, in bytes.
    pub block: u32,
    /// Only this many bytes of the device are data (`--device-size`).
    pub data_len: Option<u64>,
    /// By how many bytes the data moves as a whole (`--reduce-device-size`): back, where the device's
    /// last bytes make room; to the device's start where it is decrypted.
    pub shift: u64,
    /// The largest hot zone in bytes (`--hotzone-size`), and the part that moves first.
    pub zone: Option<u64>,
    /// Whether header and data are on one device.
    pub holds_header: bool,
    /// The cost of the digests.
    pub kdf: KdfChoice,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            resilience: "checksum".into(),
            hash: "sha256".into(),
            block: 4096,
            data_len: None,
            shift: 0,
            zone: None,
            holds_header: false,
            kdf: KdfChoice::default(),
        }
    }
}

/// A keyslot for the new volume key.
pub struct NewSlot<'a> {
    /// What opens it.
    pub passphrase: &'a Secret,
    /// How it is made.
    pub options: AddKey,
    /// The keyslot of the old key that it replaces: its priority and its tokens go over to it.
    pub replaces: Option<u32>,
}
