//! Plain dm-crypt: a volume without a header, whose key is a hash of the passphrase.
//!
//! The meaning of `--hash` (cryptsetup, lib/crypt_plain.c and `process_key` in lib/setup.c):
//!
//! | `--hash`     | key                                                                                        |
//! |--------------|--------------------------------------------------------------------------------------------|
//! | `HASH`       | H(P), H("A"+P), H("AA"+P) … one after the other, cut to the key's length (hashalot's way)     |
//! | `HASH:BYTES` | so many bytes of that, then zeros                                                            |
//! | `plain`      | the passphrase itself, cut to the key's length or padded with zeros                           |
//! | `plain:BYTES`| so many bytes of the passphrase, which must not be shorter, then zeros                        |

use crate::Error;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use keyway_crypto::{Hash, Secret};

/// How a passphrase is turned into a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassphraseHash {
    /// `None`: the passphrase is the key.
    hash: Option<Hash>,
    /// How many bytes of the key the hash fills; `None`: all.
    bytes: Option<usize>,
}

impl PassphraseHash {
    /// The passphrase is the key.
    pub const NONE: Self = Self { hash: None, bytes: None };

    /// cryptsetup's default since 2.7.
    pub const DEFAULT: Self = Self { hash: Some(Hash::Sha256), bytes: None };

    /// Parses `HASH`, `HASH:BYTES`, `plain` or `plain:BYTES`.
    ///
    /// # Errors
    /// The hash is unknown, or the length is not a number.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (name, bytes) = match text.split_once(':') {
            Some((name, bytes)) => {
                let number =
                    bytes.parse().map_err(|_| invalid(format!("\"{bytes}\" is not a number of bytes")))?;
                (name, Some(number))
            }
            None => (text, None),
        };
        if name == "plain" {
            return Ok(Self { hash: None, bytes });
        }
        let hash = Hash::find(name).ok_or_else(|| invalid(format!("\"{name}\" is unknown")))?;
        Ok(Self { hash: Some(hash), bytes })
    }

    /// Whether the passphrase itself is the key, at the key's full length.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// How many digests make a key of `len` bytes.
    pub fn digests(&self, len: usize) -> usize {
        self.hash.map_or(0, |hash| self.bytes.unwrap_or(len).div_ceil(hash.output_len()))
    }

    /// Derives a key of `len` bytes from `passphrase`.
    ///
    /// # Errors
    /// The length in `HASH:BYTES` is more than the key's length, or the length in `plain:BYTES` is
    /// more than the passphrase's.
    pub fn key(&self, passphrase: &Secret, len: usize) -> Result<Secret, Error> {
        let mut key = Secret::zeroed(len);
        let filled = self.bytes.unwrap_or(len);
        if filled > len {
            return Err(invalid(format!("{filled} bytes exceed the key's {len}")));
        }
        let room = &mut key.expose_mut()[..filled];
        match self.hash {
            Some(hash) => fill(hash, passphrase, room),
            None => {
                if self.bytes.is_some_and(|bytes| passphrase.len() < bytes) {
                    return Err(invalid(format!("the passphrase is shorter than {filled} bytes")));
                }
                let used = passphrase.len().min(filled);
                room[..used].copy_from_slice(&passphrase.expose()[..used]);
            }
        }
        Ok(key)
    }
}

impl fmt::Display for PassphraseHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.hash.map_or("plain", Hash::name))?;
        self.bytes.map_or(Ok(()), |bytes| write!(f, ":{bytes}"))
    }
}

/// hashalot's method for keys longer than a digest: round after round, each with one more "A" in
/// front.
fn fill(hash: Hash, passphrase: &Secret, room: &mut [u8]) {
    for (round, part) in room.chunks_mut(hash.output_len()).enumerate() {
        let mut message: Vec<&[u8]> = alloc::vec![b"A"; round];
        message.push(passphrase.expose());
        hash.digest_into(&message, part);
    }
}

fn invalid(why: impl Into<String>) -> Error {
    Error::invalid("hash", why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn key(spec: &str, passphrase: &str, len: usize) -> Result<Vec<u8>, Error> {
        let key = PassphraseHash::parse(spec)?.key(&Secret::copy_from(passphrase.as_bytes()), len)?;
        Ok(key.expose().to_vec())
    }

    #[test]
    fn a_key_shorter_than_the_digest_is_its_start() {
        let digest = Hash::Sha256.digest(&[b"passphrase"]);
        assert_eq!(key("sha256", "passphrase", 32).unwrap(), digest);
        assert_eq!(key("sha256", "passphrase", 16).unwrap(), digest[..16]);
    }

    #[test]
    fn a_longer_one_goes_on_with_an_a_in_front() {
        let rounds = ["passphrase", "Apassphrase", "AApassphrase", "AAApassphrase"];
        let all: Vec<u8> = rounds.iter().flat_map(|r| Hash::Ripemd160.digest(&[r.as_bytes()])).collect();
        assert_eq!(key("ripemd160", "passphrase", 64).unwrap(), all[..64]);
    }

    #[test]
    fn the_rest_of_a_named_length_is_zeros() {
        let digest = Hash::Sha512.digest(&[b"passphrase"]);
        let found = key("sha512:20", "passphrase", 32).unwrap();
        assert_eq!(found[..20], digest[..20]);
        assert_eq!(found[20..], [0; 12]);
        assert_eq!(key("sha512:0", "passphrase", 4).unwrap(), [0; 4]);
        assert_eq!(key("sha512:33", "x", 32).unwrap_err().to_string(), "hash: 33 bytes exceed the key's 32");
    }

    #[test]
    fn without_a_hash_the_passphrase_is_cut_or_padded() {
        assert_eq!(key("plain", "0123456789", 4).unwrap(), b"0123");
        assert_eq!(key("plain", "01", 4).unwrap(), b"01\0\0");
        assert_eq!(key("plain:2", "0123", 4).unwrap(), b"01\0\0");
        let short = key("plain:3", "01", 4).unwrap_err();
        assert_eq!(short.to_string(), "hash: the passphrase is shorter than 3 bytes");
    }

    #[test]
    fn names_are_read_and_written() {
        for spec in ["sha256", "whirlpool:32", "plain", "plain:7"] {
            assert_eq!(PassphraseHash::parse(spec).unwrap().to_string(), spec);
        }
        for (spec, why) in [
            ("sha257", "hash: \"sha257\" is unknown"),
            ("sha256:", "hash: \"\" is not a number of bytes"),
            ("sha256:x", "hash: \"x\" is not a number of bytes"),
        ] {
            assert_eq!(PassphraseHash::parse(spec).unwrap_err().to_string(), why);
        }
    }
}
