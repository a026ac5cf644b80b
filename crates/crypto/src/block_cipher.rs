//! What a block cipher is: what [`crate::block`] implements and [`crate::mode`] runs on.
//!
//! A cipher implements [`BlockCipher`] over many blocks at a time, at least in portable code. Modes
//! are generic over it; a cipher with vector code for a whole mode overrides the mode's method.

#[cfg(feature = "alloc")]
use crate::Cpu;
pub(crate) use crate::chaining::Block;
use crate::chaining::{cbc, ctr, xts};
#[cfg(feature = "alloc")]
use alloc::boxed::Box;

/// A cipher of `N`-byte blocks (8 or 16) under one key. Calls take many blocks at once.
pub(crate) trait BlockCipher<const N: usize = 16>: Send + Sync {
    /// Encrypts each block in place, on its own (ECB).
    fn encrypt_blocks(&self, blocks: &mut [[u8; N]]);

    /// Decrypts each block in place, on its own (ECB).
    fn decrypt_blocks(&self, blocks: &mut [[u8; N]]);

    /// CBC over sectors of `sector` bytes, with one IV per sector.
    fn cbc_encrypt(&self, ivs: &[[u8; N]], sector: usize, data: &mut [u8]) {
        cbc::encrypt(self.parallel(), ivs, sector, data, |blocks| self.encrypt_blocks(blocks));
    }

    /// The inverse of [`BlockCipher::cbc_encrypt`].
    fn cbc_decrypt(&self, ivs: &[[u8; N]], sector: usize, data: &mut [u8]) {
        cbc::decrypt(ivs, sector, data, |blocks| self.decrypt_blocks(blocks));
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
        xts::masked(&xts::PORTABLE, tweaks, sector, data, |blocks| self.encrypt_blocks(blocks));
    }

    /// The inverse of [`Cipher128::xts_encrypt`].
    fn xts_decrypt(&self, tweaks: &[Block], sector: usize, data: &mut [u8]) {
        xts::masked(&xts::PORTABLE, tweaks, sector, data, |blocks| self.decrypt_blocks(blocks));
    }

    /// XCTR over sectors of `sector` bytes, at most 4096, with one start value per sector: adds the
    /// encrypted sum of the start and the block's number, counted from 0, to each block.
    fn xctr(&self, starts: &[Block], sector: usize, data: &mut [u8]) {
        ctr::crypt(ctr::count_beside_from_zero, starts, sector, data, |blocks| self.encrypt_blocks(blocks));
    }
}

/// The constructor of a cipher of 128-bit blocks, from a key whose size is one of the cipher's.
#[cfg(feature = "alloc")]
pub(crate) type Make128 = fn(&[u8], Cpu) -> Box<dyn Cipher128>;
