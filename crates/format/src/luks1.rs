//! LUKS1 (on-disk format 1.2.3): the 592-byte header at the start of the device.

use crate::{Error, Sectors};
use alloc::string::String;
use alloc::vec::Vec;

/// Bytes of the header on disk.
pub const HEADER_LEN: usize = 592;
/// Number of keyslots, always.
pub const SLOTS: usize = 8;

/// A LUKS1 header that makes sense: areas lie before the payload and do not overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// "aes".
    pub cipher_name: String,
    /// "xts-plain64".
    pub cipher_mode: String,
    /// PBKDF2, AF and digest hash, as written ("sha256").
    pub hash_spec: String,
    /// Where the data starts; 0 with a detached header that says so.
    pub payload_offset: Sectors,
    /// Volume key length in bytes.
    pub key_bytes: u32,
    /// First 20 bytes of PBKDF2(volume key).
    pub digest: [u8; 20],
    /// Salt of the digest.
    pub digest_salt: [u8; 32],
    /// Iterations of the digest.
    pub digest_iterations: u32,
    /// UUID text.
    pub uuid: String,
    /// The eight keyslots.
    pub slots: [Keyslot; SLOTS],
}

/// One keyslot descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyslot {
    /// Enabled, disabled, or neither (a torn write): a damaged slot opens nothing but does not spoil the header.
    pub state: SlotState,
    /// PBKDF2 iterations.
    pub iterations: u32,
    /// PBKDF2 salt.
    pub salt: [u8; 32],
    /// Start of the key material.
    pub offset: Sectors,
    /// AF stripes (4000).
    pub stripes: u32,
}

/// What the `active` word of a keyslot says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SlotState {
    Enabled,
    Disabled,
    Damaged(u32),
}

impl Header {
    /// Parses the first [`HEADER_LEN`] bytes of a device.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let _ = bytes;
        Err(Error::NotLuks)
    }

    /// The bytes on disk; `parse` of them gives the same header.
    pub fn to_bytes(&self) -> Vec<u8> {
        todo!()
    }

    /// "aes-xts-plain64".
    pub fn cipher(&self) -> String {
        todo!()
    }
}
