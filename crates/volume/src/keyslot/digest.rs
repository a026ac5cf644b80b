//! Key digests: whether a key is the one that a header describes (LUKS1 header, LUKS2 "digests" of
//! type pbkdf2).

use crate::{Refusal, Result};
use keyway_crypto::kdf::{self, Derivation};
use keyway_crypto::{Hash, Secret, Stop};
use keyway_format::{luks1, luks2};

/// A PBKDF2 digest of either format.
#[derive(Debug, Clone)]
pub(crate) struct KeyDigest {
    /// Its number; 0 for LUKS1.
    pub(crate) id: u32,
    hash: Hash,
    iterations: u32,
    salt: Vec<u8>,
    value: Vec<u8>,
}

impl KeyDigest {
    pub(crate) fn of_luks1(header: &luks1::Header) -> Result<Self> {
        Ok(Self {
            id: 0,
            hash: Hash::parse(&header.hash_spec)?,
            iterations: header.digest_iterations,
            salt: header.digest_salt.to_vec(),
            value: header.digest.to_vec(),
        })
    }

    pub(crate) fn of_luks2(id: u32, digest: &luks2::Digest) -> Result<Self> {
        let luks2::DigestKind::Pbkdf2 { hash, iterations, salt, value } = &digest.kind else {
            return Err(
                Refusal::Unusable.because(format!("this version does not support the type of digest {id}"))
            );
        };
        let (iterations, salt, value) = (*iterations, salt.clone(), value.clone());
        if value.len() < LEAST_LEN {
            let why = format!("{} bytes are too few to identify a key: {LEAST_LEN} are needed", value.len());
            return Err(Refusal::Unusable.because(format!("digest {id} cannot be used: {why}")));
        }
        Ok(Self { id, hash: Hash::parse(hash)?, iterations, salt, value })
    }

    /// The cost of computing it, as a KDF.
    pub(crate) fn kdf(&self) -> luks2::Kdf {
        let (hash, iterations, salt) = (self.hash.name().into(), self.iterations, self.salt.clone());
        luks2::Kdf::Pbkdf2 { hash, iterations, salt }
    }

    /// Its length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.value.len()
    }

    /// The computation of `key`'s digest, to run in parallel with others; `None` where the hash
    /// cannot run in vector lanes.
    pub(crate) fn derivation<'a>(&self, key: &Secret, stop: &'a Stop) -> Option<Derivation<'a>> {
        Derivation::new(self.hash, key.expose(), &self.salt, self.iterations, self.value.len(), stop)
    }

    /// Whether `computed` is this digest.
    pub(crate) fn is(&self, computed: &Secret) -> bool {
        !self.value.is_empty() && computed.ct_eq(&self.value)
    }

    /// Whether `key` has this digest. The length of `key` must be checked separately: HMAC pads
    /// short keys with zeros, so keys that differ only in trailing zeros have the same digest.
    pub(crate) fn matches(&self, key: &Secret, stop: &Stop) -> Result<bool> {
        let mut computed = Secret::zeroed(self.value.len());
        kdf::pbkdf2(self.hash, key.expose(), &self.salt, self.iterations, computed.expose_mut(), stop)?;
        Ok(self.is(&computed))
    }
}

/// With fewer bytes, a wrong key could be accepted as the right one.
const LEAST_LEN: usize = 16;

/// PBKDF2 of `key` to `len` bytes: the value of a new digest.
pub(crate) fn digest_value(
    hash: Hash,
    key: &Secret,
    salt: &[u8],
    iterations: u32,
    len: usize,
) -> Result<Vec<u8>> {
    let mut value = vec![0; len];
    kdf::pbkdf2(hash, key.expose(), salt, iterations, &mut value, &Stop::new())?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_has_at_least_sixteen_bytes() {
        let of_len = |len: usize| {
            let kind = luks2::DigestKind::Pbkdf2 {
                hash: "sha256".into(),
                iterations: 1000,
                salt: vec![1; 32],
                value: vec![2; len],
            };
            KeyDigest::of_luks2(3, &luks2::Digest { keyslots: Vec::new(), segments: Vec::new(), kind })
        };
        for len in [0, 1, 15] {
            let why = of_len(len).unwrap_err().to_string();
            assert_eq!(
                why,
                format!("digest 3 cannot be used: {len} bytes are too few to identify a key: 16 are needed")
            );
        }
        for len in [16, 17, 32] {
            assert_eq!(of_len(len).unwrap().len(), len);
        }
    }
}
