//! AES (FIPS 197): an expanded key with the code that was chosen for it, once, from a [`Cpu`].

mod soft;

use crate::Cpu;
use crate::block::{Block, BlockCipher};
use crate::mode::{cbc, xts};
use soft::SoftAes;

/// An expanded AES key of 128, 192 or 256 bits.
pub(crate) struct Aes {
    soft: SoftAes,
}

impl Aes {
    /// Expands a key of 16, 24 or 32 bytes.
    ///
    /// # Panics
    /// On another length: callers have checked it against the cipher's key sizes.
    pub(crate) fn new(key: &[u8], cpu: Cpu) -> Self {
        let _ = cpu;
        Self { soft: SoftAes::new(key) }
    }

    /// XTS under encrypted tweaks, one a sector of `sector` bytes.
    pub(crate) fn xts_encrypt(&self, tweaks: &[Block], sector: usize, data: &mut [u8]) {
        xts::encrypt(&self.soft, tweaks, sector, data);
    }

    /// The inverse of [`Aes::xts_encrypt`].
    pub(crate) fn xts_decrypt(&self, tweaks: &[Block], sector: usize, data: &mut [u8]) {
        xts::decrypt(&self.soft, tweaks, sector, data);
    }

    /// CBC, one IV a sector of `sector` bytes.
    pub(crate) fn cbc_encrypt(&self, ivs: &[Block], sector: usize, data: &mut [u8]) {
        cbc::encrypt(&self.soft, ivs, sector, data);
    }

    /// The inverse of [`Aes::cbc_encrypt`].
    pub(crate) fn cbc_decrypt(&self, ivs: &[Block], sector: usize, data: &mut [u8]) {
        cbc::decrypt(&self.soft, ivs, sector, data);
    }
}

impl BlockCipher for Aes {
    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        self.soft.encrypt_blocks(blocks);
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        self.soft.decrypt_blocks(blocks);
    }
}
