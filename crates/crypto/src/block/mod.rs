//! Block ciphers, one folder each.

pub(crate) mod aes;

/// The blocks of every cipher here: 128 bits.
pub(crate) type Block = [u8; 16];

/// A cipher of 128-bit blocks under one key. Calls take many blocks at once.
pub(crate) trait BlockCipher {
    /// Encrypts each block in place, on its own (ECB).
    fn encrypt_blocks(&self, blocks: &mut [Block]);

    /// Decrypts each block in place, on its own (ECB).
    fn decrypt_blocks(&self, blocks: &mut [Block]);
}
