//! CFB with segments of a whole block (NIST SP 800-38A, section 6.3) over whole sectors: C_j = P_j
//! ^ E(C_{j-1}), starting from the IV (Linux up to 6.8, crypto/cfb.c).
//!
//! Sectors are independent: as many are encrypted together as the cipher can process side by side.

use super::by_iv::Body;
use crate::block_cipher::BlockCipher;
use crate::chaining::xor;

/// The mode as an engine's body.
pub(crate) fn body<const N: usize>() -> Body<N> {
    Body { encrypt, decrypt }
}

/// Encrypts at most [`BATCH`](crate::engine::BATCH) sectors: the same block of each in one call of the
/// cipher.
fn encrypt<const N: usize>(
    cipher: &dyn BlockCipher<N>,
    chain: &mut [[u8; N]],
    sector: usize,
    data: &mut [u8],
) {
    let blocks_a_sector = sector / N;
    let blocks = data.as_chunks_mut().0;
    for index in 0..blocks_a_sector {
        cipher.encrypt_blocks(chain);
        for (lane, link) in chain.iter_mut().enumerate() {
            let block = &mut blocks[lane * blocks_a_sector + index];
            xor(block, link);
            *link = *block;
        }
    }
}

/// Decrypts sectors, whole sectors together.
fn decrypt<const N: usize>(cipher: &dyn BlockCipher<N>, ivs: &mut [[u8; N]], sector: usize, data: &mut [u8]) {
    let blocks_a_sector = sector / N;
    let sectors = MOST_BYTES / sector;
    let mut masks = [0; MOST_BYTES];
    for (ivs, batch) in ivs.chunks(sectors).zip(data.chunks_mut(sectors * sector)) {
        let blocks = batch.as_chunks_mut().0;
        let masks = masks[..blocks.len() * N].as_chunks_mut().0;
        masks[1..].copy_from_slice(&blocks[..blocks.len() - 1]);
        masks.iter_mut().step_by(blocks_a_sector).zip(ivs).for_each(|(mask, iv)| *mask = *iv);
        cipher.encrypt_blocks(masks);
        blocks.iter_mut().zip(masks).for_each(|(block, mask)| xor(block, mask));
    }
}

/// Bytes per cipher call when decrypting: the largest sector, or several small ones.
const MOST_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cpu;
    use crate::block::aes::Aes;
    use crate::block::vectors::hex;

    /// NIST SP 800-38A, F.3.13 (AES-128, segments of 128 bits): four blocks.
    #[test]
    fn nist_sp_800_38a() {
        let aes = Aes::new(&hex("2b7e151628aed2a6abf7158809cf4f3c"), Cpu::detect());
        let iv: [u8; 16] = hex("000102030405060708090a0b0c0d0e0f").try_into().unwrap();
        let plaintext = hex(
            "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
        );
        let mut data = plaintext.clone();
        encrypt(&aes, &mut [iv], 64, &mut data);
        assert_eq!(data[16..32], hex("c8a64537a0b3a93fcde3cdad9f1ce58b"));
        assert_eq!(data[48..], hex("c04b05357c5d1c0eeac4c66f9ff7f2e6"));
        decrypt(&aes, &mut [iv], 64, &mut data);
        assert_eq!(data, plaintext);
    }
}
