//! CBC (NIST SP 800-38A, section 6.2) over whole sectors, one IV a sector.
//!
//! Encryption is serial inside a sector, but sectors are independent: [`LANES`] of them go through the cipher together.

use super::xor;
use crate::block::BlockCipher;
use crate::engine::{BATCH, Engine, Run};
use crate::iv::IvGenerator;
use alloc::boxed::Box;

pub(crate) struct Cbc<const N: usize> {
    pub(crate) cipher: Box<dyn BlockCipher<N>>,
    pub(crate) iv: IvGenerator<N>,
}

impl<const N: usize> Engine for Cbc<N> {
    fn encrypt(&self, run: &Run, data: &mut [u8]) {
        run.batches(data, |run, data| {
            let mut ivs = [[0; N]; BATCH];
            self.cipher.cbc_encrypt(self.iv.fill(run, data.len(), &mut ivs), run.sector, data);
        });
    }

    fn decrypt(&self, run: &Run, data: &mut [u8]) {
        run.batches(data, |run, data| {
            let mut ivs = [[0; N]; BATCH];
            self.cipher.cbc_decrypt(self.iv.fill(run, data.len(), &mut ivs), run.sector, data);
        });
    }

    fn code(&self) -> &'static str {
        self.cipher.code()
    }
}

/// Encrypts sectors, [`LANES`] side by side.
pub(crate) fn encrypt<const N: usize>(
    cipher: &(impl BlockCipher<N> + ?Sized),
    ivs: &[[u8; N]],
    sector: usize,
    data: &mut [u8],
) {
    let blocks_a_sector = sector / N;
    let blocks = data.as_chunks_mut::<N>().0;
    for (ivs, group) in ivs.chunks(LANES).zip(blocks.chunks_mut(LANES * blocks_a_sector)) {
        let mut chain = [[0; N]; LANES];
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
pub(crate) fn decrypt<const N: usize>(
    cipher: &(impl BlockCipher<N> + ?Sized),
    ivs: &[[u8; N]],
    sector: usize,
    data: &mut [u8],
) {
    for (iv, sector) in ivs.iter().zip(data.chunks_exact_mut(sector)) {
        let mut previous = *iv;
        for batch in sector.as_chunks_mut().0.chunks_mut(BLOCKS) {
            let mut masks = [[0; N]; BLOCKS];
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

/// Blocks a call of the cipher when decrypting: a 512-byte sector of 128-bit blocks.
const BLOCKS: usize = 32;
