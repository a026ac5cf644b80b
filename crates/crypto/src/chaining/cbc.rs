//! CBC (NIST SP 800-38A, section 6.2) over whole sectors, one IV per sector.
//!
//! Encryption is serial inside a sector, but sectors are independent: as many are encrypted
//! together as the cipher can process side by side.

use super::{BATCH, xor};

/// Encrypts sectors, several side by side, with a cipher that takes `parallel` blocks at a time.
pub(crate) fn encrypt<const N: usize>(
    parallel: usize,
    ivs: &[[u8; N]],
    sector: usize,
    data: &mut [u8],
    cipher: impl Fn(&mut [[u8; N]]),
) {
    let blocks_a_sector = sector / N;
    let lanes = parallel.clamp(LEAST_LANES, BATCH);
    let blocks = data.as_chunks_mut::<N>().0;
    for (ivs, group) in ivs.chunks(lanes).zip(blocks.chunks_mut(lanes * blocks_a_sector)) {
        let mut chain = [[0; N]; BATCH];
        chain[..ivs.len()].copy_from_slice(ivs);
        let chain = &mut chain[..ivs.len()];
        for index in 0..blocks_a_sector {
            for (lane, link) in chain.iter_mut().enumerate() {
                xor(link, &group[lane * blocks_a_sector + index]);
            }
            cipher(chain);
            for (lane, link) in chain.iter().enumerate() {
                group[lane * blocks_a_sector + index] = *link;
            }
        }
    }
}

/// Decrypts sectors, a batch of whole ones at a time.
pub(crate) fn decrypt<const N: usize>(
    ivs: &[[u8; N]],
    sector: usize,
    data: &mut [u8],
    cipher: impl Fn(&mut [[u8; N]]),
) {
    let blocks_a_sector = sector / N;
    let sectors = MOST_BYTES / sector;
    let mut ciphertext = [0; MOST_BYTES];
    for (ivs, batch) in ivs.chunks(sectors).zip(data.chunks_mut(sectors * sector)) {
        let ciphertext = &mut ciphertext[..batch.len()];
        ciphertext.copy_from_slice(batch);
        let (blocks, previous) = (batch.as_chunks_mut().0, ciphertext.as_chunks().0);
        cipher(blocks);
        let sectors = blocks.chunks_exact_mut(blocks_a_sector).zip(previous.chunks_exact(blocks_a_sector));
        for (iv, (blocks, previous)) in ivs.iter().zip(sectors) {
            xor(&mut blocks[0], iv);
            blocks[1..].iter_mut().zip(previous).for_each(|(block, mask)| xor(block, mask));
        }
    }
}

/// The fewest sectors encrypted side by side: their cache misses and latencies overlap.
const LEAST_LANES: usize = 8;

/// Bytes per cipher call when decrypting: the largest sector, or several small ones.
const MOST_BYTES: usize = 4096;
