//! HCTR2 against published vectors, and every level of the CPU against a second implementation,
//! written from the paper bit by bit.

use super::choose;
use super::polyval::Powers;
use super::{Hctr2, STRIDE};
use crate::block::aes::Aes;
use crate::block_cipher::{Block, BlockCipher, Cipher128};
use crate::mode::wide::Wide;
use crate::{CipherSpec, Cpu, Secret, SectorCipher, SectorSize};
use alloc::boxed::Box;
use alloc::vec::Vec;
use proptest::prelude::*;

fn aes(key: &[u8], cpu: Cpu) -> Box<dyn Cipher128> {
    Box::new(Aes::new(key, cpu))
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// RFC 8452, appendix A: the product of dot, and POLYVAL of two blocks.
#[test]
fn rfc_8452_appendix_a() {
    let block = |hex: &str| Block::try_from(bytes(hex)).unwrap();
    let key = block("25629347589242761d31f826ba4b757b");
    let (x1, x2) = (block("4f4f95668c83dfb6401762bb2d01a262"), block("d1a24ddd2721d006bbe45f20d3c9f362"));
    for cpu in Cpu::levels() {
        let code = choose(cpu);
        let mut powers = Powers([[0; 16]; STRIDE]);
        (code.raise)(key, &mut powers);
        let mut state = [x1];
        (code.dot)(&powers, &mut state);
        super::xor(&mut state[0], &x2);
        (code.dot)(&powers, &mut state);
        assert_eq!(state[0], block("f7a3b47b846119fae5b7866cf5e5b77e"), "{cpu}");
    }
}

/// google/hctr2, test_vectors/ours/HCTR2/HCTR2_AES256.json: 16 and 17 bytes without a tweak, 512
/// bytes under a tweak of 47 bytes (the file's last). They are not sectors of dm-crypt: they verify
/// the second implementation.
#[test]
fn the_authors_vectors() {
    for (key, tweak, plaintext, ciphertext) in [
        (
            "7fc7152ae1f5fda4176769aec92bba82a314e7cfadfd8540da7b7d24bdf17d07",
            "",
            "9be382c65ac19fad4659b80bacc857a0",
            "596a76ff906fbe9b792767778fed2361",
        ),
        (
            "93ea527d3af227fc39a45851f4e0fda3d790112f8bd7ecaf583d93980800decd",
            "",
            "84ece276218ef95b3909227107a9d89192",
            "8e6816ce7b66973882fcb55200bb784fdb",
        ),
        (
            "9f53d45b5c8c4cc1405875f87363eb3555458c85a2dd309c370234cee53a25af",
            "1f75d3e5077e3a2ff8b6628964b67808687df5cb62b06d8c5c5456bfd93d62604be937dd6b91621eae272387d3aeac",
            PLAINTEXT,
            CIPHERTEXT,
        ),
    ] {
        let mut data = bytes(plaintext);
        second::encrypt(&bytes(key), &bytes(tweak), &mut data);
        assert_eq!(data, bytes(ciphertext));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Runs of any length, at any alignment, at every level: must match the second implementation,
    /// both ways.
    #[test]
    fn every_level_follows_the_paper(
        key in any::<[u8; 32]>(),
        key_len in prop::sample::select(vec![16, 24, 32]),
        sector in prop::sample::select(vec![512, 1024, 2048, 4096]),
        sectors in 1usize..=70,
        offset in 0usize..64,
        seed in any::<u64>(),
    ) {
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        };
        let key = &key[..key_len];
        let ivs: Vec<[u8; 32]> = (0..sectors).map(|_| [0; 32].map(|_: u8| random())).collect();
        let plaintext: Vec<u8> = (0..offset + sectors * sector).map(|_| random()).collect();
        let mut expected = plaintext.clone();
        for (iv, sector) in ivs.iter().zip(expected[offset..].chunks_exact_mut(sector)) {
            second::encrypt(key, iv, sector);
        }
        for cpu in Cpu::levels() {
            let hctr2 = Hctr2::new(key, aes, cpu);
            let mut data = plaintext.clone();
            hctr2.encrypt(&ivs, sector, &mut data[offset..]);
            prop_assert!(data == expected, "encrypts differently on {}", cpu);
            hctr2.decrypt(&ivs, sector, &mut data[offset..]);
            prop_assert!(data == plaintext, "decrypts differently on {}", cpu);
        }
    }
}

/// A cipher without dedicated XCTR code falls back to block calls.
#[test]
fn any_cipher_of_128_bit_blocks() {
    let key = Secret::copy_from(&[7; 32]);
    let spec = CipherSpec::parse("serpent-hctr2-plain64").unwrap();
    for cpu in Cpu::levels() {
        let cipher = SectorCipher::new(&spec, &key, SectorSize::S4096, cpu).unwrap();
        let portable = SectorCipher::new(&spec, &key, SectorSize::S4096, Cpu::portable()).unwrap();
        let mut data = [0x17; 2 * 4096];
        cipher.encrypt(3, &mut data);
        assert_ne!(data[..4096], data[4096..]);
        portable.decrypt(3, &mut data);
        assert_eq!(data, [0x17; 2 * 4096], "{cpu}");
    }
}

/// A specification's IVs are 32 bytes: the number, then zeros.
#[test]
fn a_specification_chooses_ivs() {
    let spec = CipherSpec::parse("aes-hctr2-plain64").unwrap();
    let cipher =
        SectorCipher::new(&spec, &Secret::copy_from(&[7; 24]), SectorSize::S512, Cpu::detect()).unwrap();
    let mut data = [0x17; 3 * 512];
    let mut expected = data;
    for (index, sector) in expected.chunks_exact_mut(512).enumerate() {
        let mut iv = [0; 32];
        iv[..8].copy_from_slice(&((1 << 40) + index as u64).to_le_bytes());
        second::encrypt(&[7; 24], &iv, sector);
    }
    cipher.encrypt(1 << 40, &mut data);
    assert_eq!(data, expected);
}

#[test]
fn an_empty_run_is_nothing() {
    Hctr2::new(&[1; 32], aes, Cpu::detect()).encrypt(&[], 512, &mut []);
}

/// HCTR2 straight from the paper: one message of at least one block, one bit at a time.
mod second {
    use super::*;

    pub(super) fn encrypt(key: &[u8], tweak: &[u8], message: &mut [u8]) {
        let cipher = Aes::new(key, Cpu::portable());
        let one = |number: u128| {
            let mut blocks = [number.to_le_bytes()];
            cipher.encrypt_blocks(&mut blocks);
            u128::from_le_bytes(blocks[0])
        };
        let (hash_key, counter_key) = (one(0), one(1));
        let (first, rest) = message.split_first_chunk_mut().unwrap();
        let middle = u128::from_le_bytes(*first) ^ hash(hash_key, tweak, rest);
        let encrypted = one(middle);
        for (index, block) in (1..).zip(rest.chunks_mut(16)) {
            let stream = one(middle ^ encrypted ^ counter_key ^ index).to_le_bytes();
            block.iter_mut().zip(stream).for_each(|(byte, stream)| *byte ^= stream);
        }
        *first = (encrypted ^ hash(hash_key, tweak, rest)).to_le_bytes();
    }

    /// The tweak is padded with zeros, the message with a one and zeros if it is not whole blocks.
    fn hash(key: u128, tweak: &[u8], message: &[u8]) -> u128 {
        let whole = message.len().is_multiple_of(16);
        let length = 2 * 8 * tweak.len() as u128 + if whole { 2 } else { 3 };
        let mut blocks = [length.to_le_bytes().as_slice(), tweak].concat();
        blocks.resize(blocks.len().next_multiple_of(16), 0);
        blocks.extend(message);
        if !whole {
            blocks.push(1);
            blocks.resize(blocks.len().next_multiple_of(16), 0);
        }
        blocks.as_chunks().0.iter().fold(0, |state, block| dot(state ^ u128::from_le_bytes(*block), key))
    }

    /// RFC 8452, section 3: the product times x^-128, one division by
    /// x for each of 128 coefficients.
    fn dot(a: u128, b: u128) -> u128 {
        (0..128).fold(0, |sum, bit| {
            let sum = if a >> bit & 1 == 1 { sum ^ b } else { sum };
            // An odd polynomial is divisible by x once the modulus is added; this constant is the
            // modulus divided by x.
            (sum >> 1) ^ if sum & 1 == 1 { 1 << 127 | 1 << 126 | 1 << 125 | 1 << 120 } else { 0 }
        })
    }
}

const PLAINTEXT: &str = "\
    c3e0c5ac768c0068f07aa57494b2766c9fbe5659eb0f79246632da5614e92ac850b472b337df04a6486e92367b6aafcbc5b153b6108c8f68\
    4676cdd6aa36710ca2475ebe3693f925b1b9a84aadb679fb69fb866ceb95dcf443e5572b83297b825297656545d96eb82c1ffbbfc4fd37d8\
    097222bee4336fcdbf62b1a0781d3d277853ba41f1e9d252271b2c48bbbeccbb3f4a0557772a05f389f6df1538ed492bb5945e7fb1757d11\
    af26311e4ee6aec406a8de1b72b1d0c4a50c5cf12c65a027960479851b779d0657995dd7f60dc2af8a446cd9a51ee4aaeeb1995c0a6949a7\
    a48c47ae011a70cc535379791e5f4096665d22ee5b40683f78621e29a9fe172f4cf6c22cccca24328d095c1781ff139783c6fcb43a56df09\
    3204de4b3f1e97cdabd878433830390a698c90a0f47ae5ddab71f8da9a5006c515d1ceff2115c673b776ffd1e452f5f10e14465b41b69ba5\
    4299751d088edafc5331ce610cbda5db4301aa26f137f8eb36472af90084743fe52370dccffb5fcd19a4861d6b0ff5f172dceac94c19f38c\
    9fd66935c278733f93758d79dc3468a63b01c1ed66a2e7b1b59b6fb62cdb1fc8a38216291f03869d06b078e2352cf1518e9e1b3de7fa9756\
    324bfe14c0a7c09ca6f939fcb1cc863f6de6974d5e8233f04cf59b2eaf76b52de35bca2eae8388b6b5899a1784d05a8d42273f1047e48d39\
    331abc3f70b13c83";

const CIPHERTEXT: &str = "\
    55fe56f085ca8fbea9f110a2e591bee0d342e1cf53231e73cc5e1cf59d96799ffea909909447074860701e0f010fba6aa937b018c1bc20eb\
    14831028af5d1cda9e6f01728295e928357bbbf4e5cb5d8ee5f55db5c86f1181245ee96ca226332da1d2943658fd04a09331ec694d172072\
    4222df9fa06b70eb787d6bc5362191157450039e83811f044ae2cd872df961fc9652be8b0b4e9f1d06f87e3db17d0fd2bccd92e1f229542e\
    b603c262e35d8d4bb6143af369d2bc6d8935b025ee361969ac1fcd8519acebf475c22589f36da743ada1dd5a10bee6b4f5595514942f5349\
    3eb0ada1767c13cdc6be5bec87a7f178bb57abe11c725d8fbbf5794b3e6431639462d21812ab1dd6127b8325bb444a918661ea89a3cd7b69\
    5930141138be353eb2599a4717a11a88fc8565920b9284d669abad8972c4bbd2d01ab6822ef1e521b4bf34782671aceb76ed908424c491a0\
    7a7d37844c15a4a4fde402ca978828f6f203e05088d8e3f84c093240a0b970ab0357db6851a6afb208eb1d3d8e38b868606e496a8b69ae1c\
    0ca0735c620623ceb344bc5710aca82eb6e9fb82f1cf0bc9cebee286bd246f2584174254a1c03cfc4c65a62ee652dcff20d0158798f53e73\
    3bbb7145d7d4493236b68936b358768c0620c51e3e07e739cded2ab9a03d7937a007163dee20a77f729591c4b5e532631eaaf5276755357e\
    15cfc080363f134c";
