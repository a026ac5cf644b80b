//! Twofish's own vectors at every level of the CPU, and random keys against another implementation.

use super::*;
use crate::block::bulk::tests::{every_level_equals_the_reference, known_answers};
use crate::block_cipher::BlockCipher;
use ::twofish::cipher::{Array, BlockCipherEncrypt, KeyInit};
use alloc::boxed::Box;

/// Twofish's AES submission, ecb_ival.txt: "full encryption" of each key size.
#[test]
fn intermediate_values() {
    known_answers(
        |key, cpu| Box::new(Twofish::new(key, cpu)),
        &[
            ("00000000000000000000000000000000", "0", "9f589f5cf6122c32b6bfec2f2ae8c35a"),
            ("0123456789abcdeffedcba98765432100011223344556677", "0", "cfd1d2e5a9be9cdf501f13b892bd2248"),
            (
                "0123456789abcdeffedcba987654321000112233445566778899aabbccddeeff",
                "0",
                "37527be0052334b89f0cfccae87cfa20",
            ),
        ],
    );
}

/// Twofish's AES submission, ecb_tbl.txt: each plaintext is the previous ciphertext, and each key
/// starts with the previous plaintext; this is the 49th ciphertext of each key size.
#[test]
fn tables() {
    for (size, last) in [
        (16, 0x5d9d_4eef_fa91_5157_5524_f115_815a_12e0),
        (24, 0xe754_4921_2bee_f9f4_a390_bd86_0a64_0941),
        (32, 0x37fe_26ff_1cf6_6175_f5dd_f4c3_3b97_a205_u128),
    ] {
        for cpu in Cpu::levels() {
            let mut key = vec![0; size];
            let (mut plaintext, mut block) = ([0; 16], [[0; 16]]);
            for _ in 0..49 {
                block = [plaintext];
                Twofish::new(&key, cpu).encrypt_blocks(&mut block);
                key.copy_within(..size - 16, 16);
                key[..16].copy_from_slice(&plaintext);
                plaintext = block[0];
            }
            assert_eq!(block, [last.to_be_bytes()], "{cpu}");
        }
    }
}

#[test]
fn every_level_equals_rustcrypto() {
    every_level_equals_the_reference(
        &[16, 24, 32],
        |key, cpu| Box::new(Twofish::new(key, cpu)),
        |key, block| {
            let reference = ::twofish::Twofish::new_from_slice(key).unwrap();
            let mut block = Array(block);
            reference.encrypt_block(&mut block);
            block.0
        },
    );
}
