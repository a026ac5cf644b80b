//! Portable AES: RustCrypto's, which is fixsliced (bit-parallel, constant time) on a CPU without AES instructions.
//!
//! On a CPU with AES instructions that crate uses them whatever [`crate::Cpu`] says; results are the same.

use crate::block::{Block, BlockCipher};
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use alloc::boxed::Box;

/// An expanded key; the crate wipes it on drop.
pub(crate) enum SoftAes {
    Aes128(Box<Aes128>),
    Aes192(Box<Aes192>),
    Aes256(Box<Aes256>),
}

impl SoftAes {
    /// Expands a key of 16, 24 or 32 bytes.
    ///
    /// # Panics
    /// On another length.
    pub(crate) fn new(key: &[u8]) -> Self {
        match key.len() {
            16 => Self::Aes128(Box::new(Aes128::new_from_slice(key).expect("16 bytes"))),
            24 => Self::Aes192(Box::new(Aes192::new_from_slice(key).expect("24 bytes"))),
            32 => Self::Aes256(Box::new(Aes256::new_from_slice(key).expect("32 bytes"))),
            other => panic!("an AES key of {other} bytes"),
        }
    }
}

impl BlockCipher for SoftAes {
    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        let blocks = Array::cast_slice_from_core_mut(blocks);
        match self {
            Self::Aes128(aes) => aes.encrypt_blocks(blocks),
            Self::Aes192(aes) => aes.encrypt_blocks(blocks),
            Self::Aes256(aes) => aes.encrypt_blocks(blocks),
        }
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        let blocks = Array::cast_slice_from_core_mut(blocks);
        match self {
            Self::Aes128(aes) => aes.decrypt_blocks(blocks),
            Self::Aes192(aes) => aes.decrypt_blocks(blocks),
            Self::Aes256(aes) => aes.decrypt_blocks(blocks),
        }
    }
}
