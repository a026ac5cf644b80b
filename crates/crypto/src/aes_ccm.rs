//! AES in CCM (NIST SP 800-38C, RFC 3610): encryption with a tag, of short messages. BitLocker wraps its keys in it.
//!
//! The tag is CBC-MAC over the block B0 (flags, nonce, message length), the associated data and the message, each
//! padded with zeros; tag and message are then encrypted in counter mode, the tag by counter 0.

use crate::block::aes::Aes;
use crate::block_cipher::{Block, BlockCipher};
use crate::secret::on_clean_stack;
use crate::{Cpu, Error};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

/// An expanded key that encrypts and decrypts short messages in place. Nonces are 7 to 13 bytes long, and
/// each is for one message; tags are 4 to 16 bytes long.
pub struct AesCcm {
    aes: Aes,
}

impl AesCcm {
    /// Expands a key of 16, 24 or 32 bytes.
    ///
    /// # Errors
    /// [`Error::AesKey`] for any other length.
    pub fn new(key: &[u8], cpu: Cpu) -> Result<Self, Error> {
        match key.len() {
            16 | 24 | 32 => Ok(Self { aes: Aes::new(key, cpu) }),
            len => Err(Error::AesKey(8 * len)),
        }
    }

    /// Encrypts `message` in place and returns the tag over it and `associated`, which is shorter than 65280 bytes.
    pub fn encrypt<const NONCE: usize, const TAG: usize>(
        &self,
        nonce: &[u8; NONCE],
        associated: &[u8],
        message: &mut [u8],
    ) -> [u8; TAG] {
        on_clean_stack(|| {
            let mut tag = self.mac::<NONCE, TAG>(nonce, associated, message);
            self.count(nonce, &mut tag, message);
            tag
        })
    }

    /// Decrypts `message` in place if `tag` belongs to it; otherwise wipes it and returns false. The time it takes does
    /// not depend on the tag.
    #[must_use]
    pub fn decrypt<const NONCE: usize, const TAG: usize>(
        &self,
        nonce: &[u8; NONCE],
        associated: &[u8],
        message: &mut [u8],
        tag: &[u8; TAG],
    ) -> bool {
        on_clean_stack(|| {
            let mut stated = Zeroizing::new(*tag);
            self.count(nonce, &mut stated[..], message);
            let found = Zeroizing::new(self.mac::<NONCE, TAG>(nonce, associated, message));
            let is_right = bool::from(found.ct_eq(&*stated));
            if !is_right {
                message.zeroize();
            }
            is_right
        })
    }

    /// The tag before its encryption.
    fn mac<const NONCE: usize, const TAG: usize>(
        &self,
        nonce: &[u8; NONCE],
        associated: &[u8],
        message: &[u8],
    ) -> [u8; TAG] {
        const { assert!(TAG >= 4 && TAG <= 16 && TAG.is_multiple_of(2)) }
        let flags = if associated.is_empty() { 0 } else { 0x40 } | (((TAG - 2) / 2) << 3) as u8;
        let mut mac = Mac { aes: &self.aes, state: Zeroizing::new([0; 16]), filled: 0 };
        mac.absorb(&numbered(flags, nonce, message.len() as u64));
        if !associated.is_empty() {
            assert!(associated.len() < 0xff00, "associated data of a length in two bytes");
            mac.absorb(&(associated.len() as u16).to_be_bytes());
            mac.absorb(associated);
            mac.pad();
        }
        mac.absorb(message);
        mac.pad();
        let mut tag = [0; TAG];
        tag.copy_from_slice(&mac.state[..TAG]);
        tag
    }

    /// Adds the key stream: counter 0 to the tag, those from 1 on to the message.
    fn count<const NONCE: usize>(&self, nonce: &[u8; NONCE], tag: &mut [u8], message: &mut [u8]) {
        for (number, part) in core::iter::once(tag).chain(message.chunks_mut(16)).enumerate() {
            let mut stream = Zeroizing::new([numbered(0, nonce, number as u64)]);
            self.aes.encrypt_blocks(&mut *stream);
            part.iter_mut().zip(&stream[0]).for_each(|(byte, stream)| *byte ^= stream);
        }
    }
}

/// A block of flags, nonce and number, the latter big endian in what the nonce leaves of 15 bytes.
fn numbered<const NONCE: usize>(flags: u8, nonce: &[u8; NONCE], number: u64) -> Block {
    const { assert!(NONCE >= 7 && NONCE <= 13) }
    let mut block = [0; 16];
    block[8..].copy_from_slice(&number.to_be_bytes());
    block[0] = flags | (14 - NONCE) as u8;
    block[1..=NONCE].copy_from_slice(nonce);
    block
}

/// A CBC-MAC in progress.
struct Mac<'a> {
    aes: &'a Aes,
    state: Zeroizing<Block>,
    filled: usize,
}

impl Mac<'_> {
    fn absorb(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.state[self.filled] ^= byte;
            self.filled += 1;
            if self.filled == 16 {
                self.pad();
            }
        }
    }

    /// Ends a block that was begun.
    fn pad(&mut self) {
        if self.filled > 0 {
            self.aes.encrypt_blocks(core::slice::from_mut(&mut *self.state));
            self.filled = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encrypts, and decrypts what came out, at every level of this machine.
    fn check<const NONCE: usize, const TAG: usize>(
        key: &[u8],
        associated: usize,
        message: usize,
        expected: &str,
    ) {
        let bytes = |from: u8, len: usize| -> Vec<u8> { (0..len).map(|index| from + index as u8).collect() };
        let nonce: [u8; NONCE] = core::array::from_fn(|index| 0x10 + index as u8);
        for cpu in Cpu::levels() {
            let ccm = AesCcm::new(key, cpu).unwrap();
            let mut data = bytes(0x20, message);
            let tag: [u8; TAG] = ccm.encrypt(&nonce, &bytes(0, associated), &mut data);
            let hex: String = data.iter().chain(&tag).map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected, "{cpu}");
            let mut forged = data.clone();
            assert!(ccm.decrypt(&nonce, &bytes(0, associated), &mut data, &tag));
            assert_eq!(data, bytes(0x20, message));
            forged[0] ^= 1;
            assert!(!ccm.decrypt(&nonce, &bytes(0, associated), &mut forged, &tag));
            assert_eq!(forged, vec![0; message], "nothing is left of what nobody vouches for");
        }
    }

    /// NIST SP 800-38C, appendix C, examples 1 to 3.
    #[test]
    fn nist_sp_800_38c_appendix_c() {
        let key: Vec<u8> = (0x40..0x50).collect();
        check::<7, 4>(&key, 8, 4, "7162015b4dac255d");
        check::<8, 6>(&key, 16, 16, "d2a1f0e051ea5f62081a7792073d593d1fc64fbfaccd");
        check::<12, 8>(&key, 20, 24, "e3b201a9f5b71a7a9b1ceaeccd97e70b6176aad9a4428aa5484392fbc1b09951");
    }

    #[test]
    fn other_keys_are_refused() {
        assert_eq!(AesCcm::new(&[0; 20], Cpu::portable()).err(), Some(Error::AesKey(160)));
    }
}
