//! Serpent's published vectors at every level of the CPU, and random
//! keys against another implementation.

use super::*;
use crate::block::bulk::tests::{every_level_equals_the_reference, known_answers};
use ::serpent::cipher::{Array, BlockCipherEncrypt, KeyInit};
use alloc::boxed::Box;

/// NESSIE's Serpent-{128,192,256}-128.verified.test-vectors: set 1,
/// vector 0; set 4, vector 0 (128 bits).
#[test]
fn nessie() {
    known_answers(
        |key, cpu| Box::new(Serpent::new(key, cpu)),
        &[
            ("80000000000000000000000000000000", "0", "264e5481eff42a4606abda06c0bfda3d"),
            ("800000000000000000000000000000000000000000000000", "0", "9e274ead9b737bb21efcfca548602689"),
            (
                "8000000000000000000000000000000000000000000000000000000000000000",
                "0",
                "a223aa1288463c0e2be38ebd825616c0",
            ),
            (
                "4000000000000000000000000000000000000000000000000000000000000000",
                "0",
                "eae1d405570174df7df2f9966d509159",
            ),
            (
                "000102030405060708090a0b0c0d0e0f",
                "00112233445566778899aabbccddeeff",
                "563e2cf8740a27c164804560391e9b27",
            ),
        ],
    );
}

/// The same files' "iterated 100 times" of set 1, vector 0 (256 bits).
#[test]
fn nessie_iterated() {
    let mut key = [0; 32];
    key[0] = 0x80;
    for cpu in Cpu::levels() {
        let serpent = Serpent::new(&key, cpu);
        let mut block = [[0; 16]];
        (0..100).for_each(|_| serpent.encrypt_blocks(&mut block));
        assert_eq!(block, [0x739e_0148_971f_d975_b585_eafd_bd65_9e2c_u128.to_be_bytes()]);
    }
}

/// Serpent's AES submission: ecb_vk.txt (I=1 of each key size; 128
/// bits: I=1 to 5) and ecb_vt.txt (I=1).
#[test]
fn aes_submission() {
    known_answers(
        |key, cpu| Box::new(Tnepres::new(key, cpu)),
        &[
            ("80000000000000000000000000000000", "0", "49afbfad9d5a34052cd8ffa5986bd2dd"),
            ("40000000000000000000000000000000", "0", "0c1e2e4e79bd02c2501096e79b5e73fa"),
            ("20000000000000000000000000000000", "0", "d769e71b31f4ae12e14cdc48238d2d7b"),
            ("10000000000000000000000000000000", "0", "bd0276d6be072cc00b3d426130bf355f"),
            ("08000000000000000000000000000000", "0", "c191e2121daea18ec30957bbce199a8c"),
            ("800000000000000000000000000000000000000000000000", "0", "e78e5402c7195568ac3678f7a3f60c66"),
            (
                "8000000000000000000000000000000000000000000000000000000000000000",
                "0",
                "abed96e766bf28cbc0ebd21a82ef0819",
            ),
            (
                "00000000000000000000000000000000",
                "80000000000000000000000000000000",
                "10b5ffb720b8cb9002a1142b0ba2e94a",
            ),
            (
                "0000000000000000000000000000000000000000000000000000000000000000",
                "80000000000000000000000000000000",
                "da5a7992b1b4ae6f8c004bc8a7de5520",
            ),
        ],
    );
}

#[test]
fn every_level_equals_rustcrypto() {
    every_level_equals_the_reference(
        &[16, 24, 32],
        |key, cpu| Box::new(Serpent::new(key, cpu)),
        |key, block| {
            let reference = ::serpent::Serpent::new_from_slice(key).unwrap();
            let mut block = Array(block);
            reference.encrypt_block(&mut block);
            block.0
        },
    );
}
