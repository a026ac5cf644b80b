//! The source of salts, keys and filler.

use crate::{Error, Refusal, Result};
use keyway_crypto::{Hash, Secret};

/// A source of random bytes.
pub trait Random {
    /// Fills `buf`.
    fn fill(&mut self, buf: &mut [u8]) -> Result<()>;
}

/// The operating system's generator.
#[derive(Debug, Default, Clone, Copy)]
pub struct OsRandom;

impl Random for OsRandom {
    fn fill(&mut self, buf: &mut [u8]) -> Result<()> {
        getrandom::fill(buf)
            .map_err(|source| Error::Io { what: "reading random bytes".into(), source: source.into() })
    }
}

/// A generator that produces the same bytes for the same seed, for reproducible builds: SHA-512
/// over a key derived from the seed and a counter. The seed gives access to every key generated
/// from it.
pub struct SeededRandom {
    key: Secret,
    counter: u64,
    block: Secret,
    used: usize,
}

impl SeededRandom {
    /// Starts from a seed of any length.
    pub fn new(seed: &Secret) -> Self {
        let key = digest(&[b"keyway reproducible 1", seed.expose()]);
        Self { key, counter: 0, block: Secret::zeroed(0), used: 0 }
    }
}

impl Random for SeededRandom {
    fn fill(&mut self, buf: &mut [u8]) -> Result<()> {
        for byte in buf {
            if self.used == self.block.len() {
                self.block = digest(&[self.key.expose(), &self.counter.to_le_bytes()]);
                self.counter += 1;
                self.used = 0;
            }
            *byte = self.block.expose()[self.used];
            self.used += 1;
        }
        Ok(())
    }
}

/// Random bytes that are not secret: salts and filler.
pub(crate) fn random_bytes<const N: usize>(rng: &mut dyn Random) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    rng.fill(&mut bytes)?;
    Ok(bytes)
}

/// A random (version 4) UUID as text.
pub fn random_uuid(rng: &mut dyn Random) -> Result<String> {
    let mut bytes: [u8; 16] = random_bytes(rng)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

/// Accepts a UUID in its canonical form of 8-4-4-4-12 digits and returns it in lower case.
pub(crate) fn parse_uuid(text: &str) -> Result<String> {
    let valid = text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    if valid {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(Refusal::Uuid.because("Wrong LUKS UUID format provided."))
    }
}

fn digest(parts: &[&[u8]]) -> Secret {
    let mut bytes = Hash::Sha512.digest(parts);
    let secret = Secret::copy_from(&bytes);
    zeroize::Zeroize::zeroize(&mut bytes);
    secret
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_bytes_in_pieces_or_at_once() {
        let seed = Secret::copy_from(b"seed");
        let mut whole = [0; 200];
        SeededRandom::new(&seed).fill(&mut whole).unwrap();
        let mut pieces = [0; 200];
        let mut rng = SeededRandom::new(&seed);
        for piece in pieces.chunks_mut(7) {
            rng.fill(piece).unwrap();
        }
        assert_eq!(whole, pieces);
        let mut other = [0; 200];
        SeededRandom::new(&Secret::copy_from(b"Seed")).fill(&mut other).unwrap();
        assert_ne!(whole, other);
    }

    #[test]
    fn uuids_are_version_4_and_parse() {
        let uuid = random_uuid(&mut OsRandom).unwrap();
        assert_eq!(uuid.as_bytes()[14], b'4');
        assert_eq!(parse_uuid(&uuid.to_uppercase()).unwrap(), uuid);
        assert!(parse_uuid("not-a-uuid").is_err());
        assert!(parse_uuid(&uuid[1..]).is_err());
    }
}
