//! Keys in metadata, bare or wrapped (libyal, "FVE key" and "FVE AES-CCM encrypted key").
//!
//! Bare: the number of the method it is for (2 bytes), flags (2), the key. Wrapped: a nonce (a time and a counter, 12
//! bytes), AES-CCM's tag (16), and an entry of a bare key, encrypted.

use super::entry::{Entries, Entry, HEADER, value};
use super::{field, le16};
use crate::Error;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
use keyway_crypto::{AesCcm, Cpu, Secret};

/// A key and what it is for.
pub struct Key {
    /// The number of a method.
    pub method: u16,
    /// The key.
    pub bytes: Secret,
}

impl Key {
    pub(super) fn of(entry: &Entry<'_>) -> Result<Self, Error> {
        entry.check_len(METHOD, "key")?;
        Ok(Self { method: le16(entry.data, 0), bytes: Secret::copy_from(&entry.data[METHOD..]) })
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:#x}, {} bytes)", self.method, self.bytes.len())
    }
}

/// A key that another one encrypts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrapped {
    nonce: [u8; 12],
    tag: [u8; 16],
    data: Vec<u8>,
}

impl Wrapped {
    pub(super) fn of(entry: &Entry<'_>) -> Result<Self, Error> {
        entry.check_len(12 + 16, "wrapped key")?;
        Ok(Self { nonce: field(entry.data, 0), tag: field(entry.data, 12), data: entry.data[28..].to_vec() })
    }

    /// Wraps a key with another one, under a nonce that is used once.
    ///
    /// # Errors
    /// `with` is no key of AES.
    pub fn wrap(key: &Key, with: &Secret, nonce: [u8; 12], cpu: Cpu) -> Result<Self, Error> {
        let ccm = AesCcm::new(with.expose(), cpu);
        let ccm = ccm.map_err(|error| Error::invalid("wrapping key", error.to_string()))?;
        let len = HEADER + METHOD + key.bytes.len();
        let mut content = Secret::zeroed(len);
        let (head, bytes) = content.expose_mut().split_at_mut(HEADER + METHOD);
        // Purpose, version and flags are zero.
        for (at, field) in [(0, len as u16), (4, value::KEY), (HEADER, key.method)] {
            head[at..at + 2].copy_from_slice(&field.to_le_bytes());
        }
        bytes.copy_from_slice(key.bytes.expose());
        let tag = ccm.encrypt(&nonce, &[], content.expose_mut());
        Ok(Self { nonce, tag, data: content.expose().to_vec() })
    }

    /// The data of its entry.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        [&self.nonce[..], &self.tag, &self.data].concat()
    }

    /// The bytes that are encrypted: twelve more than the key.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether nothing is wrapped at all.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The key in it, if `key` is the one that it was wrapped with.
    ///
    /// # Errors
    /// It was, but there is something else in it than a key.
    pub fn unwrap(&self, key: &Secret, cpu: Cpu) -> Result<Option<Key>, Error> {
        let mut data = Secret::copy_from(&self.data);
        let Ok(ccm) = AesCcm::new(key.expose(), cpu) else { return Ok(None) };
        if !ccm.decrypt(&self.nonce, &[], data.expose_mut(), &self.tag) {
            return Ok(None);
        }
        let broken = || Error::invalid("wrapped key", "it unwraps, but not to a single key");
        match Entries::of(data.expose(), 0).next() {
            Some(Ok(entry)) if entry.value == value::KEY && entry.data.len() + 8 == self.data.len() => {
                Key::of(&entry).map(Some)
            }
            _ => Err(broken()),
        }
    }
}

/// Method and flags.
const METHOD: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: [u8; 12] = [3; 12];

    fn wrapped(content: &[u8], with: &Secret) -> Wrapped {
        let mut data = content.to_vec();
        let tag = AesCcm::new(with.expose(), Cpu::detect()).unwrap().encrypt(&NONCE, &[], &mut data);
        Wrapped { nonce: NONCE, tag, data }
    }

    #[test]
    fn a_key_comes_out_under_the_right_key_alone() {
        let (right, wrong) = (Secret::copy_from(&[1; 32]), Secret::copy_from(&[2; 32]));
        let content = [&[44, 0, 0, 0, 1, 0, 1, 0, 3, 0x20, 0, 0][..], &[8; 32]].concat();
        let wrapped_key = wrapped(&content, &right);
        let key = wrapped_key.unwrap(&right, Cpu::detect()).unwrap().unwrap();
        assert_eq!((key.method, key.bytes.expose()), (0x2003, &[8; 32][..]));
        assert!(wrapped_key.unwrap(&wrong, Cpu::detect()).unwrap().is_none());
        assert!(wrapped_key.unwrap(&Secret::zeroed(7), Cpu::detect()).unwrap().is_none(), "no key of AES");
        // Nothing of a key is shown.
        assert_eq!(alloc::format!("{key:?}"), "Key(0x2003, 32 bytes)");
    }

    #[test]
    fn wrapping_is_what_unwraps() {
        let (key, with) = (Secret::copy_from(&[8; 32]), Secret::copy_from(&[1; 32]));
        let content = [&[44, 0, 0, 0, 1, 0, 0, 0, 3, 0x20, 0, 0][..], &[8; 32]].concat();
        let made = Wrapped::wrap(&Key { method: 0x2003, bytes: key }, &with, NONCE, Cpu::detect()).unwrap();
        assert_eq!(made, wrapped(&content, &with));
        let error = Wrapped::wrap(
            &Key { method: 1, bytes: Secret::zeroed(1) },
            &Secret::zeroed(7),
            NONCE,
            Cpu::detect(),
        );
        assert!(error.unwrap_err().to_string().starts_with("wrapping key: "));
    }

    #[test]
    fn what_is_wrapped_has_to_be_a_key() {
        let key = Secret::copy_from(&[1; 32]);
        for content in
            [&[44, 0, 0, 0, 2, 0, 1, 0][..], &[8, 0, 0, 0, 1, 0, 1, 0, 0], &[], &[12, 0, 0, 0, 1, 0, 1, 0]]
        {
            let error = wrapped(content, &key).unwrap(&key, Cpu::detect()).unwrap_err();
            assert_eq!(error.to_string(), "wrapped key: it unwraps, but not to a single key");
        }
    }
}
