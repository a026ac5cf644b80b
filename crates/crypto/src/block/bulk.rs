//! A cipher of 128-bit blocks as a key schedule and the code chosen for it, once, from a
//! [`crate::Cpu`].
//!
//! Such code takes many blocks side by side and has no modes of its
//! own: [`crate::mode`] hands it long runs.

use crate::block_cipher::{Block, BlockCipher, Cipher128};
use crate::chaining::xts;
use crate::secret::{Plain, SecretBox};

/// A key expanded to a schedule `S`, with one instruction set's functions.
pub(crate) struct Bulk<S: Plain> {
    pub(super) schedule: SecretBox<S>,
    pub(super) code: &'static Code<S>,
}

/// One instruction set's functions over a schedule `S`, as a table.
pub(crate) struct Code<S> {
    /// The name shown in tables: "avx512", "avx2", "portable".
    pub(super) name: &'static str,
    /// Blocks that the functions work on side by side.
    pub(super) parallel: usize,
    pub(super) encrypt: fn(&S, &mut [Block]),
    pub(super) decrypt: fn(&S, &mut [Block]),
    /// The same instruction set's masks for XTS.
    pub(super) masks: &'static xts::Masks,
}

impl<S: Plain> BlockCipher for Bulk<S> {
    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        (self.code.encrypt)(&self.schedule, blocks);
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        (self.code.decrypt)(&self.schedule, blocks);
    }

    fn parallel(&self) -> usize {
        self.code.parallel
    }

    fn code(&self) -> &'static str {
        self.code.name
    }
}

impl<S: Plain> Cipher128 for Bulk<S> {
    fn xts_encrypt(&self, tweaks: &[Block], sector: usize, data: &mut [u8]) {
        xts::masked(self.code.masks, tweaks, sector, data, |blocks| self.encrypt_blocks(blocks));
    }

    fn xts_decrypt(&self, tweaks: &[Block], sector: usize, data: &mut [u8]) {
        xts::masked(self.code.masks, tweaks, sector, data, |blocks| self.decrypt_blocks(blocks));
    }
}

#[cfg(test)]
pub(super) mod tests {
    //! Tests shared by all ciphers of this kind, run at every CPU level.

    use super::*;
    use crate::Cpu;
    use crate::block_cipher::Make128;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;

    /// Vectors of key, plaintext and ciphertext in hexadecimal, at every position of a long run.
    pub(crate) fn known_answers(make: Make128, vectors: &[(&str, &str, &str)]) {
        let block = |hex| u128::from_str_radix(hex, 16).unwrap().to_be_bytes();
        for (key, plaintext, ciphertext) in vectors {
            let key: Vec<u8> = (0..key.len() / 2)
                .map(|index| u8::from_str_radix(&key[2 * index..][..2], 16).unwrap())
                .collect();
            for cpu in Cpu::levels() {
                let cipher = make(&key, cpu);
                let mut blocks = [block(plaintext); 77];
                cipher.encrypt_blocks(&mut blocks);
                assert_eq!(blocks, [block(ciphertext); 77], "{} {key:02x?}", cipher.code());
                cipher.decrypt_blocks(&mut blocks);
                assert_eq!(blocks, [block(plaintext); 77], "{} {key:02x?}", cipher.code());
            }
        }
    }

    /// Runs of 1 to 200 random blocks under random keys of the given sizes (in bytes).
    pub(crate) fn every_level_equals_the_reference(
        key_sizes: &'static [usize],
        make: Make128,
        encrypt_block: fn(&[u8], Block) -> Block,
    ) {
        let inputs = (
            proptest::sample::select(key_sizes).prop_flat_map(|size| vec(any::<u8>(), size)),
            vec(any::<Block>(), 1..=200),
        );
        TestRunner::default()
            .run(&inputs, |(key, plaintext)| {
                let ciphertext: Vec<Block> =
                    plaintext.iter().map(|block| encrypt_block(&key, *block)).collect();
                for cpu in Cpu::levels() {
                    let cipher = make(&key, cpu);
                    let mut blocks = plaintext.clone();
                    cipher.encrypt_blocks(&mut blocks);
                    prop_assert!(blocks == ciphertext, "{} encrypts", cipher.code());
                    cipher.decrypt_blocks(&mut blocks);
                    prop_assert!(blocks == plaintext, "{} decrypts", cipher.code());
                }
                Ok(())
            })
            .unwrap();
    }
}
