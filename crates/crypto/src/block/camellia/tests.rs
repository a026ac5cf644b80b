//! Camellia's published vectors at every level of the CPU, and random
//! keys against another implementation.

use super::*;
use crate::block::bulk::tests::{every_level_equals_the_reference, known_answers};
use ::camellia::cipher::{Array, BlockCipherEncrypt, KeyInit};
use ::camellia::{Camellia128, Camellia192, Camellia256};
use alloc::boxed::Box;

/// RFC 3713, appendix A.
#[test]
fn rfc_3713() {
    let plaintext = "0123456789abcdeffedcba9876543210";
    known_answers(
        |key, cpu| Box::new(Camellia::new(key, cpu)),
        &[
            ("0123456789abcdeffedcba9876543210", plaintext, "67673138549669730857065648eabe43"),
            (
                "0123456789abcdeffedcba98765432100011223344556677",
                plaintext,
                "b4993401b3e996f84ee5cee7d79b09b9",
            ),
            (
                "0123456789abcdeffedcba987654321000112233445566778899aabbccddeeff",
                plaintext,
                "9acc237dff16d76c20ef7c919e3a7509",
            ),
        ],
    );
}

/// NTT's t_camellia.txt: 128 bits, K No.001, P No.001 and 002. NESSIE's sets 1 and 2, vector 0 (128
/// bits).
#[test]
fn ntt_and_nessie() {
    known_answers(
        |key, cpu| Box::new(Camellia::new(key, cpu)),
        &[
            (
                "00000000000000000000000000000000",
                "80000000000000000000000000000000",
                "07923a39eb0a817d1c4d87bdb82d1f1c",
            ),
            (
                "00000000000000000000000000000000",
                "40000000000000000000000000000000",
                "48cd6419809672d2349260d89a08d3d3",
            ),
            ("80000000000000000000000000000000", "0", "6c227f749319a3aa7da235a9bba05a2c"),
        ],
    );
}

#[test]
fn every_level_equals_rustcrypto() {
    every_level_equals_the_reference(
        &[16, 24, 32],
        |key, cpu| Box::new(Camellia::new(key, cpu)),
        |key, block| {
            let mut block = Array(block);
            match key.len() {
                16 => Camellia128::new_from_slice(key).unwrap().encrypt_block(&mut block),
                24 => Camellia192::new_from_slice(key).unwrap().encrypt_block(&mut block),
                _ => Camellia256::new_from_slice(key).unwrap().encrypt_block(&mut block),
            }
            block.0
        },
    );
}
