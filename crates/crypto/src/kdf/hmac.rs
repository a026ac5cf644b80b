//! HMAC (RFC 2104) over any `Hash`: the key's two padded blocks, and a MAC of a short message.

use crate::{Hash, Secret};
use alloc::vec::Vec;
use zeroize::Zeroizing;

/// A key, padded to the hash's block and masked for the inner and the outer hash.
pub(super) struct Hmac {
    hash: Hash,
    /// As good as the key itself: kept as it is.
    inner: Secret,
    outer: Secret,
}

impl Hmac {
    pub(super) fn new(hash: Hash, key: &[u8]) -> Self {
        let block = hash.block_len();
        let masked = |mask: u8| {
            let mut padded = Secret::zeroed(block);
            if key.len() > block {
                hash.digest_into(&[key], &mut padded.expose_mut()[..hash.output_len()]);
            } else {
                padded.expose_mut()[..key.len()].copy_from_slice(key);
            }
            padded.expose_mut().iter_mut().for_each(|byte| *byte ^= mask);
            padded
        };
        Self { hash, inner: masked(0x36), outer: masked(0x5c) }
    }

    /// The first block of the inner hash: the key masked with 0x36.
    pub(super) fn inner_block(&self) -> &[u8] {
        self.inner.expose()
    }

    /// The first block of the outer hash: the key masked with 0x5c.
    pub(super) fn outer_block(&self) -> &[u8] {
        self.outer.expose()
    }

    /// The MAC of the concatenation of `parts`.
    pub(super) fn mac(&self, parts: [&[u8]; 2]) -> Zeroizing<Vec<u8>> {
        let inner = Zeroizing::new(self.hash.digest(&[self.inner.expose(), parts[0], parts[1]]));
        Zeroizing::new(self.hash.digest(&[self.outer.expose(), &inner]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2 (short key) and test case 6 (key longer than a block), SHA-256.
    #[test]
    fn rfc_4231() {
        let mac = Hmac::new(Hash::Sha256, b"Jefe").mac([b"what do ya want ", b"for nothing?"]);
        assert_eq!(mac[..8], [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e]);
        let long = Hmac::new(Hash::Sha256, &[0xaa; 131]);
        let mac = long.mac([b"Test Using Larger Than Block-Size Key - ", b"Hash Key First"]);
        assert_eq!(mac[..8], [0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f]);
    }
}
