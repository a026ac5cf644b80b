//! Block ciphers, one folder each, and the table that names them.
//!
//! A cipher implements [`BlockCipher`] over many blocks at a time, at least in portable code. Modes
//! are generic over it; a cipher with vector code for a whole mode overrides the mode's method.

pub(crate) mod aes;
#[cfg(feature = "alloc")]
mod anubis;
#[cfg(feature = "alloc")]
mod arc4;
#[cfg(feature = "alloc")]
mod bulk;
#[cfg(feature = "alloc")]
pub(crate) mod camellia;
#[cfg(feature = "alloc")]
mod crates;
mod des;
#[cfg(feature = "alloc")]
mod fcrypt;
#[cfg(feature = "alloc")]
mod involution;
#[cfg(feature = "alloc")]
mod khazad;
#[cfg(feature = "alloc")]
mod null;
#[cfg(feature = "alloc")]
mod seed;
#[cfg(feature = "alloc")]
pub(crate) mod serpent;
#[cfg(feature = "alloc")]
pub(crate) mod table;
#[cfg(feature = "alloc")]
mod tea;
#[cfg(feature = "alloc")]
pub(crate) mod twofish;
#[cfg(test)]
pub(crate) mod vectors;

#[cfg(feature = "alloc")]
pub(crate) use crates::blowfish_le;

use crate::mode::{cbc, ctr, xts};

/// The blocks of most ciphers: 128 bits.
pub(crate) type Block = [u8; 16];

/// A cipher of `N`-byte blocks (8 or 16) under one key. Calls take many blocks at once.
pub(crate) trait BlockCipher<const N: usize = 16>: Send + Sync {
    /// Encrypts each block in place, on its own (ECB).
    fn encrypt_blocks(&self, blocks: &mut [[u8; N]]);

    /// Decrypts each block in place, on its own (ECB).
    fn decrypt_blocks(&self, blocks: &mut [[u8; N]]);

    /// CBC over sectors of `sector` bytes, with one IV per sector.
    fn cbc_encrypt(&self, ivs: &[[u8; N]], sector: usize, data: &mut [u8]) {
        cbc::encrypt(self, ivs, sector, data);
    }

    /// The inverse of [`BlockCipher::cbc_encrypt`].
    fn cbc_decrypt(&self, ivs: &[[u8; N]], sector: usize, data: &mut [u8]) {
        cbc::decrypt(self, ivs, sector, data);
    }

    /// The number of blocks that the code processes side by side: a call with fewer takes as long.
    fn parallel(&self) -> usize {
        1
    }

    /// The code in use, as shown in tables: "vaes-avx512", "avx2", "portable".
    fn code(&self) -> &'static str {
        "portable"
    }
}

/// A cipher of 128-bit blocks: what XTS and the wide modes ask for.
pub(crate) trait Cipher128: BlockCipher<16> {
    /// XTS under encrypted tweaks, one per sector of `sector` bytes.
    fn xts_encrypt(&self, tweaks: &[Block], sector: usize, data: &mut [u8]) {
        xts::encrypt(self, tweaks, sector, data);
    }

    /// The inverse of [`Cipher128::xts_encrypt`].
    fn xts_decrypt(&self, tweaks: &[Block], sector: usize, data: &mut [u8]) {
        xts::decrypt(self, tweaks, sector, data);
    }

    /// XCTR over sectors of `sector` bytes, at most 4096, with one start value per sector: adds the
    /// encrypted sum of the start and the block's number, counted from 0, to each block.
    fn xctr(&self, starts: &[Block], sector: usize, data: &mut [u8]) {
        ctr::crypt(self, ctr::count_beside_from_zero, starts, sector, data);
    }
}
