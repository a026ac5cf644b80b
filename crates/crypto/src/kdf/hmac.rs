//! HMAC (RFC 2104) over any `Hash`: the key's two padded blocks, and a MAC of a short message.

use crate::Hash;
use zeroize::Zeroizing;

/// A key, padded to the hash's block and masked for the inner and the outer hash.
pub(super) struct Hmac {
    hash: Hash,
    /// As sensitive as the key itself.
    inner: Zeroizing<[u8; LONGEST_BLOCK]>,
    outer: Zeroizing<[u8; LONGEST_BLOCK]>,
}

impl Hmac {
    pub(super) fn new(hash: Hash, key: &[u8]) -> Self {
        let mut padded = Zeroizing::new([0; LONGEST_BLOCK]);
        if key.len() > hash.block_len() {
            hash.digest_into(&[key], &mut padded[..hash.output_len()]);
        } else {
            padded[..key.len()].copy_from_slice(key);
        }
        let masked = |mask: u8| Zeroizing::new(padded.map(|byte| byte ^ mask));
        Self { hash, inner: masked(0x36), outer: masked(0x5c) }
    }

    /// The first block of the inner hash: the key masked with 0x36.
    pub(super) fn inner_block(&self) -> &[u8] {
        &self.inner[..self.hash.block_len()]
    }

    /// The first block of the outer hash: the key masked with 0x5c.
    pub(super) fn outer_block(&self) -> &[u8] {
        &self.outer[..self.hash.block_len()]
    }

    /// Writes the MAC of the concatenation of `parts`, truncated to the length of `out`.
    pub(super) fn mac(&self, parts: [&[u8]; 2], out: &mut [u8]) {
        let mut inner = Zeroizing::new([0; LONGEST_DIGEST]);
        let inner = &mut inner[..self.hash.output_len()];
        self.hash.digest_into(&[self.inner_block(), parts[0], parts[1]], inner);
        self.hash.digest_into(&[self.outer_block(), inner], out);
    }
}

/// SHA3-224 has the longest block, in bytes.
const LONGEST_BLOCK: usize = 144;

/// The longest digest of any hash, in bytes.
pub(super) const LONGEST_DIGEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2 (short key) and test case 6 (key longer than a block), SHA-256.
    #[test]
    fn rfc_4231() {
        let mut mac = [0; 8];
        Hmac::new(Hash::Sha256, b"Jefe").mac([b"what do ya want ", b"for nothing?"], &mut mac);
        assert_eq!(mac, [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e]);
        let long = Hmac::new(Hash::Sha256, &[0xaa; 131]);
        long.mac([b"Test Using Larger Than Block-Size Key - ", b"Hash Key First"], &mut mac);
        assert_eq!(mac, [0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f]);
    }

    #[test]
    fn buffers_hold_every_hash() {
        assert!(Hash::ALL.iter().all(|hash| hash.block_len() <= LONGEST_BLOCK));
        assert!(Hash::ALL.iter().all(|hash| hash.output_len() <= LONGEST_DIGEST));
    }
}
