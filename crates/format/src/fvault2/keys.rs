//! Wrapped keys: of a passphrase, and of the volume. The offsets are those of macOS 10.7 and later.
//!
//! | offset | length | key-encrypting key (284 bytes)  |   | offset | length | volume key (256 bytes) |
//! |--------|--------|---------------------------------|---|--------|--------|------------------------|
//! | 0      | 2 × 4  | 3, 16: a salt                    |   | 0      | 2 × 4  | 2, 24: a wrapped key    |
//! | 8      | 16     | it                              |   | 8      | 24     | it                     |
//! | 24     | 2 × 4  | 16, 24: a wrapped key            |   |        |        |                        |
//! | 32     | 24     | it                              |   |        |        |                        |
//! | 168    | 4      | PBKDF2's iterations              |   |        |        |                        |

use super::Uuid;
use crate::le::{field, le32};
use crate::{Error, base64};
use alloc::format;
use alloc::string::String;
use keyway_crypto::{AesWrap, Cpu, Hash, Secret};

/// Who can open a volume: a passphrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// PBKDF2's salt.
    pub salt: [u8; 16],
    /// PBKDF2's iterations, with SHA-256; its output has 16 bytes.
    pub iterations: u32,
    /// Which key it opens.
    pub key: String,
    wrapped: [u8; 24],
}

impl User {
    /// Parses a `PassphraseWrappedKEKStruct` in Base64. `key` is the identifier beside it.
    ///
    /// # Errors
    /// [`Error::Invalid`]
    pub fn parse(text: &str, key: &str) -> Result<Self, Error> {
        let bytes = bytes(text, 284, "wrapped key of a passphrase")?;
        check(&bytes, &[(0, 3), (4, 16), (24, 16), (28, 24)], "wrapped key of a passphrase")?;
        let iterations = le32(&bytes, 168);
        if iterations == 0 {
            return Err(Error::invalid("PBKDF2's iterations", "0"));
        }
        Ok(Self { salt: field(&bytes, 8), iterations, key: key.into(), wrapped: field(&bytes, 32) })
    }

    /// The key that the passphrase's derived key unwraps; `None` where it is another passphrase's.
    pub fn unwrap(&self, derived: &Secret, cpu: Cpu) -> Option<Secret> {
        AesWrap::new(derived.expose(), cpu).ok()?.unwrap(&self.wrapped)
    }
}

/// A volume key, wrapped under a key-encrypting key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrappedVolumeKey {
    /// Which key it is wrapped under.
    pub key: String,
    wrapped: [u8; 24],
}

impl WrappedVolumeKey {
    /// Parses a `KEKWrappedVolumeKeyStruct` in Base64. `key` is the identifier beside it.
    ///
    /// # Errors
    /// [`Error::Invalid`]
    pub fn parse(text: &str, key: &str) -> Result<Self, Error> {
        let bytes = bytes(text, 256, "wrapped volume key")?;
        check(&bytes, &[(0, 2), (4, 24)], "wrapped volume key")?;
        Ok(Self { key: key.into(), wrapped: field(&bytes, 8) })
    }

    /// What is wrapped; `None` where another key did it.
    pub fn unwrap(&self, key: &Secret, cpu: Cpu) -> Option<Secret> {
        AesWrap::new(key.expose(), cpu).ok()?.unwrap(&self.wrapped)
    }
}

/// The key of the data's AES-XTS: what is wrapped, and the first half of its digest with the family's UUID.
pub fn volume_key(wrapped: &Secret, family: Uuid) -> Secret {
    let mut digest = Secret::zeroed(Hash::Sha256.output_len());
    Hash::Sha256.digest_into(&[wrapped.expose(), &family.0], digest.expose_mut());
    let mut key = Secret::zeroed(32);
    key.expose_mut()[..16].copy_from_slice(&wrapped.expose()[..16]);
    key.expose_mut()[16..].copy_from_slice(&digest.expose()[..16]);
    key
}

fn bytes(text: &str, len: usize, what: &str) -> Result<alloc::vec::Vec<u8>, Error> {
    let text: String = text.chars().filter(|character| !character.is_ascii_whitespace()).collect();
    match base64::decode(&text) {
        Some(bytes) if bytes.len() == len => Ok(bytes),
        Some(bytes) => Err(Error::invalid(what, format!("it has {} bytes, not {len}", bytes.len()))),
        None => Err(Error::invalid(what, "it is not in Base64")),
    }
}

fn check(bytes: &[u8], fields: &[(usize, u32)], what: &str) -> Result<(), Error> {
    match fields.iter().find(|(at, expected)| le32(bytes, *at) != *expected) {
        None => Ok(()),
        Some((at, expected)) => {
            let found = le32(bytes, *at);
            Err(Error::invalid(what, format!("the number at byte {at} is {found}, not {expected}")))
        }
    }
}
