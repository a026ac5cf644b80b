//! XTS (IEEE 1619-2018, section 5) over whole sectors; no ciphertext stealing, as sectors are whole blocks.
//!
//! C_j = E_k1(P_j ^ T·x^j) ^ T·x^j with T = E_k2(IV), in GF(2^128) modulo x^128 + x^7 + x^2 + x + 1, bits counted from
//! the first byte's lowest.

use super::xor;
use crate::block::{Block, BlockCipher, Cipher128};
use crate::engine::{BATCH, Engine, Run};
use crate::iv::IvGenerator;
use alloc::boxed::Box;

/// XTS with its two keys.
pub(crate) struct Xts {
    pub(crate) data: Box<dyn Cipher128>,
    pub(crate) tweak: Box<dyn Cipher128>,
    pub(crate) iv: IvGenerator<16>,
}

impl Xts {
    /// Runs `work` over batches of sectors with their encrypted tweaks.
    fn with_tweaks(&self, run: &Run, data: &mut [u8], work: impl Fn(&[Block], &mut [u8])) {
        run.batches(data, |run, data| {
            let mut tweaks = [[0; 16]; BATCH];
            let tweaks = self.iv.fill(run, data.len(), &mut tweaks);
            self.tweak.encrypt_blocks(tweaks);
            work(tweaks, data);
        });
    }
}

impl Engine for Xts {
    fn encrypt(&self, run: &Run, data: &mut [u8]) {
        self.with_tweaks(run, data, |tweaks, data| self.data.xts_encrypt(tweaks, run.sector, data));
    }

    fn decrypt(&self, run: &Run, data: &mut [u8]) {
        self.with_tweaks(run, data, |tweaks, data| self.data.xts_decrypt(tweaks, run.sector, data));
    }

    fn code(&self) -> &'static str {
        self.data.code()
    }
}

/// Encrypts sectors under encrypted tweaks, one a sector.
pub(crate) fn encrypt(
    cipher: &(impl BlockCipher + ?Sized),
    tweaks: &[Block],
    sector: usize,
    data: &mut [u8],
) {
    masked(tweaks, sector, data, |blocks| cipher.encrypt_blocks(blocks));
}

/// Decrypts sectors under encrypted tweaks, one a sector.
pub(crate) fn decrypt(
    cipher: &(impl BlockCipher + ?Sized),
    tweaks: &[Block],
    sector: usize,
    data: &mut [u8],
) {
    masked(tweaks, sector, data, |blocks| cipher.decrypt_blocks(blocks));
}

/// Masks a batch of blocks, runs the cipher over it, masks again.
fn masked(tweaks: &[Block], sector: usize, data: &mut [u8], run: impl Fn(&mut [Block])) {
    for (tweak, sector) in tweaks.iter().zip(data.chunks_exact_mut(sector)) {
        let mut power = u128::from_le_bytes(*tweak);
        for batch in sector.as_chunks_mut().0.chunks_mut(BLOCKS) {
            let mut masks = [[0; 16]; BLOCKS];
            for mask in &mut masks {
                *mask = power.to_le_bytes();
                power = double(power);
            }
            batch.iter_mut().zip(&masks).for_each(|(block, mask)| xor(block, mask));
            run(batch);
            batch.iter_mut().zip(&masks).for_each(|(block, mask)| xor(block, mask));
        }
    }
}

/// Multiplies by x, without a branch on the secret.
fn double(power: u128) -> u128 {
    (power << 1) ^ ((power >> 127).wrapping_neg() & 0x87)
}

/// Blocks a call of the cipher: a 512-byte sector.
const BLOCKS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    /// The doubling of IEEE 1619-2018, 5.2, written bytewise as the standard does.
    #[test]
    fn doubling_follows_the_standard() {
        let mut power: u128 = 0x8123_4567_89ab_cdef_0fed_cba9_8765_4321;
        for _ in 0..200 {
            let mut bytes = power.to_le_bytes();
            let mut carry = 0;
            for byte in &mut bytes {
                let out = *byte >> 7;
                *byte = (*byte << 1) | carry;
                carry = out;
            }
            if carry == 1 {
                bytes[0] ^= 0x87;
            }
            assert_eq!(double(power), u128::from_le_bytes(bytes));
            power = double(power);
        }
    }
}
