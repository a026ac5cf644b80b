//! AES Key Wrap (RFC 3394): keys of whole 64-bit words, wrapped under another key. FileVault 2 keeps its keys in it.

use crate::block::aes::Aes;
use crate::block_cipher::BlockCipher;
use crate::secret::on_clean_stack;
use crate::{Cpu, Error, Secret};
use alloc::vec::Vec;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// An expanded key that wraps keys, and unwraps what it has wrapped.
pub struct AesWrap {
    aes: Aes,
}

impl AesWrap {
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

    /// Wraps a key of at least two 64-bit words; the result is eight bytes longer.
    ///
    /// # Panics
    /// If the key is shorter, or not a multiple of 8 bytes.
    pub fn wrap(&self, key: &Secret) -> Vec<u8> {
        assert!(key.len() >= 16 && key.len().is_multiple_of(8), "two words at least");
        on_clean_stack(|| {
            let mut words = Zeroizing::new([&START[..], key.expose()].concat());
            let count = key.len() / 8;
            for step in 1..=6 * count as u64 {
                let at = 8 * ((step as usize - 1) % count + 1);
                let mut block = self.block(&words, at);
                self.aes.encrypt_blocks(&mut *block);
                put(&mut words, at, &block[0], step);
            }
            words.to_vec()
        })
    }

    /// The key that `wrapped` holds, if this is the one that wrapped it. The time it takes does not depend on that.
    pub fn unwrap(&self, wrapped: &[u8]) -> Option<Secret> {
        if wrapped.len() < 24 || !wrapped.len().is_multiple_of(8) {
            return None;
        }
        on_clean_stack(|| {
            let mut words = Zeroizing::new(wrapped.to_vec());
            let count = wrapped.len() / 8 - 1;
            for step in (1..=6 * count as u64).rev() {
                let at = 8 * ((step as usize - 1) % count + 1);
                let mut block = self.block(&words, at);
                block[0][..8].iter_mut().zip(step.to_be_bytes()).for_each(|(byte, step)| *byte ^= step);
                self.aes.decrypt_blocks(&mut *block);
                put(&mut words, at, &block[0], 0);
            }
            bool::from(words[..8].ct_eq(&START)).then(|| Secret::copy_from(&words[8..]))
        })
    }

    /// The register, and the word at `at`.
    fn block(&self, words: &[u8], at: usize) -> Zeroizing<[[u8; 16]; 1]> {
        let mut block = Zeroizing::new([[0; 16]]);
        block[0][..8].copy_from_slice(&words[..8]);
        block[0][8..].copy_from_slice(&words[at..at + 8]);
        block
    }
}

/// Puts a block back: the register with the number of the step, and the word.
fn put(words: &mut [u8], at: usize, block: &[u8; 16], step: u64) {
    words[..8].copy_from_slice(&block[..8]);
    words[..8].iter_mut().zip(step.to_be_bytes()).for_each(|(byte, step)| *byte ^= step);
    words[at..at + 8].copy_from_slice(&block[8..]);
}

/// The register before the first step.
const START: [u8; 8] = [0xa6; 8];

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3394, 4.1, 4.3 and 4.6.
    #[test]
    fn vectors_of_the_rfc() {
        let bytes: Vec<u8> = (0..16_u8).map(|byte| byte * 0x11).chain(0..16).collect();
        let long: Vec<u8> = (0..32).collect();
        for (key, data, wrapped) in [
            (&long[..16], &bytes[..16], "1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5"),
            (&long[..32], &bytes[..16], "64e8c3f9ce0f5ba263e9777905818a2a93c8191e7d6e8ae7"),
            (
                &long[..32],
                &bytes[..],
                "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21",
            ),
        ] {
            for cpu in Cpu::levels() {
                let wrap = AesWrap::new(key, cpu).unwrap();
                let mut found = wrap.wrap(&Secret::copy_from(data));
                let text: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(text, wrapped, "{cpu}");
                assert_eq!(wrap.unwrap(&found).unwrap().expose(), data, "{cpu}");
                found[3] ^= 1;
                assert!(wrap.unwrap(&found).is_none(), "{cpu}");
                assert!(wrap.unwrap(&found[..16]).is_none() && wrap.unwrap(&found[..23]).is_none());
            }
        }
        assert_eq!(AesWrap::new(&long[..17], Cpu::portable()).err(), Some(Error::AesKey(136)));
    }
}
