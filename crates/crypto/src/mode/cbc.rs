//! CBC (NIST SP 800-38A, section 6.2) over whole sectors, one IV a sector.
//!
//! Encryption is serial inside a sector, but sectors are independent: [`LANES`] of them go through the cipher together.

use super::xor;
use crate::block::{Block, BlockCipher};

/// Encrypts sectors, [`LANES`] side by side.
pub(crate) fn encrypt(cipher: &impl BlockCipher, ivs: &[Block], sector: usize, data: &mut [u8]) {
    let blocks_a_sector = sector / 16;
    let blocks = data.as_chunks_mut::<16>().0;
    for (ivs, group) in ivs.chunks(LANES).zip(blocks.chunks_mut(LANES * blocks_a_sector)) {
        let mut chain = [[0; 16]; LANES];
        chain[..ivs.len()].copy_from_slice(ivs);
        let chain = &mut chain[..ivs.len()];
        for index in 0..blocks_a_sector {
            for (lane, link) in chain.iter_mut().enumerate() {
                xor(link, &group[lane * blocks_a_sector + index]);
            }
            cipher.encrypt_blocks(chain);
            for (lane, link) in chain.iter().enumerate() {
                group[lane * blocks_a_sector + index] = *link;
            }
        }
    }
}

/// Decrypts sectors, a batch of blocks side by side.
pub(crate) fn decrypt(cipher: &impl BlockCipher, ivs: &[Block], sector: usize, data: &mut [u8]) {
    for (iv, sector) in ivs.iter().zip(data.chunks_exact_mut(sector)) {
        let mut previous = *iv;
        for batch in sector.as_chunks_mut().0.chunks_mut(BATCH) {
            let mut masks = [[0; 16]; BATCH];
            masks[0] = previous;
            masks[1..batch.len()].copy_from_slice(&batch[..batch.len() - 1]);
            previous = batch[batch.len() - 1];
            cipher.decrypt_blocks(batch);
            batch.iter_mut().zip(&masks).for_each(|(block, mask)| xor(block, mask));
        }
    }
}

/// Sectors encrypted side by side.
pub(crate) const LANES: usize = 8;

/// Blocks a call of the cipher when decrypting: a 512-byte sector.
const BATCH: usize = 32;
