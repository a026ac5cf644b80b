//! OFB (NIST SP 800-38A, section 6.4) over whole sectors: the IV is encrypted over and over, and
//! the results are the key stream (Linux up to 6.8, crypto/ofb.c).
//!
//! The stream is the CBC encryption of zeros, so the ciphers' CBC code computes it, sectors side by
//! side.

use super::by_iv::Body;
use crate::block_cipher::BlockCipher;

/// The mode as an engine's body.
pub(crate) fn body<const N: usize>() -> Body<N> {
    Body { encrypt: crypt, decrypt: crypt }
}

/// Adds the key streams of sectors.
fn crypt<const N: usize>(cipher: &dyn BlockCipher<N>, ivs: &mut [[u8; N]], sector: usize, data: &mut [u8]) {
    let sectors = MOST_BYTES / sector;
    let mut stream = [0; MOST_BYTES];
    for (ivs, batch) in ivs.chunks(sectors).zip(data.chunks_mut(sectors * sector)) {
        let stream = &mut stream[..batch.len()];
        stream.fill(0);
        cipher.cbc_encrypt(ivs, sector, stream);
        batch.iter_mut().zip(stream).for_each(|(byte, mask)| *byte ^= *mask);
    }
}

/// Bytes of key stream per cipher call: eight of the largest sectors.
const MOST_BYTES: usize = 8 * 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cpu;
    use crate::block::aes::Aes;
    use crate::block::vectors::hex;

    /// NIST SP 800-38A, F.4.1 and F.4.5: the second block, from the CBC encryption of zeros.
    #[test]
    fn nist_sp_800_38a() {
        for (key, second) in [
            ("2b7e151628aed2a6abf7158809cf4f3c", "7789508d16918f03f53c52dac54ed825"),
            (
                "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
                "4febdc6740d20b3ac88f6ad82a4fb08d",
            ),
        ] {
            let aes = Aes::new(&hex(key), Cpu::detect());
            let iv: [u8; 16] = hex("000102030405060708090a0b0c0d0e0f").try_into().unwrap();
            let plaintext = hex("ae2d8a571e03ac9c9eb76fac45af8e51");
            let mut stream = [0; 512];
            aes.cbc_encrypt(&[iv], 512, &mut stream);
            let ciphertext: Vec<u8> = plaintext.iter().zip(&stream[16..]).map(|(a, b)| a ^ b).collect();
            assert_eq!(ciphertext, hex(second));
        }
    }
}
