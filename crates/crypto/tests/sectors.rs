//! Sector ciphers against published vectors and against modes written a second time over single
//! AES blocks, at every level of this machine's CPU.

use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use keyway_crypto::{CipherSpec, Cpu, Hash, Secret, SectorCipher, SectorSize};
use proptest::prelude::*;

type Block = [u8; 16];

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn cipher(spec: &str, key: &[u8], sector_size: usize, cpu: Cpu) -> SectorCipher {
    let size = SectorSize::new(sector_size as u32).unwrap();
    SectorCipher::new(&CipherSpec::parse(spec).unwrap(), &Secret::copy_from(key), size, cpu).unwrap()
}

/// IEEE 1619-2018, annex B, XTS-AES-128, vectors 4 to 9: one 512-byte unit after the
/// other, each unit's plaintext being the ciphertext before it, for data unit numbers 0
/// to 0xff. First and last blocks of the published units.
#[test]
fn ieee_1619_xts_aes_128() {
    let key = bytes("2718281828459045235360287471352631415926535897932384626433832795");
    let published = [
        (0, "27a7479befa1d476489f308cd4cfa6e2", "0a282df920147beabe421ee5319d0568"),
        (1, "264d3ca8512194fec312c8c9891f279f", "fd2a89ccb45e001a03a867b187f225dd"),
        (2, "fa762a3680b76007928ed4a4f49a9456", "4bcf518138dc3a25c5e236171a2d01d6"),
        (0xfd, "d55f684f81f4426e9fde92a5ff02df2a", "1d1c0a6783e011fc536d63d053260637"),
        (0xfe, "72efc1ebfe1ee25975a6eb3aa8589dda", "883accdbe1104eef0cfdb54e12fb230a"),
        (0xff, "3260ae8dad1f4a32c5cafe3ab0eb9554", "c8a8679ccb84c26555440ec7f10445cd"),
    ];
    for cpu in Cpu::levels() {
        let xts = cipher("aes-xts-plain64", &key, 512, cpu);
        let mut unit: Vec<u8> = (0..512).map(|index| index as u8).collect();
        for number in 0..=0xff {
            xts.encrypt(number, &mut unit);
            if let Some((_, first, last)) = published.iter().find(|vector| vector.0 == number) {
                assert_eq!(unit[..16], bytes(first), "{cpu}, data unit {number:#x}");
                assert_eq!(unit[496..], bytes(last), "{cpu}, data unit {number:#x}");
            }
        }
        (0..=0xff).rev().for_each(|number| xts.decrypt(number, &mut unit));
        assert!(unit.iter().enumerate().all(|(index, byte)| *byte == index as u8));
    }
}

/// IEEE 1619-2018, annex B, XTS-AES-256, vectors 10 to 14: the first block of each ciphertext.
#[test]
fn ieee_1619_xts_aes_256() {
    let key = bytes(
        "27182818284590452353602874713526624977572470936999595749669676273141592653589793238462643383279502884197169399375105820974944592",
    );
    let published = [
        (0xff, "1c3b3a102f770386e4836c99e370cf9b"),
        (0xffff, "77a31251618a15e6b92d1d66dffe7b50"),
        (0xff_ffff, "e387aaa58ba483afa7e8eb469778317e"),
        (0xffff_ffff, "bf53d2dade78e822a4d949a9bc6766b0"),
        (0xff_ffff_ffff, "64497e5a831e4a932c09be3e5393376d"),
    ];
    for cpu in Cpu::levels() {
        let xts = cipher("aes-xts-plain64", &key, 512, cpu);
        for (number, first) in published {
            let mut unit: Vec<u8> = (0..512).map(|index| index as u8).collect();
            xts.encrypt(number, &mut unit);
            assert_eq!(unit[..16], bytes(first), "{cpu}, data unit {number:#x}");
            xts.decrypt(number, &mut unit);
            assert!(unit.iter().enumerate().all(|(index, byte)| *byte == index as u8));
        }
    }
}

/// NIST SP 800-38A, appendices F.1 (ECB) and F.2 (CBC): four blocks under each key size. CBC's
/// published IV is entered by adding it to the first block.
#[test]
fn nist_sp_800_38a() {
    let plaintext = bytes(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
    );
    let keys = [
        "2b7e151628aed2a6abf7158809cf4f3c",
        "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
    ];
    // The first and the fourth block of ECB, then of CBC.
    let published = [
        [
            "3ad77bb40d7a3660a89ecaf32466ef97",
            "7b0c785e27e8ad3f8223207104725dd4",
            "7649abac8119b246cee98e9b12e9197d",
            "3ff1caa1681fac09120eca307586e1a7",
        ],
        [
            "bd334f1d6e45f25ff712a214571fa5cc",
            "9a4b41ba738d6c72fb16691603c18e0e",
            "4f021db243bc633d7178183a9fa071e8",
            "08b0e27988598881d920a9e64f5615cd",
        ],
        [
            "f3eed1bdb5d2a03c064b5a7e3db181f8",
            "23304b7a39f9f3ff067d8d8f9e24ecc7",
            "f58c4c04d6e5f1ba779eabfb5f7bfbd6",
            "b2eb05e2c39be9fcda6c19078c6a9d1b",
        ],
    ];
    for cpu in Cpu::levels() {
        for (key, [ecb_first, ecb_fourth, cbc_first, cbc_fourth]) in keys.iter().zip(published) {
            let mut sector = vec![0; 512];
            sector[..64].copy_from_slice(&plaintext);
            cipher("aes-ecb", &bytes(key), 512, cpu).encrypt(0, &mut sector);
            assert_eq!(sector[..16], bytes(ecb_first), "{cpu}");
            assert_eq!(sector[48..64], bytes(ecb_fourth), "{cpu}");

            sector[..64].copy_from_slice(&plaintext);
            sector[..16].iter_mut().enumerate().for_each(|(index, byte)| *byte ^= index as u8);
            cipher("aes-cbc-null", &bytes(key), 512, cpu).encrypt(0, &mut sector);
            assert_eq!(sector[..16], bytes(cbc_first), "{cpu}");
            assert_eq!(sector[48..64], bytes(cbc_fourth), "{cpu}");
        }
    }
}

/// One AES block at a time, from the `aes` crate.
enum Single {
    Aes128(Aes128),
    Aes192(Aes192),
    Aes256(Aes256),
}

impl Single {
    fn new(key: &[u8]) -> Self {
        match key.len() {
            16 => Self::Aes128(Aes128::new_from_slice(key).unwrap()),
            24 => Self::Aes192(Aes192::new_from_slice(key).unwrap()),
            _ => Self::Aes256(Aes256::new_from_slice(key).unwrap()),
        }
    }

    fn encrypt(&self, block: Block) -> Block {
        let mut block = Array::from(block);
        match self {
            Self::Aes128(aes) => aes.encrypt_block(&mut block),
            Self::Aes192(aes) => aes.encrypt_block(&mut block),
            Self::Aes256(aes) => aes.encrypt_block(&mut block),
        }
        block.into()
    }

    fn decrypt(&self, block: Block) -> Block {
        let mut block = Array::from(block);
        match self {
            Self::Aes128(aes) => aes.decrypt_block(&mut block),
            Self::Aes192(aes) => aes.decrypt_block(&mut block),
            Self::Aes256(aes) => aes.decrypt_block(&mut block),
        }
        block.into()
    }
}

fn xor(a: Block, b: Block) -> Block {
    core::array::from_fn(|index| a[index] ^ b[index])
}

/// The IV of dm-crypt's definition.
fn iv(name: &str, number: u64, key: &[u8]) -> Block {
    let mut iv = [0; 16];
    match name {
        "null" => {}
        "plain" => iv[..4].copy_from_slice(&(number as u32).to_le_bytes()),
        "plain64" => iv[..8].copy_from_slice(&number.to_le_bytes()),
        "plain64be" => iv[8..].copy_from_slice(&number.to_be_bytes()),
        "benbi" => iv[8..].copy_from_slice(&(number << 5).wrapping_add(1).to_be_bytes()),
        "essiv:sha256" => {
            iv[..8].copy_from_slice(&number.to_le_bytes());
            return Single::new(&Hash::Sha256.digest(&[key])).encrypt(iv);
        }
        other => panic!("{other}"),
    }
    iv
}

/// Encrypts one sector by the book: SP 800-38A and IEEE 1619, block by block.
fn encrypt_sector(mode: &str, key: &[u8], iv: Block, sector: &mut [u8]) {
    let (data_key, tweak_key) = key.split_at(if mode == "xts" { key.len() / 2 } else { key.len() });
    let data = Single::new(data_key);
    let mut chain = if mode == "xts" { Single::new(tweak_key).encrypt(iv) } else { iv };
    for block in sector.as_chunks_mut::<16>().0 {
        match mode {
            "ecb" => *block = data.encrypt(*block),
            "cbc" => {
                *block = data.encrypt(xor(*block, chain));
                chain = *block;
            }
            _ => {
                *block = xor(data.encrypt(xor(*block, chain)), chain);
                chain = double(chain);
            }
        }
        if mode != "xts" {
            assert_eq!(data.encrypt(data.decrypt(*block)), *block);
        }
    }
}

/// IEEE 1619-2018, 5.2: shift left by a bit through the bytes, fold the carry with 0x87.
fn double(block: Block) -> Block {
    let mut doubled = [0; 16];
    let mut carry = 0;
    for (out, byte) in doubled.iter_mut().zip(block) {
        *out = (byte << 1) | carry;
        carry = byte >> 7;
    }
    doubled[0] ^= carry * 0x87;
    doubled
}

/// IV numbers anywhere, with those next to the edges of 32 and 64 bits more often.
fn iv_number() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        (0u64..400).prop_map(|near| (1 << 32) - 200 + near),
        (0u64..400).prop_map(|near| u64::MAX - near),
        0u64..400,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Every level of the CPU gives the bytes of the book, on
    /// unaligned runs of any length, and takes them back.
    #[test]
    fn every_level_follows_the_definition(
        (mode, key_lens) in prop_oneof![
            3 => Just(("xts", [32, 48, 64])),
            2 => Just(("cbc", [16, 24, 32])),
            1 => Just(("ecb", [16, 24, 32])),
        ],
        iv_name in prop::sample::select(vec!["null", "plain", "plain64", "plain64be", "benbi", "essiv:sha256"]),
        key_len in 0usize..3,
        key in any::<[u8; 64]>(),
        sector_size in prop::sample::select(vec![512usize, 1024, 2048, 4096]),
        sectors in 1usize..=40,
        first in iv_number(),
        offset in 0usize..64,
        seed in any::<u64>(),
    ) {
        let key = &key[..key_lens[key_len]];
        let spec = if mode == "ecb" { "aes-ecb".to_owned() } else { format!("aes-{mode}-{iv_name}") };
        let mut state = seed;
        let plaintext: Vec<u8> = (0..offset + sectors * sector_size).map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        }).collect();

        let mut expected = plaintext.clone();
        for (index, sector) in expected[offset..].chunks_exact_mut(sector_size).enumerate() {
            let number = first.wrapping_add((index * sector_size / 512) as u64);
            encrypt_sector(mode, key, iv(iv_name, number, key), sector);
        }
        for cpu in Cpu::levels() {
            let cipher = cipher(&spec, key, sector_size, cpu);
            let mut data = plaintext.clone();
            cipher.encrypt(first, &mut data[offset..]);
            prop_assert!(data == expected, "{} encrypts differently on {}", spec, cpu);
            cipher.decrypt(first, &mut data[offset..]);
            prop_assert!(data == plaintext, "{} decrypts differently on {}", spec, cpu);
        }
    }
}

#[test]
#[should_panic(expected = "a run of whole sectors of 512 bytes")]
fn half_a_sector_panics() {
    cipher("aes-xts-plain64", &[1; 64], 512, Cpu::detect()).encrypt(0, &mut [0; 768]);
}

#[test]
fn an_empty_run_is_nothing() {
    for spec in ["aes-xts-plain64", "aes-cbc-plain64", "aes-ecb"] {
        for cpu in Cpu::levels() {
            cipher(spec, &[1; 32], 512, cpu).encrypt(3, &mut []);
            cipher(spec, &[1; 32], 512, cpu).decrypt(3, &mut []);
        }
    }
}

#[test]
fn keys_of_the_wrong_size_are_refused() {
    let spec = CipherSpec::parse("aes-xts-plain64").unwrap();
    for len in [0, 16, 24, 40, 63, 65, 128] {
        let refused = SectorCipher::new(&spec, &Secret::zeroed(len), SectorSize::S512, Cpu::detect());
        assert!(refused.is_err(), "{len} bytes");
    }
    assert!(SectorSize::new(768).is_err());
    assert!(SectorSize::new(8192).is_err());
}

#[test]
fn a_cipher_is_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&cipher("aes-xts-plain64", &[1; 64], 512, Cpu::detect()));
}
