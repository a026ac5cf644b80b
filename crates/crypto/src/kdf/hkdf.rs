//! HKDF (RFC 5869) and HMAC (RFC 2104) of whole messages: keys made from a key, and message
//! authentication with them.

use super::hmac::{Hmac, LONGEST_DIGEST};
use crate::Hash;
use crate::secret::on_clean_stack;
use zeroize::Zeroizing;

/// HMAC of `message`, truncated to the length of `out`, which is at most the hash's output length.
pub fn hmac(hash: Hash, key: &[u8], message: &[u8], out: &mut [u8]) {
    on_clean_stack(|| Hmac::new(hash, key).mac([message, &[]], out));
}

/// One block of HKDF: a key for the purpose that `info` names, from key material that is already
/// random. `out` is at most as long as the hash's output.
pub fn hkdf(hash: Hash, material: &[u8], salt: &[u8], info: &[u8], out: &mut [u8]) {
    on_clean_stack(|| {
        let mut pseudorandom = Zeroizing::new([0; LONGEST_DIGEST]);
        let pseudorandom = &mut pseudorandom[..hash.output_len()];
        Hmac::new(hash, salt).mac([material, &[]], pseudorandom);
        Hmac::new(hash, pseudorandom).mac([info, &[1]], out);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5869, appendix A.1 and A.3 (its first 32 bytes: one block).
    #[test]
    fn rfc_5869() {
        let mut key = [0; 32];
        let salt: [u8; 13] = core::array::from_fn(|i| i as u8);
        let info: [u8; 10] = core::array::from_fn(|i| 0xf0 + i as u8);
        hkdf(Hash::Sha256, &[0x0b; 22], &salt, &info, &mut key);
        assert_eq!(
            key,
            [
                0x3c, 0xb2, 0x5f, 0x25, 0xfa, 0xac, 0xd5, 0x7a, 0x90, 0x43, 0x4f, 0x64, 0xd0, 0x36, 0x2f,
                0x2a, 0x2d, 0x2d, 0x0a, 0x90, 0xcf, 0x1a, 0x5a, 0x4c, 0x5d, 0xb0, 0x2d, 0x56, 0xec, 0xc4,
                0xc5, 0xbf,
            ]
        );
        hkdf(Hash::Sha256, &[0x0b; 22], &[], &[], &mut key);
        assert_eq!(key[..8], [0x8d, 0xa4, 0xe7, 0x75, 0xa5, 0x63, 0xc1, 0x8f]);
    }

    /// RFC 4231, test case 2.
    #[test]
    fn rfc_4231() {
        let mut mac = [0; 32];
        hmac(Hash::Sha256, b"Jefe", b"what do ya want for nothing?", &mut mac);
        assert_eq!(mac[..8], [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e]);
    }
}
