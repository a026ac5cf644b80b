//! How this folder's tests check a cipher against a published vector.

use crate::block_cipher::BlockCipher;

/// The bytes of a hexadecimal text.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// One block both ways, alone and among enough equal ones to fill every vector width.
pub(crate) fn check<const N: usize>(
    cipher: &(impl BlockCipher<N> + ?Sized),
    plaintext: &[u8],
    ciphertext: &[u8],
) {
    let [plaintext, ciphertext]: [[u8; N]; 2] =
        [plaintext, ciphertext].map(|block| block.try_into().unwrap());
    for count in [1, 37] {
        let mut blocks = vec![plaintext; count];
        cipher.encrypt_blocks(&mut blocks);
        assert!(blocks.iter().all(|block| *block == ciphertext), "{blocks:02x?}, not {ciphertext:02x?}");
        cipher.decrypt_blocks(&mut blocks);
        assert!(blocks.iter().all(|block| *block == plaintext), "{blocks:02x?}, not {plaintext:02x?}");
    }
}
