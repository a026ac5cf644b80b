//! A token object: tells other programs how to obtain a passphrase. LUKS2 itself uses only its type
//! and keyslots.

use super::field::Node;
use crate::Error;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

/// A token: its type and keyslots; the rest is preserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// "luks2-keyring", "systemd-tpm2", …
    pub kind: String,
    /// Keyslots that it opens.
    pub keyslots: Vec<u32>,
    /// "luks2-keyring": the description of the key in the kernel's keyring.
    pub key_description: Option<String>,
}

impl Token {
    /// The type of cryptsetup's built-in token.
    pub const KEYRING: &'static str = "luks2-keyring";

    pub(super) fn read(node: &Node<'_>, keyslots: &Node<'_>) -> Result<Self, Error> {
        let kind = node.string("type")?.to_owned();
        let key_description = match kind.as_str() {
            Self::KEYRING => node.string("key_description").ok().map(ToOwned::to_owned),
            _ => None,
        };
        Ok(Self { keyslots: node.references("keyslots", keyslots)?, kind, key_description })
    }
}
