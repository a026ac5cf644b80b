//! PCBC, propagating CBC, over whole sectors (Linux, crypto/pcbc.c; Kohl, "The Use of Encryption in
//! Kerberos", 1990): before encryption, each block is added to the sum of the preceding plaintext
//! and ciphertext blocks.
//!
//! Sectors are independent: as many are encrypted together as the cipher can process side by side.

use super::by_iv::Body;
use crate::block_cipher::BlockCipher;
use crate::chaining::xor;

/// The mode as an engine's body.
pub(crate) fn body<const N: usize>() -> Body<N> {
    Body { encrypt, decrypt }
}

/// Encrypts at most [`BATCH`](crate::engine::BATCH) sectors: the same block
/// of each in one call of the cipher.
fn encrypt<const N: usize>(
    cipher: &dyn BlockCipher<N>,
    chain: &mut [[u8; N]],
    sector: usize,
    data: &mut [u8],
) {
    let blocks_a_sector = sector / N;
    let blocks = data.as_chunks_mut().0;
    for index in 0..blocks_a_sector {
        let at = |lane: usize| lane * blocks_a_sector + index;
        for (lane, link) in chain.iter_mut().enumerate() {
            xor(link, &blocks[at(lane)]);
        }
        cipher.encrypt_blocks(chain);
        for (lane, link) in chain.iter_mut().enumerate() {
            let plaintext = core::mem::replace(&mut blocks[at(lane)], *link);
            xor(link, &plaintext);
        }
    }
}

/// Decrypts sectors, one per cipher call.
fn decrypt<const N: usize>(cipher: &dyn BlockCipher<N>, ivs: &mut [[u8; N]], sector: usize, data: &mut [u8]) {
    let mut ciphertext = [0; LARGEST_SECTOR];
    for (iv, sector) in ivs.iter().zip(data.chunks_exact_mut(sector)) {
        let ciphertext = &mut ciphertext[..sector.len()];
        ciphertext.copy_from_slice(sector);
        let blocks = sector.as_chunks_mut().0;
        cipher.decrypt_blocks(blocks);
        let mut link = *iv;
        for (block, ciphertext) in blocks.iter_mut().zip(ciphertext.as_chunks().0) {
            xor(block, &link);
            link = *block;
            xor(&mut link, ciphertext);
        }
    }
}

const LARGEST_SECTOR: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cpu;
    use crate::block::table::{Cipher, Make};
    use crate::block::vectors::hex;

    /// Linux, crypto/testmgr.h, fcrypt_pcbc_tv_template, the vector
    /// from Arla: the ciphertext of 48 bytes.
    #[test]
    fn kernel_vector() {
        let Make::Block64(make) = Cipher::find("fcrypt").unwrap().make else { panic!() };
        let cipher = make(&hex("f0e1d2c3b4a59687"), Cpu::detect());
        let iv: [u8; 8] = hex("fedcba9876543210").try_into().unwrap();
        let plaintext = *b"The quick brown fox jumps over the lazy dogs.\0\0\0";
        let mut data = plaintext;
        encrypt(&*cipher, &mut [iv], 48, &mut data);
        assert_eq!(
            data[..],
            hex(
                "00f00e1175e62382eeac98624451e484c359d8aa6460aef7d2d9137972a3450323b562d70cf527d1f8913cac442292ef"
            )
        );
        decrypt(&*cipher, &mut [iv], 48, &mut data);
        assert_eq!(data, plaintext);
    }
}
