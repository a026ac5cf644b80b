//! A token object: tells programs how to obtain a passphrase. LUKS2 itself uses only its type and
//! keyslots.

use super::field::Node;
use crate::Error;
use crate::json::{Object, Value};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// "luks2-keyring", "systemd-tpm2", …
    pub kind: String,
    /// Keyslots that it opens.
    pub keyslots: Vec<u32>,
    /// The whole object: what else is in it, its type knows.
    pub members: Object,
}

impl Token {
    pub(super) fn read(node: &Node<'_>, keyslots: &Node<'_>) -> Result<Self, Error> {
        Ok(Self {
            kind: node.string("type")?.to_owned(),
            keyslots: node.references("keyslots", keyslots)?,
            members: node.members().clone(),
        })
    }

    /// A member that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name).and_then(Value::as_str)
    }
}
